package checker

import (
	"fmt"
	"time"
)

// Promises says what a lock claims to do, as far as it changes what is judged.
type Promises struct {
	Reentrant bool // the owner may lock again; as many releases free the lock
	Fenced    bool // holds carry a fencing token
	Leased    bool // a hold ends by itself and states its deadline
	Fair      bool // order of entry is order of asking
	LossTold  bool // whoever releases a hold that another has taken over since is told so
}

// Options are the choices of one Check. The zero value judges all properties of a plain lock.
type Options struct {
	// Properties are the ones to judge; nil means all. The order of verdicts is always that of Properties().
	Properties []Property
	Promises   Promises
	// Strict judges linearizability as that of a mutex which knows no lease: a hold ends by release only.
	Strict bool
	// LivenessBound is how long a lock that is waited for may stay without a holder after the heal. It has no
	// default: without it liveness is unknown.
	LivenessBound time.Duration
	// Overtakes is how often others may enter while one waits longer than LivenessBound; 0 means 100.
	Overtakes int
	// OrderBound is how often one may be overtaken, counted from the calls, on a lock whose queue is not on record; 0
	// means any number, and leaves the order unknown. Where the queue is on record nobody may be overtaken.
	OrderBound int
	// MaxViolations caps the violations that a verdict lists for one lock; 0 means 20. All are counted.
	MaxViolations int
	// Configurations caps the states that the search for a linearization keeps at one time; 0 means 4096.
	Configurations int
	// PorcupineOperations is the longest piece of history, in operations, that is handed to Porcupine; 0 means 100.
	PorcupineOperations int
	// PorcupineTimeout ends Porcupine's search in real time; 0 means 2 s.
	PorcupineTimeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Overtakes <= 0 {
		o.Overtakes = 100
	}
	if o.MaxViolations <= 0 {
		o.MaxViolations = 20
	}
	if o.Configurations <= 0 {
		o.Configurations = 4096
	}
	if o.PorcupineOperations <= 0 {
		o.PorcupineOperations = 100
	}
	if o.PorcupineTimeout <= 0 {
		o.PorcupineTimeout = 2 * time.Second
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
		wanted[p] = true
	}
	invalid := h.Validate()
	var a *analysis
	if invalid == nil {
		a = analyse(h)
	}
	var verdicts []Verdict
	for _, p := range Properties() {
		if options.Properties != nil && !wanted[p] {
			continue
		}
		var v Verdict
		if invalid != nil {
			v = gaveUp("the history is not well-formed: " + invalid.Error())
		} else {
			v = a.judge(h, p, options)
		}
		v.Property = p
		verdicts = append(verdicts, v)
		delete(wanted, p)
	}
	for _, p := range options.Properties {
		if wanted[p] {
			verdicts = append(verdicts, Verdict{Property: p, Result: Unknown, Why: fmt.Sprintf(
				"there is no property %q: want one of %s", string(p), join(propertyNames()))})
			delete(wanted, p)
		}
	}
	return verdicts
}

func propertyNames() []string {
	var names []string
	for _, p := range Properties() {
		names = append(names, string(p))
	}
	return names
}

func (a *analysis) judge(h *History, p Property, options Options) Verdict {
	switch p {
	case MutualExclusion:
		return a.judgeExclusion(options)
	case Linearizability:
		return a.judgeLinearizability(options)
	case ReleaseByOwner:
		return a.judgeRelease(options)
	case Resource:
		return a.judgeResource(&h.Header, options)
	case ResourceFenced:
		return a.judgeFencing(options)
	case TokenOrder:
		return a.judgeTokens(options)
	case Order:
		return a.judgeOrder(options)
	default:
		return a.judgeLiveness(options)
	}
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
