package foreign_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// logs is the folder of the histories that Porcupine is tested with.
func logs(t *testing.T) string {
	t.Helper()
	const module = "github.com/anishathalye/porcupine"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	folder := filepath.Join(strings.TrimSpace(string(out)), "test_data")
	if err == nil {
		_, err = os.Stat(folder)
	}
	if err == nil {
		return folder
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("the module cache has no histories of Porcupine: %v", err)
	}
	t.Skipf("the module cache has no histories of Porcupine: %v", err)
	return ""
}

// open reads a history of a file.
func open(t *testing.T, path string, format foreign.Format) *foreign.Recording {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := foreign.Read(f, format)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// TestPorcupineHistories judges the histories of Porcupine's own tests as those do.
func TestPorcupineHistories(t *testing.T) {
	folder := logs(t)
	linearizable := []int{2, 5, 7, 18, 25, 31, 38, 45, 48, 49, 51, 53, 56, 67, 75, 76, 80, 87, 92, 98, 100, 101, 102}
	for n := range 103 {
		if n == 95 {
			continue // the cluster did not start: the file is empty
		}
		want := checker.Violated
		if slices.Contains(linearizable, n) {
			want = checker.Holds
		}
		r := open(t, filepath.Join(folder, "jepsen", fmt.Sprintf("etcd_%03d.log", n)), foreign.Auto)
		if r.Format != foreign.JepsenLog || r.Object != foreign.Register {
			t.Errorf("etcd_%03d is read as %s, %s", n, r.Format, r.Object)
		}
		for name, same := range variants(&r.History) {
			if v := foreign.Linearizable(same, r.Object, 0); v.Result != want {
				t.Errorf("etcd_%03d %s: got %s, want %s", n, name, v, want)
			}
		}
	}
	for name, want := range map[string]checker.Result{
		"c01-ok": checker.Holds, "c10-ok": checker.Holds, "c50-ok": checker.Holds,
		"c01-bad": checker.Violated, "c10-bad": checker.Violated, "c50-bad": checker.Violated,
	} {
		r := open(t, filepath.Join(folder, "kv", name+".txt"), foreign.Auto)
		if r.Format != foreign.EDN || r.Object != foreign.KeyValue {
			t.Errorf("%s is read as %s, %s", name, r.Format, r.Object)
		}
		if v := foreign.Linearizable(&r.History, r.Object, 0); v.Result != want {
			t.Errorf("%s: got %s, want %s", name, v, want)
		}
	}
}

// TestLockHistories judges the histories of locks in the folder that LOCKSTEP_HISTORIES names. That of etcd has a trap:
// a release was asked for, the lease ended, the next client got the lock, and only then the release failed. A mutex
// would not do that; but no two clients ever relied on the lock at once.
func TestLockHistories(t *testing.T) {
	folder := os.Getenv("LOCKSTEP_HISTORIES")
	if folder == "" {
		t.Skip("LOCKSTEP_HISTORIES does not name a folder with foreign histories")
	}
	for _, test := range []struct {
		file          string
		format        foreign.Format
		operations    int
		claims        int
		refusedHolder int
		linearizable  checker.Result
	}{
		{"knossos-etcd-mutex.edn", foreign.EDN, 563, 132, 2, checker.Violated},
		{"atlasdb-lock.json", foreign.AtlasDB, 1405, 54, 0, checker.Violated},
	} {
		t.Run(test.file, func(t *testing.T) {
			r := open(t, filepath.Join(folder, test.file), foreign.Auto)
			if r.Format != test.format || r.Object != foreign.Lock {
				t.Errorf("it is read as %s, %s", r.Format, r.Object)
			}
			calls := 0
			for _, e := range r.Events {
				if e.Type == checker.Invoke {
					calls++
				}
			}
			if claims := len(checker.Claims(&r.History)); calls != test.operations || claims != test.claims {
				t.Errorf("it has %d operations and %d claims, want %d and %d", calls, claims, test.operations, test.claims)
			}
			for name, same := range variants(&r.History) {
				judgeLock(t, name, same, test.refusedHolder, test.linearizable)
			}
			judgeByKeys(t, &r.History)
		})
	}
}

func judgeLock(t *testing.T, name string, h *checker.History, refusedHolder int, linearizable checker.Result) {
	t.Helper()
	verdicts := checker.Check(h, checker.Options{Strict: true, Properties: []checker.Property{
		checker.MutualExclusion, checker.Linearizability, checker.ReleaseByOwner,
	}})
	if v := verdicts[0]; v.Result != checker.Holds {
		t.Errorf("%s: got %s", name, v)
	}
	if v := verdicts[1]; v.Result != linearizable {
		t.Errorf("%s: got %s", name, v)
	}
	refused := 0
	for _, x := range verdicts[2].Violations {
		if x.Kind == checker.KindHolderRefused {
			refused++
		}
	}
	if refused != refusedHolder {
		t.Errorf("%s: %d holders were refused, want %d: releases that came after the end of the lease", name, refused,
			refusedHolder)
	}
}

// judgeByKeys judges each lock by itself: what is at fault stays at fault, and nothing else does.
func judgeByKeys(t *testing.T, h *checker.History) {
	t.Helper()
	options := checker.Options{Strict: true}
	parts := make(map[string]*checker.History)
	for _, e := range h.Events {
		if e.Process < 0 {
			continue
		}
		if parts[e.Key] == nil {
			parts[e.Key] = &checker.History{}
		}
		parts[e.Key].Events = append(parts[e.Key].Events, e)
	}
	found := make(map[checker.Property]int)
	for _, part := range parts {
		for _, v := range checker.Check(part, options) {
			found[v.Property] += v.Found
		}
	}
	for _, v := range checker.Check(h, options) {
		if found[v.Property] != v.Found {
			t.Errorf("%s: %d found in the locks one by one, want %d", v.Property, found[v.Property], v.Found)
		}
	}
}

// TestLinearizableAgainstPorcupine compares with Porcupine on random histories of a register, legal and not.
func TestLinearizableAgainstPorcupine(t *testing.T) {
	legal, illegal := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		h := drawRegister(t)
		got := foreign.Linearizable(h, foreign.Register, 0).Result
		want := checker.Violated
		if porcupine.CheckEvents(registerModel, registerEvents(h)) {
			want = checker.Holds
			legal++
		} else {
			illegal++
		}
		if got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
	if legal == 0 || illegal == 0 {
		t.Errorf("%d histories were legal and %d illegal: both must come", legal, illegal)
	}
}

// drawRegister draws a history of a register with few values, so that many of them are legal.
func drawRegister(t *rapid.T) *checker.History {
	h := &checker.History{}
	open := make(map[int]checker.Event)
	number := rapid.IntRange(1, 2)
	value := func() string { return fmt.Sprint(number.Draw(t, "value")) }
	add := func(e checker.Event) {
		e.Index = int64(len(h.Events))
		h.Events = append(h.Events, e)
	}
	crashed := 0
	for range rapid.IntRange(2, 16).Draw(t, "events") {
		slot := rapid.IntRange(0, 2).Draw(t, "client")
		e, called := open[slot]
		if !called {
			e = checker.Event{
				Process: slot + 3*crashed, Type: checker.Invoke,
				F: rapid.SampledFrom([]string{"read", "write", "cas"}).Draw(t, "f"),
			}
			switch e.F {
			case "write":
				e.Value = value()
			case "cas":
				e.Value = "[" + value() + " " + value() + "]"
			}
			open[slot] = e
			add(e)
			continue
		}
		delete(open, slot)
		e.Type = rapid.SampledFrom([]checker.Type{checker.OK, checker.OK, checker.Info, checker.Fail}).Draw(t, "type")
		switch {
		case e.Type == checker.Info:
			crashed++
		case e.F != "cas":
			e.Type = checker.OK
		}
		if e.F == "read" && e.Type == checker.OK {
			e.Value = rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "read")
		}
		add(e)
	}
	// One return that is known, or there is nothing to judge.
	process := 1000
	add(checker.Event{Process: process, Type: checker.Invoke, F: "write", Value: "1"})
	add(checker.Event{Process: process, Type: checker.OK, F: "write", Value: "1"})
	return h
}

// registerModel is a register as Porcupine's documentation has it; the input is the call, the output the return.
var registerModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		call, answer := input.(checker.Event), output.(checker.Event)
		known := answer.Type != checker.Info
		switch call.F {
		case "read":
			return !known || answer.Value == state, state
		case "write":
			return true, call.Value
		}
		var from, to string
		if _, err := fmt.Sscanf(call.Value, "[%s %s", &from, &to); err != nil {
			return false, state
		}
		if from != state {
			return !known || answer.Type == checker.Fail, state
		}
		return !known || answer.Type == checker.OK, strings.TrimSuffix(to, "]")
	},
}

func registerEvents(h *checker.History) []porcupine.Event {
	var events, late []porcupine.Event
	open := make(map[int]int)
	for i, e := range h.Events {
		if e.Type == checker.Invoke {
			open[e.Process] = i
			events = append(events, porcupine.Event{ClientId: e.Process, Kind: porcupine.CallEvent, Value: e, Id: i})
			continue
		}
		returned := porcupine.Event{ClientId: e.Process, Kind: porcupine.ReturnEvent, Value: e, Id: open[e.Process]}
		delete(open, e.Process)
		if e.Type == checker.Info {
			late = append(late, returned)
			continue
		}
		events = append(events, returned)
	}
	for process, i := range open {
		late = append(late, porcupine.Event{
			ClientId: process, Kind: porcupine.ReturnEvent, Value: checker.Event{Type: checker.Info}, Id: i,
		})
	}
	return append(events, late...)
}

// variants are histories that say the same as h: with other names for clients and processes, and at another time.
func variants(h *checker.History) map[string]*checker.History {
	relabelled, shifted := *h, *h
	relabelled.Events, shifted.Events = slices.Clone(h.Events), slices.Clone(h.Events)
	for i := range h.Events {
		e, s := &relabelled.Events[i], &shifted.Events[i]
		if e.Process >= 0 {
			e.Process = 7919 - 31*e.Process
		}
		if e.Node != "" {
			e.Node = "x" + e.Node
		}
		s.Time += 1e12
		s.Index = 3*s.Index + 11
	}
	return map[string]*checker.History{"as it is": h, "relabelled": &relabelled, "shifted": &shifted}
}
