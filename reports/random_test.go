package reports

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

// drawHistory draws a history that is well-formed and means nothing in particular: clients call and return, records
// come and go, faults strike.
func drawHistory(t *rapid.T) *checker.History {
	h := &checker.History{Header: checker.Header{Lock: "job", Resource: "store", Lease: time.Second}}
	world := &randomWorld{history: h, open: map[int]string{}, dead: map[int]bool{}}
	for range rapid.IntRange(1, 60).Draw(t, "events") {
		world.now += time.Duration(rapid.SampledFrom([]int64{0, 0, 1, 1e6, 3e8}).Draw(t, "pause"))
		world.step(t)
	}
	if err := h.Validate(); err != nil {
		t.Fatalf("the generator is wrong: %v", err)
	}
	return h
}

// randomWorld keeps a random history well-formed.
type randomWorld struct {
	history *checker.History
	now     time.Duration
	open    map[int]string // the F of each process' open call
	dead    map[int]bool
	record  *checker.Record
}

const randomProcesses = 4

func (w *randomWorld) add(e checker.Event) {
	e.Index, e.Time = int64(len(w.history.Events))*2+1, w.now
	w.history.Events = append(w.history.Events, e)
}

func (w *randomWorld) step(t *rapid.T) {
	process := rapid.IntRange(0, randomProcesses-1).Draw(t, "process")
	node := fmt.Sprintf("c%d", process%3+1) // two processes share a machine, and two an identity
	owner := fmt.Sprintf("owner-%d", process/2)
	e := checker.Event{Process: process, Node: node, Owner: owner, Key: "job"}
	if rapid.Bool().Draw(t, "clock") {
		skew := time.Duration(rapid.SampledFrom([]int64{0, 0, 0, 5e9}).Draw(t, "skew"))
		e.Clock = time.UnixMilli(946684800000).Add(w.now + skew)
	}
	switch rapid.IntRange(0, 9).Draw(t, "what") {
	case 0, 1, 2, 3, 4:
		w.client(t, e)
	case 5, 6:
		w.fact(t, e)
	case 7:
		e.Type, e.F, e.Key, e.Accepted = checker.Info, checker.Applied, "store", rapid.Bool().Draw(t, "accepted")
		e.Token = rapid.Int64Range(0, 3).Draw(t, "token")
		w.add(e)
	case 8:
		text := rapid.SampledFrom([]string{
			"pause c1 for 300ms at 1s", "clock redis step +5s at 1s", "lose reply of c1>redis at 1s",
			"restart redis empty at 1s", "", "cut c1-redis for 1s at 1s", "nonsense",
		}).Draw(t, "fault")
		w.add(checker.Event{
			Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Command: text, Clock: e.Clock,
			Node: rapid.SampledFrom([]string{"", "c1", "redis"}).Draw(t, "struck"),
		})
	default:
		f := rapid.SampledFrom([]string{checker.Healed, checker.WorkloadEnd}).Draw(t, "phase")
		w.add(checker.Event{Process: checker.ProcessFault, Type: checker.Info, F: f})
	}
}

func (w *randomWorld) client(t *rapid.T, e checker.Event) {
	if w.dead[e.Process] {
		return
	}
	if f, calling := w.open[e.Process]; calling {
		delete(w.open, e.Process)
		e.F = f
		e.Type = rapid.SampledFrom([]checker.Type{checker.OK, checker.OK, checker.Fail, checker.Info}).Draw(t, "type")
		if f == checker.Write {
			e.Key = "store"
		}
		e.Token = rapid.Int64Range(0, 3).Draw(t, "token")
		if acquires(&e) && rapid.Bool().Draw(t, "deadline") {
			e.Deadline = w.now + 500*time.Millisecond
		}
		w.add(e)
		return
	}
	e.Type = checker.Invoke
	e.F = rapid.SampledFrom([]string{
		checker.Acquire, checker.TryAcquire, checker.Release, checker.Write, checker.Lost, checker.Renew, checker.Crash,
	}).Draw(t, "f")
	switch e.F {
	case checker.Lost, checker.Renew:
		e.Type, e.Deadline = checker.Info, w.now+time.Second
	case checker.Crash:
		e.Type = checker.Info
		w.dead[e.Process] = true
		delete(w.open, e.Process)
	case checker.Write:
		e.Key = "store"
		w.open[e.Process] = e.F
	default:
		w.open[e.Process] = e.F
	}
	w.add(e)
}

func (w *randomWorld) fact(t *rapid.T, e checker.Event) {
	now := int64(946684800000) + w.now.Milliseconds() + rapid.SampledFrom([]int64{0, 0, 10000}).Draw(t, "judge")
	e.Process, e.Type = checker.ProcessServer, checker.Info
	e.Command = rapid.SampledFrom([]string{"SETNX", "GETSET", "SET", "DEL", "EVALSHA", ""}).Draw(t, "command")
	if rapid.IntRange(0, 5).Draw(t, "nobody's") == 0 {
		e.Node, e.Owner = "", ""
		e.Command = rapid.SampledFrom([]string{checker.CommandExpire, checker.CommandRestart}).Draw(t, "by itself")
	}
	if w.record != nil {
		previous := *w.record
		previous.Now = now
		e.Previous = &previous
	}
	e.F, w.record = checker.RecordGone, nil
	if e.Node != "" && rapid.IntRange(0, 3).Draw(t, "sets") > 0 {
		e.F = checker.RecordSet
		w.record = &checker.Record{
			Owner: rapid.SampledFrom([]string{e.Owner, e.Owner, "a stranger", ""}).Draw(t, "owner"),
			Count: rapid.Int64Range(0, 3).Draw(t, "count"), Now: now,
			Expires: rapid.SampledFrom([]int64{0, now + 700, now - 5}).Draw(t, "expires"),
		}
		record := *w.record
		e.Record = &record
	}
	w.add(e)
}

// drawViolation draws a violation that refers to a history somehow, or not at all.
func drawViolation(t *rapid.T, h *checker.History) checker.Violation {
	last := h.Events[len(h.Events)-1].Index
	v := checker.Violation{
		Kind: rapid.SampledFrom([]string{
			checker.KindOverlap, checker.KindStuck, checker.KindStaleWrite, checker.KindTokenAccepted,
			checker.KindStarvation, "new",
		}).Draw(t, "kind"),
		Key:       rapid.SampledFrom([]string{"job", "store", "other"}).Draw(t, "key"),
		Events:    rapid.SliceOfN(rapid.Int64Range(0, last+3), 0, 5).Draw(t, "events"),
		From:      time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "from")),
		Processes: rapid.SliceOfN(rapid.IntRange(0, 6), 0, 3).Draw(t, "processes"), Text: "something is wrong",
	}
	v.To = v.From + time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "length"))
	slices.Sort(v.Events)
	return v
}

// TestStoriesOfAnything tells arbitrary violations of arbitrary histories: the story is well-formed, and the same when
// it is told again.
func TestStoriesOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		v := drawViolation(t, h)
		var finding *mechanism.Finding
		if rapid.Bool().Draw(t, "explained") {
			finding = &mechanism.Finding{
				Mechanism: rapid.SampledFrom(mechanism.All()).Draw(t, "mechanism"), Text: "the reason took 1.5ms", Violation: v,
				Events: rapid.SliceOfN(rapid.Int64Range(1, 200), 0, 3).Draw(t, "shown by"),
			}
		}
		story := Tell(h, checker.MutualExclusion, v, finding)
		wellFormed(t, h, story)
		if again := Tell(h, checker.MutualExclusion, v, finding); again.String() != story.String() {
			t.Errorf("the second time it is told differently:\n%s\n%s", story, again)
		}
	})
}

// TestStoryOfNothing tells a violation of a history without events.
func TestStoryOfNothing(t *testing.T) {
	h := &checker.History{}
	wellFormed(t, h, Tell(h, checker.MutualExclusion, checker.Violation{Text: "nothing is right"}, nil))
}

// TestStoriesOfVerdicts tells what the checker finds in arbitrary histories.
func TestStoriesOfVerdicts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		verdicts := checker.Check(h, checker.Options{
			Promises:      checker.Promises{Reentrant: true, Fenced: true, Leased: true},
			LivenessBound: 100 * time.Millisecond, PorcupineOperations: 1,
		})
		for _, verdict := range verdicts {
			for _, v := range verdict.Violations {
				wellFormed(t, h, Tell(h, verdict.Property, v, nil))
			}
		}
	})
}
