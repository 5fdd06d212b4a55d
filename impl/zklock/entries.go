package zklock

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// Entries returns what the catalogue is to know of this package.
func Entries() []impl.Entry {
	return []impl.Entry{fairEntry(), pollingEntry(), repairedEntry(), goZooKeeperEntry()}
}

// Options are choices that a catalogue has no words for. The zero value is good.
type Options struct {
	// ACL is what nodes are created with. Nil means what the knob acl says.
	ACL []zk.ACL
	// Log is told of the errors that a lock drops. Nil means that nobody is.
	Log func(call string, err error)
}

// The knobs that several locks here have.
var (
	nodeKnob = impl.Knob{Name: "node", Default: "lock-", About: "how the names of the lock's nodes begin"}
	aclKnob  = impl.Knob{
		Name: "acl", Default: "world",
		About: `who may do what with the nodes: "world" lets anybody do anything, "creator" only who has the ` +
			`credentials that the connection was given`,
	}
)

// place is where a lock stands and what it stands on: what all locks here are made from.
type place struct {
	zookeeper impl.ZooKeeper
	clock     clockwork.Clock
	start     func(func())
	log       func(call string, err error)
	dir       string // the path of the lock, whose children its nodes are
	prefix    string // the path of its nodes, without the number that the server appends
	acl       []zk.ACL
}

func newPlace(entry impl.Entry, env impl.Environment, s impl.Settings, o Options) (place, *impl.KnobReader, error) {
	if err := checkEnvironment(entry, env); err != nil {
		return place{}, nil, err
	}
	if err := entry.Validate(s); err != nil {
		return place{}, nil, err
	}
	dir := s.Name
	if !strings.HasPrefix(dir, "/") {
		dir = "/" + dir
	}
	if !validPath(dir) {
		return place{}, nil, fmt.Errorf("%s: Settings.Name is %q, which is no path of a node; take a path like /locks/job",
			entry.Name, s.Name)
	}
	knobs := entry.ReadKnobs(s)
	p := place{zookeeper: env.ZooKeeper, clock: env.Clock, start: env.Go, log: o.Log, dir: dir, acl: o.ACL}
	if p.log == nil {
		p.log = func(string, error) {}
	}
	acl := knobs.Text(aclKnob.Name, `"world" or "creator"`, func(t string) bool { return t == "world" || t == "creator" })
	if p.acl == nil {
		p.acl = zk.WorldACL(zk.PermAll)
		if acl == "creator" {
			p.acl = zk.AuthACL(zk.PermAll)
		}
	}
	if slices.ContainsFunc(entry.Knobs, func(k impl.Knob) bool { return k.Name == nodeKnob.Name }) {
		p.prefix = dir + "/" + knobs.Text(nodeKnob.Name, "the name of a node", validName)
	}
	return p, knobs, knobs.Err()
}

// checkEnvironment names what a lock needs and its environment lacks.
func checkEnvironment(entry impl.Entry, env impl.Environment) error {
	var missing string
	leased := entry.Promises.Leased
	switch {
	case env.Clock == nil:
		missing = "Clock"
	case env.ZooKeeper == nil:
		missing = "ZooKeeper"
	case env.Go == nil:
		missing = "Go"
	case leased && env.SessionEvents == nil:
		missing = "SessionEvents"
	case leased && env.Random == nil:
		missing = "Random"
	default:
		return nil
	}
	return fmt.Errorf("%s: Environment.%s is not set; the lock cannot work without it", entry.Name, missing)
}

// validPath tells whether path can be that of a node with children.
func validPath(path string) bool {
	return strings.HasPrefix(path, "/") && !slices.ContainsFunc(strings.Split(path[1:], "/"), func(name string) bool {
		return !validName(name)
	})
}

// validName tells whether a node can have the name.
func validName(name string) bool {
	odd := func(r rune) bool {
		return r == '/' || unicode.IsControl(r) || r >= 0xf000 && r <= 0xf8ff || r >= 0xfff0
	}
	return name != "" && name != "." && name != ".." && utf8.ValidString(name) && !strings.ContainsFunc(name, odd)
}

// makeDirectory makes the node of the lock, and those above it as far as they are missing.
func (p *place) makeDirectory() error { return p.makePath(p.dir) }

func (p *place) makePath(path string) error {
	_, err := p.zookeeper.Create(path, nil, 0, p.acl)
	if parent := path[:strings.LastIndex(path, "/")]; err == zk.ErrNoNode && parent != "" {
		if err := p.makePath(parent); err != nil {
			return err
		}
		_, err = p.zookeeper.Create(path, nil, 0, p.acl)
	}
	if err == zk.ErrNodeExists {
		return nil
	}
	return err
}

// maxDirectories is how often one attempt makes the directory again after somebody has deleted it.
const maxDirectories = 3

// without tells whether a safeguard is switched off.
func without(settings impl.Settings, ablation string) bool {
	return slices.Contains(settings.Ablations, ablation)
}

// longest is above every pause that somebody may want.
const longest = 24 * time.Hour
