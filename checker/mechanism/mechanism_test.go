package mechanism

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

func TestMechanismsAreToldApart(t *testing.T) {
	seen := map[string]bool{}
	last := map[byte]int{'R': 0, 'Z': 0, 'G': 0, 'M': 0} // each kind of lock has a list of its own
	for _, m := range All() {
		number, err := strconv.Atoi(m.Ref[1:])
		if before, known := last[m.Ref[0]]; err != nil || !known || number <= before {
			t.Errorf("%s has the number %q: want R, Z, G or M and a number above %d", m.Name, m.Ref, before)
		}
		last[m.Ref[0]] = number
		if m.Name == "" || strings.ToLower(m.Name) != m.Name || strings.ContainsAny(m.Name, " _") {
			t.Errorf("%s is named %q: want small letters and dashes", m.Ref, m.Name)
		}
		if seen[m.Name] {
			t.Errorf("two mechanisms are named %s", m.Name)
		}
		seen[m.Name] = true
		if m.About == "" || strings.Contains(m.About, "\n") || strings.HasSuffix(m.About, ".") {
			t.Errorf("%s is about %q: want one line without a full stop", m.Ref, m.About)
		}
		for _, word := range []string{m.Name, m.Ref, strings.ToUpper(m.Name), strings.ToLower(m.Ref)} {
			if found, ok := Named(word); !ok || found != m {
				t.Errorf("%q is %v: want %s", word, found, m.Ref)
			}
		}
	}
	for _, word := range []string{"", "R", "R0", "R14", "R1 ", "loser", "mutual-exclusion"} {
		if found, ok := Named(word); ok {
			t.Errorf("%q is taken for %s", word, found.Ref)
		}
	}
}

// twoLocks is a history of locks a and b. In each c1 holds, and c2 takes it over when the lease is over; the facts of
// the one lie between those of the other.
func twoLocks() *checker.History {
	h := &checker.History{}
	add := func(ms int, e checker.Event) {
		e.Index, e.Time = int64(len(h.Events))+1, time.Duration(ms)*time.Millisecond
		h.Events = append(h.Events, e)
	}
	record := func(owner string, expires, now int64) *checker.Record {
		return &checker.Record{Owner: owner, Count: 1, Expires: expires, Now: now}
	}
	both := func(ms int, e checker.Event) {
		for i, key := range []string{"a", "b"} {
			e.Key = key
			if e.Process >= 0 {
				e.Process = 2*e.Process + i // a goroutine for each lock
			}
			add(ms, e)
			if e.Process >= 0 {
				e.Process = (e.Process - i) / 2
			}
		}
	}
	call := func(ms, process int, kind checker.Type) {
		node := fmt.Sprint("c", process)
		both(ms, checker.Event{Process: process, Node: node, Owner: node, Type: kind, F: checker.TryAcquire})
	}
	fact := func(ms int, node, command string, now, before *checker.Record) {
		both(ms, checker.Event{
			Process: checker.ProcessServer, Node: node, Owner: node, Type: checker.Info, F: checker.RecordSet,
			Command: command, Record: now, Previous: before,
		})
	}
	call(0, 1, checker.Invoke)
	fact(2, "c1", "SETNX", record("c1", 1000, 2), nil)
	call(3, 1, checker.OK)
	call(1100, 2, checker.Invoke)
	fact(1110, "c2", "GETSET", record("c2", 2100, 1110), record("c1", 1000, 1110))
	call(1111, 2, checker.OK)
	add(1300, checker.Event{Process: checker.ProcessFault, Type: checker.Info, F: checker.WorkloadEnd})
	return h
}

func TestLocksAreExplainedEachByItself(t *testing.T) {
	h := twoLocks()
	verdicts := checker.Check(h, checker.Options{Properties: []checker.Property{checker.MutualExclusion}})
	if n := len(verdicts[0].Violations); n != 2 {
		t.Fatalf("%d violations, want one of each lock: %v", n, verdicts[0])
	}
	findings := Find(h, verdicts)
	if len(findings) != 1 {
		t.Fatalf("%d findings, want the mechanism once: %v", len(findings), findings)
	}
	f := findings[0]
	if f.Mechanism != NoHolderCheck || f.Violation.Key != "a" || fmt.Sprint(f.Events) != "[3 9]" {
		t.Errorf("found %s in %s by the facts %v; want R13 in a by 3 and 9", f.Mechanism.Ref, f.Violation.Key, f.Events)
	}
	// What the other lock shows must not depend on the first one.
	verdicts[0].Violations = verdicts[0].Violations[1:]
	findings = Find(h, verdicts)
	if len(findings) != 1 || findings[0].Mechanism != NoHolderCheck || fmt.Sprint(findings[0].Events) != "[4 10]" {
		t.Errorf("found %v in b; want R13 by the facts 4 and 10", findings)
	}
}

// TestVerdictsFromElsewhere asks for explanations of what the history has nothing to say about.
func TestVerdictsFromElsewhere(t *testing.T) {
	h := twoLocks()
	for name, v := range map[string]checker.Violation{
		"a lock that nobody used": {Kind: checker.KindOverlap, Key: "c", Processes: []int{2, 4}},
		"unknown processes":       {Kind: checker.KindOverlap, Key: "a", Processes: []int{98, 99}, From: time.Hour},
		"one process":             {Kind: checker.KindOverlap, Key: "a", Processes: []int{2}},
		"before the first hold":   {Kind: checker.KindOverlap, Key: "a", Processes: []int{2, 4}},
		"before the first fact":   {Kind: checker.KindStuck, Key: "a"},
	} {
		for _, property := range checker.Properties() {
			if property == checker.Liveness && v.Kind == checker.KindOverlap {
				continue
			}
			found := Find(h, []checker.Verdict{{Property: property, Violations: []checker.Violation{v}}})
			if len(found) != 0 {
				t.Errorf("%s, %s: explained by %v", name, property, found)
			}
		}
	}
}

// takeovers is a long history in which n clients enter one after the other, each when the lease of the one before is
// over, which goes on.
func takeovers(n int) *checker.History {
	h := &checker.History{}
	add := func(at time.Duration, e checker.Event) {
		e.Index, e.Time, e.Key = int64(len(h.Events))+1, at, "job"
		h.Events = append(h.Events, e)
	}
	var before *checker.Record
	for i := range n {
		at := time.Duration(i) * time.Second
		node := fmt.Sprint("c", i%50)
		owner := fmt.Sprint(node, "/", i)
		e := checker.Event{Process: i, Node: node, Owner: owner, Type: checker.Invoke, F: checker.TryAcquire}
		add(at, e)
		now := &checker.Record{Owner: owner, Count: 1, Expires: at.Milliseconds() + 900, Now: at.Milliseconds() + 1}
		fact := e
		fact.Process, fact.F, fact.Type, fact.Command = checker.ProcessServer, checker.RecordSet, checker.Info, "GETSET"
		fact.Record = now
		if before != nil {
			was := *before
			was.Now = now.Now
			fact.Previous = &was
		}
		add(at+time.Millisecond, fact)
		e.Type = checker.OK
		add(at+2*time.Millisecond, e)
		e.F, e.Type = checker.Release, checker.Invoke
		if i > 0 { // the one before gives up only now
			e.Process, e.Node, e.Owner = i-1, fmt.Sprint("c", (i-1)%50), fmt.Sprint("c", (i-1)%50, "/", i-1)
			add(at+3*time.Millisecond, e)
			e.Type = checker.Fail
			add(at+4*time.Millisecond, e)
		}
		before = now
	}
	return h
}

func TestLongHistories(t *testing.T) {
	h := takeovers(2000)
	verdicts := checker.Check(h, checker.Options{Properties: []checker.Property{checker.MutualExclusion}})
	if verdicts[0].Found != 1999 {
		t.Fatalf("%d overlaps, want 1999", verdicts[0].Found)
	}
	found := Find(h, verdicts)
	if len(found) != 1 || found[0].Mechanism != NoHolderCheck {
		t.Errorf("found %v, want R13 alone", found)
	}
}

// BenchmarkFind explains 20 violations of a history of 100,000 operations, of which the last come at its end.
func BenchmarkFind(b *testing.B) {
	h := takeovers(50_000)
	verdicts := checker.Check(h, checker.Options{
		Properties: []checker.Property{checker.MutualExclusion}, MaxViolations: 50_000,
	})
	last := len(verdicts[0].Violations) - maxViolations
	verdicts[0].Violations = verdicts[0].Violations[last:]
	for b.Loop() {
		if len(Find(h, verdicts)) == 0 {
			b.Fatal("nothing was found")
		}
	}
}
