package zookeeper_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	randomScripts = flag.Int("conformance.scripts", 40, "how many random scripts run against both servers")
	firstScript   = flag.Uint64("conformance.first", 0, "the seed of the first random script")
)

var outcome = regexp.MustCompile(`\b(ok|closed|connected|[A-Z][A-Za-z]+)\b`)

// TestConformanceRandom runs random scripts against this server and a real one. A script that shows a difference is
// made as short as it can be and printed in the form of the files in testdata.
func TestConformanceRandom(t *testing.T) {
	const never = 24 * time.Hour // so that nothing happens between two requests
	theirs, ours := newPlayground(t, startReal(t, never)), newPlayground(t, startOurs(t, never, false))
	seen := map[string]int{} // what the scripts met, so that nobody takes a test of missing nodes for a pass
	defer func() { t.Logf("met: %v", seen) }()
	differ := func(lines []string) string {
		script := strings.Join(lines, "\n")
		their, our := theirs.run(script), ours.run(script)
		for _, word := range outcome.FindAllString(their, -1) {
			seen[word]++
		}
		if their == our {
			return ""
		}
		return cmp.Diff(strings.Split(their, "\n"), strings.Split(our, "\n"))
	}
	for seed := *firstScript; seed < *firstScript+uint64(*randomScripts); seed++ {
		lines := newGenerator(seed).script(30)
		first := differ(lines)
		if first == "" {
			continue
		}
		if differ(lines) == "" {
			t.Errorf("script %d differed once (- ZooKeeper, + this package):\n%s\nrun\n%s", seed, first,
				strings.Join(lines, "\n"))
			continue
		}
		lines = shorten(lines, func(lines []string) bool { return differ(lines) != "" })
		t.Errorf("script %d (- ZooKeeper, + this package):\n%s\nrun\n%s\n----\n%s", seed, differ(lines),
			strings.Join(lines, "\n"), theirs.run(strings.Join(lines, "\n")))
	}
}

// TestConformanceRepeats runs random scripts on two servers of this package, where no ZooKeeper is needed: nothing that
// a script can see may depend on anything but the script.
func TestConformanceRepeats(t *testing.T) {
	const never = 24 * time.Hour
	one, other := newPlayground(t, startOurs(t, never, false)), newPlayground(t, startOurs(t, never, false))
	for seed := range uint64(30) {
		script := strings.Join(newGenerator(seed).script(30), "\n")
		if diff := cmp.Diff(one.run(script), other.run(script)); diff != "" {
			t.Fatalf("script %d:\n%s\n%s", seed, diff, script)
		}
	}
}

// TestShorten looks for the two lines of a long script that together are bad.
func TestShorten(t *testing.T) {
	var script []string
	for i := range 30 {
		script = append(script, fmt.Sprint(i))
	}
	short := shorten(script, func(lines []string) bool {
		return slices.Contains(lines, "3") && slices.Contains(lines, "28")
	})
	if !slices.Equal(short, []string{"3", "28"}) {
		t.Errorf("left %v", short)
	}
}

// playground is a server on which each script has a part of the tree for itself.
type playground struct {
	t      *testing.T
	on     target
	keeper *runner
	count  int
}

func newPlayground(t *testing.T, on target) *playground {
	return &playground{t: t, on: on, keeper: newRunner(t, on)}
}

// run runs a script below a new node and closes its sessions.
func (p *playground) run(script string) string {
	r := newRunner(p.t, p.on)
	r.root = fmt.Sprintf("/root-%08d", p.count)
	p.count++
	made := p.keeper.run("keeper create " + r.root)
	if _, err := fmt.Sscanf(made, "keeper: z%d ok", &r.base); err != nil {
		p.t.Fatalf("no root for a script: %s", made)
	}
	r.base--
	shown := r.run(script)
	r.finish()
	return shown
}

// shorten removes lines as long as the script stays bad: halves first, then quarters, down to single lines, until no
// line can go.
func shorten(lines []string, bad func([]string) bool) []string {
	for size := len(lines) / 2; size > 0; {
		removed := false
		for from := 0; from+size <= len(lines); {
			rest := append(append([]string{}, lines[:from]...), lines[from+size:]...)
			if len(rest) > 0 && bad(rest) {
				lines, removed = rest, true
			} else {
				from += size
			}
		}
		if !removed || size > len(lines)/2 {
			size /= 2
		}
	}
	return lines
}

// generator makes random scripts. Few paths, few values and few sessions make for many collisions.
type generator struct {
	*rand.Rand
	cuts bool // connections are cut; then nothing depends on when the server notices
}

func newGenerator(seed uint64) *generator {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 3))}
	g.cuts = g.IntN(2) == 0
	return g
}

// script makes a script of so many requests. Most begin with a few nodes, so that what follows finds something.
func (g *generator) script(length int) []string {
	var lines []string
	for _, path := range []string{"/a", "/b", "/a/x", "/a/y", "/b/x"} {
		if g.IntN(3) > 0 {
			lines = append(lines, g.session()+" create "+path+g.data()+g.acl())
		}
	}
	for len(lines) < length {
		lines = append(lines, g.session()+" "+g.request())
	}
	return lines
}

// pick takes one of the words, each as likely as the others.
func (g *generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g *generator) session() string { return g.pick("s1", "s1", "s2", "s2", "s3") }

func (g *generator) path() string {
	switch g.IntN(60) {
	case 0:
		return g.pick("/a/", "//a", "relative", "/a//x", "/a/./x", `"/a\x00"`)
	case 1, 2:
		return "/"
	case 3, 4:
		return fmt.Sprintf("/%s/s-%010d", g.pick("a", "b"), g.IntN(6))
	}
	return g.pick("/a", "/a", "/a", "/b", "/b", "/a/x", "/a/x", "/a/y", "/b/x", "/a/x/p", "/c")
}

func (g *generator) version() string {
	return g.pick("", "", "", "", " -1", " 0", " 0", " 1", " 2", " -2")
}

func (g *generator) watch() string { return g.pick("", " watch") }

func (g *generator) data() string { return " data=" + g.pick("x", "yy", `""`, "null", "longer*9") }

func (g *generator) flags() string {
	return g.pick("", "", "", " flags=ephemeral", " flags=ephemeral", " flags=sequential",
		" flags=ephemeral,sequential", " flags=container", " flags="+g.pick("7", "5", "6", "9", "-1"))
}

func (g *generator) acl() string {
	if g.IntN(8) > 0 {
		return ""
	}
	return " acl=" + g.pick("world:anyone:r", "world:anyone:rw", "world:anyone:rwcd", "world:anyone:rwcda", "creator",
		"auth::rw", "digest:user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY=:rwcda",
		"digest:user:tpUq/4Pn5A64fVZyQ0gOJ8ZWqkY=:rw|world:anyone:r",
		"ip:127.0.0.1:rwcda", "ip:10.0.0.0/8:r", "none", "null", "nosuch:x:r", "world:anyone:r|world:anyone:r")
}

// request makes one request, with the weights that its place in the list gives it.
func (g *generator) request() string {
	kinds := []struct {
		weight int
		make   func() string
	}{
		{40, g.write},
		{24, g.read},
		{8, g.multi},
		{3, g.multiRead},
		{4, g.pipeline},
		{4, g.access},
		{3, g.rewatch},
		{6, g.connection},
		{3, g.other},
	}
	total := 0
	for _, kind := range kinds {
		total += kind.weight
	}
	at := g.IntN(total)
	for _, kind := range kinds {
		if at -= kind.weight; at < 0 {
			return kind.make()
		}
	}
	return "ping"
}

func (g *generator) write() string {
	switch g.IntN(16) {
	case 0, 1, 2, 3, 4:
		return "create " + g.newNode() + g.acl()
	case 5:
		return "create2 " + g.newNode() + g.acl()
	case 6:
		return "create " + g.pick("/a", "/b") + "/s- flags=" + g.pick("sequential", "ephemeral,sequential")
	case 7:
		return "createContainer " + g.path()
	case 8:
		return "createTTL " + g.pick("/a", "/b/x", "/a/t-") + g.pick("", " flags=sequentialttl", " flags=0") +
			" ttl=" + g.pick("0", "100000000")
	case 9, 10, 11:
		return "setData " + g.path() + g.version() + g.data()
	}
	return "delete " + g.path() + g.version()
}

// newNode is what a create makes. A number behind the root's name would make a node outside of it.
func (g *generator) newNode() string {
	path := g.path()
	if path == "/" {
		return path + g.data()
	}
	return path + g.data() + g.flags()
}

func (g *generator) read() string {
	switch g.IntN(8) {
	case 0, 1:
		return "exists " + g.path() + g.watch()
	case 2, 3:
		return "getData " + g.path() + g.watch()
	case 4:
		return "getACL " + g.path()
	case 5:
		return "getChildren2 " + g.path() + g.watch()
	}
	return "getChildren " + g.path() + g.watch()
}

func (g *generator) list(most int, make func() string) string {
	parts := []string{}
	for range g.IntN(most + 1) {
		parts = append(parts, make())
	}
	return "[" + strings.Join(parts, "; ") + "]"
}

func (g *generator) multi() string {
	return "multi " + g.list(3, func() string {
		if g.IntN(6) == 0 {
			return "check " + g.path() + g.version()
		}
		return g.write()
	})
}

func (g *generator) multiRead() string {
	return "multiRead " + g.list(4, func() string { return g.pick("getData ", "getChildren ") + g.path() })
}

func (g *generator) pipeline() string {
	return "pipeline " + g.list(5, func() string {
		if g.IntN(2) == 0 {
			return g.read()
		}
		return g.write()
	})
}

func (g *generator) access() string {
	switch g.IntN(3) {
	case 0:
		return "auth digest " + g.pick("user:password", "user:password", "other:one")
	case 1:
		return "setACL " + g.path() + g.version() + g.acl()
	}
	return "setACL " + g.path() + " acl=world"
}

func (g *generator) rewatch() string {
	if g.IntN(3) == 0 {
		return "addWatch " + g.path() + " " + g.pick("0", "1", "2")
	}
	paths := func() string { return g.pick("", "/a", "/b,/a/x", "/a,/c,/b/x") }
	return fmt.Sprintf("%s zxid=%s data=%s exist=%s child=%s", g.pick("setWatches", "setWatches2"),
		g.pick("0", "1000000", fmt.Sprint(g.IntN(30))), paths(), paths(), paths())
}

func (g *generator) connection() string {
	if !g.cuts {
		return g.pick("close", "reattach", "ping")
	}
	return g.pick("cut", "cut", "reattach", "reattach", "close", "reattach password=0123456789abcdef", "ping")
}

func (g *generator) other() string {
	if g.IntN(3) == 0 && !g.cuts {
		return g.pick("checkWatches ", "removeWatches ") + g.path() + g.pick(" 1", " 2", " 3")
	}
	switch g.IntN(5) {
	case 0:
		return "sync " + g.path()
	case 1:
		return "getEphemerals " + g.path()
	case 2:
		return "getAllChildrenNumber " + g.path()
	case 3:
		return "check " + g.path() + " 7" // one that succeeds outside of a multi is never answered
	}
	return "raw " + g.pick("42", "10", "0")
}
