package checker

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// seededRuns is how many histories each bug is looked for in.
const seededRuns = 300

// seeded is a property with histories in which it holds and others in which a bug breaks it.
type seeded struct {
	property Property
	right    func(seed uint64) *History
	wrong    func(seed uint64) *History
	atLeast  int // bugged histories that must be flagged
	tested   int // right histories of which the verdict must be that it holds
	permits  int // how many clients may hold at one time, 0 means 1
}

// made is a source of histories of the simulated server.
func made(g generator) func(seed uint64) *History {
	g.clients, g.operations = 5, 300
	if g.writes {
		g.operations = 400
	}
	return g.generate
}

// queued is a source of histories of the simulated queue.
func queued(bug queueBug) func(seed uint64) *History {
	return func(seed uint64) *History { return queueHistory(bug, seed) }
}

// unchecked lets a resource accept every write.
func unchecked(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History {
		h := source(seed)
		for i := range h.Events {
			if e := &h.Events[i]; e.F == Applied {
				e.Accepted = true
			}
		}
		return h
	}
}

// clobbering lets some refused tries overwrite the record of the holder before they learn that they have lost.
func clobbering(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History {
		rng := rand.New(rand.NewPCG(seed, 8))
		h := source(seed)
		var events []Event
		var record *Record // what the record says
		for i := range h.Events {
			e := h.Events[i]
			if e.F == RecordSet || e.F == RecordGone {
				if e.Previous != nil && record != nil {
					e.Previous.Owner = record.Owner
				}
				record = e.Record
			}
			if e.F == TryAcquire && e.Type == Fail && record != nil && rng.IntN(10) == 0 {
				loser := *record
				loser.Owner = e.Owner
				events = append(events, Event{
					Time: e.Time, Process: ProcessServer, Node: e.Node, Owner: e.Owner, Type: Info, F: RecordSet, Key: e.Key,
					Command: "GETSET", Previous: record, Record: &loser, Count: 1,
				})
				record = &loser
			}
			events = append(events, e)
		}
		for i := range events {
			events[i].Index = int64(i)
		}
		h.Events = events
		return h
	}
}

// obeying leaves out the writes that clients sent after the deadline of their hold.
func obeying(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History {
		h := source(seed)
		deadline, late := make(map[int]time.Duration), make(map[int]bool)
		h.Events = slices.DeleteFunc(h.Events, func(e Event) bool {
			if e.Deadline != 0 {
				deadline[e.Process] = e.Deadline
			}
			if e.F == Write && e.Type == Invoke {
				late[e.Process] = e.Time >= deadline[e.Process]
			}
			return (e.F == Write || e.F == Applied) && late[e.Process]
		})
		return h
	}
}

// takingOver lets each new holder find the record of the one before, over by then.
func takingOver(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History {
		h := source(seed)
		var gone *Record
		for i := range h.Events {
			e := &h.Events[i]
			if e.F == RecordGone && e.Command == CommandExpire {
				gone = e.Previous
				e.F = Request // nobody saw it go
				e.Previous = nil
			} else if e.F == RecordSet && gone != nil {
				gone.Now = e.Record.Now
				e.Previous, gone = gone, nil
			}
		}
		return h
	}
}

// seededOptions are those of all seeded runs: bounds are such that the right histories keep within them.
var seededOptions = Options{
	Promises:      Promises{Reentrant: true, Fenced: true, Leased: true, Fair: true},
	LivenessBound: time.Second, Overtakes: 10, HerdBound: 4, HandOverBound: 100 * time.Millisecond,
	FairnessBound: 700_000, OrderBound: 1000,
}

// seededBugs has a bug for each property.
func seededBugs() []seeded {
	const lease = 600 * time.Millisecond
	plain := generator{tokens: true, facts: true, writes: true, reentrant: true}
	with := func(change func(*generator)) func(uint64) *History {
		g := plain
		change(&g)
		return made(g)
	}
	leased := with(func(g *generator) { g.lease, g.crashes, g.deadlines = 20*lease, 20, true })
	paused := func(g *generator) { g.lease, g.pauses, g.deadlines, g.reentrant = lease, 20, true, false }
	doubled := with(func(g *generator) { g.defect = doubleGrant })
	free := with(func(g *generator) { g.writes = false })
	return []seeded{
		{MutualExclusion, made(plain), doubled, 150, 300, 0},
		{GrantExclusivity, made(plain), doubled, 300, 300, 0},
		{Linearizability, made(plain), doubled, 300, 300, 0},
		{ReleaseByOwner, made(plain), with(func(g *generator) { g.defect = foreignRelease }), 300, 300, 0},
		{Reentrancy, made(plain), with(func(g *generator) { g.defect = freesAtFirst }), 300, 300, 0},
		{TokenOrder, made(plain), with(func(g *generator) { g.defect = tokenGoesBack }), 290, 300, 0},
		{NotEarly, leased, with(func(g *generator) { paused(g); g.defect = endsEarly }), 290, 150, 0},
		{UseInLease, obeying(with(paused)), with(paused), 290, 250, 0},
		{Resource, made(plain), doubled, 150, 300, 0},
		{ResourceFenced, with(paused), unchecked(with(paused)), 100, 290, 0},
		{
			TruthfulRefusal, free,
			with(func(g *generator) { g.served, g.writes, g.reentrant, g.defect = true, false, false, refusesFree }),
			295, 300, 0,
		},
		{
			PhantomEffect, free, with(func(g *generator) { g.writes, g.reentrant, g.defect = false, false, phantomGrant }),
			295, 300, 0,
		},
		{
			Clobber, takingOver(with(func(g *generator) { g.lease, g.crashes = 5*lease, 40 })),
			clobbering(with(func(g *generator) { g.reentrant, g.writes = false, false })), 300, 200, 0,
		},
		{Orphan, queued(noBug), queued(keepsRecord), 300, 300, 0},
		{LostWakeUp, queued(noBug), queued(forgetsNext), 300, 300, 0},
		{Deadlock, crossed, queued(locksCrosswise), 300, 300, 0},
		{Starvation, queued(noBug), queued(passesOver), 250, 300, 0},
		{Order, queued(noBug), queued(passesOver), 300, 300, 0},
		{Recovery, queued(noBug), queued(losesAnswer), 290, 300, 0},
		{SessionExpiry, queued(noBug), queued(keepsSession), 290, 290, 0},
		{Herd, queued(noBug), queued(wakesAll), 300, 300, 0},
		{HandOver, queued(noBug), queued(dawdles), 300, 300, 0},
		{Fairness, queued(noBug), queued(prefersOne), 290, 300, 0},
	}
}

// seededSemaphores has bugs of locks with several permits.
func seededSemaphores() []seeded {
	right := generator{permits: 2}
	told := right
	told.facts = true
	double, toldDouble, refusing := right, told, right
	double.defect, toldDouble.defect, refusing.defect = doubleGrant, doubleGrant, refusesFree
	refusing.served = true
	served := right
	served.served = true
	waiting := right
	waiting.blocking = true
	return []seeded{
		{MutualExclusion, made(right), made(double), 100, 300, 2},
		{GrantExclusivity, made(told), made(toldDouble), 100, 300, 2},
		{Linearizability, made(right), made(double), 100, 290, 2},
		{Linearizability, made(served), made(refusing), 250, 300, 2},
		{LostWakeUp, healedAtStart(made(waiting)), healedAtStart(forgetful(made(waiting))), 250, 290, 2},
	}
}

// healedAtStart makes histories whose faults are over before they begin.
func healedAtStart(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History { return &History{Events: withHeal(source(seed).Events)} }
}

// forgetful lets the lock forget its queue: from the middle on nobody who waits is let in, and nobody asks any more.
func forgetful(source func(uint64) *History) func(uint64) *History {
	return func(seed uint64) *History {
		h := source(seed)
		lost := make(map[int]bool) // by process
		from := h.Events[len(h.Events)/2].Time
		end := h.Events[len(h.Events)-1].Time + time.Minute
		h.Events = slices.DeleteFunc(h.Events, func(e Event) bool {
			lost[e.Process] = lost[e.Process] || e.F == Acquire && e.Type == OK && e.Time > from
			return lost[e.Process]
		})
		h.Events = append(h.Events, Event{Time: end, Process: ProcessFault, Type: Info, F: WorkloadEnd})
		return h
	}
}

// crossed is a history in which two clients take two locks in the same order.
func crossed(seed uint64) *History {
	w := &queueWorld{rng: rand.New(rand.NewPCG(seed, 11)), h: &History{}}
	step := func(c int, t Type, f, key string) {
		w.pass(20)
		w.call(c, t, f, key)
	}
	for c := range 4 {
		step(c, Invoke, Acquire, "/left")
	}
	for c := range 4 {
		step(c, OK, Acquire, "/left")
		step(c, Invoke, Acquire, "/right")
		step(c, OK, Acquire, "/right")
		step(c, Invoke, Release, "/right")
		step(c, OK, Release, "/right")
		step(c, Invoke, Release, "/left")
		step(c, OK, Release, "/left")
	}
	return w.h
}

// TestBugOfEachProperty has a bug built in for each property and counts the runs in which it is noticed; a correct
// history is never flagged, and puts the property to the test.
func TestBugOfEachProperty(t *testing.T) {
	bugs := seededBugs()
	var covered []Property
	for _, bug := range append(bugs, seededSemaphores()...) {
		covered = append(covered, bug.property)
		name := string(bug.property)
		if bug.permits > 0 {
			name += fmt.Sprintf("/permits=%d", bug.permits)
		}
		t.Run(name, func(t *testing.T) {
			options := seededOptions
			if bug.permits > 0 {
				options.Promises = Promises{Permits: bug.permits}
			}
			options.Properties = []Property{bug.property}
			right, wrong := 0, 0
			for seed := range uint64(seededRuns) {
				switch v := Check(bug.right(seed), options)[0]; v.Result {
				case Violated:
					t.Fatalf("seed %d: a correct history is accused: %s", seed, v)
				case Holds:
					right++
				default:
					if seed == 0 {
						t.Log(v)
					}
				}
				v := Check(bug.wrong(seed), options)[0]
				if v.Result == Violated {
					wrong++
				} else if seed == 0 {
					t.Log(v)
				}
			}
			t.Logf("%s: the bug is found in %d of %d runs; the correct history holds in %d", bug.property, wrong,
				seededRuns, right)
			if wrong < bug.atLeast {
				t.Errorf("the bug is found in %d of %d runs, want at least %d", wrong, seededRuns, bug.atLeast)
			}
			if right < bug.tested {
				t.Errorf("the correct history holds in %d of %d runs, want at least %d", right, seededRuns, bug.tested)
			}
		})
	}
	for _, p := range Properties() {
		if !slices.Contains(covered, p) {
			t.Errorf("no bug is built in for %s", p)
		}
	}
}
