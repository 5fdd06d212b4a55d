package checker

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"testing"
	"time"
)

// TestForeignHistory judges a history of an etcd lock that Jepsen recorded. It has a trap: a release was asked for,
// the lease ended, the next client got the lock, and only then the release failed. A mutex would not do that; but no
// two clients ever relied on the lock at once.
func TestForeignHistory(t *testing.T) {
	folder := os.Getenv("LOCKSTEP_HISTORIES")
	if folder == "" {
		t.Skip("LOCKSTEP_HISTORIES does not name a folder with foreign histories")
	}
	text, err := os.ReadFile(filepath.Join(folder, "knossos-etcd-mutex.edn"))
	if err != nil {
		t.Fatal(err)
	}
	h := parseKnossos(t, string(text))
	verdicts := Check(h, Options{Strict: true, Properties: []Property{MutualExclusion, Linearizability, ReleaseByOwner}})
	t.Logf("\n%s", render(verdicts))
	if v := verdicts[0]; v.Result != Holds {
		t.Errorf("got %s", v)
	}
	if v := verdicts[1]; v.Result != Violated {
		t.Errorf("got %s", v)
	}
	refused := 0
	for _, x := range verdicts[2].Violations {
		if x.Kind == KindHolderRefused {
			refused++
		}
	}
	if refused != 2 {
		t.Errorf("%d holders were refused, want 2: releases that came after the end of the lease", refused)
	}
	holds := 0
	for _, log := range analyse(h).locks {
		n, _ := countHolds(log.claims)
		holds += n
	}
	if holds != 132 {
		t.Errorf("got %d holds, want 132", holds)
	}
}

var knossosEvent = regexp.MustCompile(`\{:type :(\w+), :f :(\w+), :process (\d+), :time (\d+)`)

// parseKnossos reads the subset of EDN in which the history is written, and puts its events in order of time.
func parseKnossos(t *testing.T, text string) *History {
	t.Helper()
	h := &History{}
	for _, m := range knossosEvent.FindAllStringSubmatch(text, -1) {
		process, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		ns, err := strconv.ParseInt(m[4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		h.Events = append(h.Events, Event{
			Time: time.Duration(ns), Process: process, Node: "c" + m[3], Type: Type(m[1]), F: m[2], Key: "mutex",
		})
	}
	if len(h.Events) == 0 {
		t.Fatal("no events found")
	}
	sort.SliceStable(h.Events, func(i, j int) bool { return h.Events[i].Time < h.Events[j].Time })
	for i := range h.Events {
		h.Events[i].Index = int64(i)
	}
	return h
}
