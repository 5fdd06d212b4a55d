package house

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var rewrite = flag.Bool("rewrite", false,
	"write what the rules find into testdata/rules, and the README's example anew; read the difference before it is kept")

// TestRules shows for each rule that it flags what it must and lets pass what it may: the files of its archive are
// unpacked and judged by this rule alone, and the findings are compared with the file "want" of the archive.
func TestRules(t *testing.T) {
	tree, err := moduleTree()
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			t.Parallel()
			if rule.About == "" {
				t.Error("the rule has no About")
			}
			name := filepath.Join("testdata", "rules", rule.Name+".txtar")
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatalf("each rule needs sources that break it: %v", err)
			}
			got := judge(t, archive, rule, tree.exports)
			if *rewrite {
				put(archive, got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o666); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got == "" {
				t.Error("the rule flags nothing in its archive")
			}
			if diff := cmp.Diff(want(archive), got); diff != "" {
				t.Errorf("findings differ (-want +got):\n%s", diff)
			}
		})
	}
}

// judge unpacks the archive and returns what the rule finds in it, one finding per line.
func judge(t *testing.T, archive *txtar.Archive, rule Rule, exports exports) string {
	root := t.TempDir()
	for _, file := range archive.Files {
		if file.Name == wantName {
			continue
		}
		name := filepath.Join(root, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, file.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := load(root, exports)
	if err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, finding := range Check(tree, []Rule{rule}) {
		list.WriteString(finding.String() + "\n")
	}
	return list.String()
}

const wantName = "want"

func want(archive *txtar.Archive) string {
	for _, file := range archive.Files {
		if file.Name == wantName {
			return string(file.Data)
		}
	}
	return ""
}

func put(archive *txtar.Archive, text string) {
	for i, file := range archive.Files {
		if file.Name == wantName {
			archive.Files[i].Data = []byte(text)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: wantName, Data: []byte(text)})
}

// TestArchivesHaveRules finds archives that no rule reads any more.
func TestArchivesHaveRules(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "rules", "*"))
	if err != nil {
		t.Fatal(err)
	}
	known := make(map[string]bool)
	for _, rule := range Rules() {
		known[rule.Name+".txtar"] = true
	}
	for _, name := range names {
		if !known[filepath.Base(name)] {
			t.Errorf("%s belongs to no rule", name)
		}
	}
}
