package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

func load(t *testing.T, path string) (*checker.History, []checker.Verdict, []mechanism.Finding) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, err := checker.ReadHistory(f)
	if err != nil {
		t.Fatal(err)
	}
	p := checker.Promises{Reentrant: true}
	if h.Header.Implementation != "redis/getset" {
		p.Fenced, p.Leased = true, true
	}
	verdicts := checker.Check(&h, checker.Options{Promises: p, LivenessBound: 3 * time.Second})
	return &h, verdicts, mechanism.Find(&h, verdicts)
}

func TestZZ(t *testing.T) {
	paths, _ := filepath.Glob(os.Getenv("H"))
	seen := map[string]bool{}
	for _, path := range paths {
		h, verdicts, findings := load(t, path)
		for i := range findings {
			m := findings[i]
			if k := m.Mechanism.Ref + os.Getenv("ALL"); !seen[k] {
				seen[k] = true
				fmt.Println("#", path)
				fmt.Println(Tell(h, m.Property, m.Violation, &m))
			}
		}
		for _, v := range verdicts {
			for _, x := range v.Violations {
				k := x.Kind + strings.Split(h.Header.Implementation, "/")[1]
				if v.Property == checker.MutualExclusion || seen[k] {
					continue
				}
				seen[k] = true
				fmt.Println("#", path)
				fmt.Println(Tell(h, v.Property, x, nil))
			}
		}
	}
}

func TestPlot(t *testing.T) {
	paths, _ := filepath.Glob(os.Getenv("H"))
	for _, path := range paths {
		h, verdicts, _ := load(t, path)
		if err := WriteFolder("/tmp/rp/out/"+strings.TrimSuffix(filepath.Base(path), ".jsonl"), Run{History: h, Verdicts: verdicts, Replay: "x\n"}); err != nil {
			t.Fatal(err)
		}
	}
}
