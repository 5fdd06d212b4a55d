package checker

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// Promises says what a lock claims to do, as far as it changes what is judged.
type Promises struct {
	Reentrant bool // the owner may lock again; as many releases free the lock
	Fenced    bool // holds carry a fencing token
	Leased    bool // a hold ends by itself and states its deadline
	Fair      bool // order of entry is order of asking
	LossTold  bool // whoever releases a hold that another has taken over since is told so
	// Permits is how many clients may hold at one time; 0 means 1.
	Permits int
}

// Options are the choices of one Check. The zero value judges all properties of a plain lock.
type Options struct {
	// Properties are the ones to judge, groups included; nil means all. The order of verdicts is always that of
	// Properties().
	Properties []Property
	Promises   Promises
	// Strict judges linearizability as that of a mutex which knows no lease: a hold ends by release only.
	Strict bool
	// Model is the lock object that linearizability is judged by; nil means the one that the promises make.
	Model model.Model
	// LivenessBound is how long a lock that is waited for may stay without a holder after the heal. It has no
	// default: without it liveness is unknown.
	LivenessBound time.Duration
	// Overtakes is how often others may enter while one waits longer than LivenessBound; 0 means 100.
	Overtakes int
	// OrderBound is how often one may be overtaken, counted from the calls, on a lock whose queue is not on record; 0
	// means any number, and leaves the order unknown. Where the queue is on record nobody may be overtaken.
	OrderBound int
	// Margin is by how much a lease may end before its time without being called early; 0 means 1 ms, which is as exactly
	// as records tell it.
	Margin time.Duration
	// HerdBound is how many requests one hand-over may take, HandOverBound how long it may take; 0 means that it is
	// measured only.
	HerdBound     int
	HandOverBound time.Duration
	// FairnessBound is how low Jain's index may be, in millionths; 0 means that it is measured only.
	FairnessBound int
	// MaxViolations caps the violations that a verdict lists for one lock; 0 means 20. All are counted.
	MaxViolations int
	// Configurations caps the states that the search for a linearization keeps at one time; 0 means 4096.
	Configurations int
	// PorcupineOperations is the longest piece of history, in operations, that is handed to Porcupine; 0 means 64.
	PorcupineOperations int
	// PorcupineSteps ends Porcupine's search after so many steps of the lock object; 0 means 1,000,000, which takes less
	// than a second.
	PorcupineSteps int
	// growing says that the history goes on: what an open call may still be told must not turn a violation into none.
	growing bool
}

func (o Options) withDefaults() Options {
	if o.Overtakes <= 0 {
		o.Overtakes = 100
	}
	if o.Margin <= 0 {
		o.Margin = time.Millisecond
	}
	if m, ok := o.Model.(model.Semaphore); ok && o.Promises.Permits <= 0 {
		o.Promises.Permits = m.Permits
	}
	if o.Promises.Permits <= 0 {
		o.Promises.Permits = 1
	}
	if o.MaxViolations <= 0 {
		o.MaxViolations = 20
	}
	if o.Configurations <= 0 {
		o.Configurations = 4096
	}
	if o.PorcupineOperations <= 0 {
		o.PorcupineOperations = 64
	}
	if o.PorcupineSteps <= 0 {
		o.PorcupineSteps = 1_000_000
	}
	return o
}

// Check judges a history, one verdict for each property, in the order of Properties().
//
// A history that is not well-formed (see History.Validate) gets no other verdict than unknown.
func Check(h *History, options Options) []Verdict {
	options = options.withDefaults()
	wanted := make(map[Property]bool)
	for _, p := range options.Properties {
		for _, member := range p.Members() {
			wanted[member] = true
		}
	}
	invalid := h.Validate()
	var a *analysis
	if invalid == nil {
		a = analyse(h)
	}
	var chosen []*propertyJudge
	for i := range judges {
		if options.Properties == nil || wanted[judges[i].property] {
			chosen = append(chosen, &judges[i])
		}
	}
	verdicts := make([]Verdict, len(chosen))
	inParallel(len(chosen), len(h.Events), func(i int) {
		if invalid != nil {
			verdicts[i] = gaveUp("the history is not well-formed: " + invalid.Error())
		} else {
			verdicts[i] = chosen[i].judge(a, &h.Header, options)
		}
		verdicts[i].Property = chosen[i].property
	})
	for i, p := range options.Properties {
		if len(p.Members()) == 0 && !slices.Contains(options.Properties[:i], p) {
			verdicts = append(verdicts, Verdict{Property: p, Result: Unknown, Why: fmt.Sprintf(
				"there is no property %q: want one of %s", string(p), join(propertyNames()))})
		}
	}
	return verdicts
}

// inParallel does n pieces of work. If the history is long it does two at a time; they share nothing that they change,
// so that what comes out is the same.
func inParallel(n, events int, work func(i int)) {
	const (
		long    = 20_000
		workers = 2
	)
	var next atomic.Int64
	worker := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			work(i)
		}
	}
	if events < long {
		worker()
		return
	}
	var group sync.WaitGroup
	for range workers {
		group.Go(worker)
	}
	group.Wait()
}

func propertyNames() []string {
	var names []string
	for _, p := range Properties() {
		names = append(names, string(p))
	}
	return names
}

// findings gathers the violations of one property and turns them into a verdict.
type findings struct {
	cap        int
	violations []Violation
	found      int
	perKey     map[string]int
	longest    time.Duration
	sum        time.Duration
}

// wants counts a violation of key and says whether there is still room to list it.
func (f *findings) wants(key string) bool {
	f.found++
	if f.perKey == nil {
		f.perKey = make(map[string]int)
	}
	f.perKey[key]++
	return f.perKey[key] <= f.cap
}

// add counts and lists a violation.
func (f *findings) add(v Violation) {
	if f.wants(v.Key) {
		f.violations = append(f.violations, v)
	}
}

// verdict is a violation if something was found, and otherwise what else is given.
func (f *findings) verdict(otherwise Verdict) Verdict {
	if f.found == 0 {
		return otherwise
	}
	sortViolations(f.violations)
	why := f.violations[0].Text
	if f.found > 1 {
		why = fmt.Sprintf("%s (%d in all)", why, f.found)
	}
	return Verdict{
		Result: Violated, Why: why, Violations: f.violations, Found: f.found, Longest: f.longest, Sum: f.sum,
	}
}
