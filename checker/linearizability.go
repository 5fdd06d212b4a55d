package checker

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// The rungs of the ladder that decides linearizability, each stronger and slower than the one before. A lock is judged
// by the first that can decide it.
const (
	rungSweep     = "sweep"     // the permits that are surely taken were counted
	rungWitness   = "witness"   // the order in which the server says it worked was replayed
	rungGaps      = "gap-check" // the holds are in one order, so that only what lies between two of them is in question
	rungSearch    = "search"    // all orders that fit were followed
	rungPorcupine = "porcupine" // Porcupine searched a piece between two points at which the lock was surely held
)

// linearizer judges the locks of one history.
type linearizer struct {
	a         *analysis
	options   Options
	lock      model.Model // nil for one that only explore knows
	lease     time.Duration
	explained refusals
	gap       gapCheck
	places    []int32 // scratch space of witness
	f         *findings
	rungs     []string
	steps     int
}

// judgeLinearizability asks for each lock whether its answers are those of one lock object.
//
// Before anybody is accused by a search, Porcupine, which knows nothing of that search, must agree, as far as the piece
// of history since the lock was last surely held is short enough for it.
func (a *analysis) judgeLinearizability(h *Header, options Options) Verdict {
	l := &linearizer{a: a, f: &findings{cap: options.MaxViolations}, explained: a.explainedRefusals()}
	l.choose(h, options)
	l.gap = gapCheck{
		a: a, reentrant: l.options.Promises.Reentrant, explained: l.explained, clients: make([]gapClient, len(a.clients)),
	}
	var doubt *Verdict
	for i, log := range a.locks {
		if v := l.judge(i, log); v.Result == Unknown {
			doubt = &v
		}
	}
	v := l.verdict(doubt)
	if v.Result != Unknown {
		v.By = l.rungs
	}
	return v
}

// choose picks the lock object. Those that differ from that of linearize.go in nothing but options are judged there.
func (l *linearizer) choose(h *Header, options Options) {
	l.lease = h.Lease
	switch m := options.Model.(type) {
	case nil:
		if options.Promises.Permits > 1 {
			l.lock = model.Semaphore{Permits: options.Promises.Permits}
		}
	case model.Owner:
		options.Strict, options.Promises.Reentrant = true, false
	case model.Lease:
		options.Strict, options.Promises.Reentrant = false, !m.Exclusive
	case model.Reentrant:
		options.Strict, options.Promises.Reentrant = true, true
		if m.Limit > 0 {
			l.lock = m
		}
	default:
		l.lock = m
	}
	l.options = options
}

func (l *linearizer) verdict(doubt *Verdict) Verdict {
	if l.f.found > 0 {
		return l.f.verdict(Verdict{})
	}
	if doubt != nil {
		return *doubt
	}
	grants := 0
	for _, log := range l.a.locks {
		grants += len(log.claims)
	}
	if otherwise, short := l.a.untried(grants); short {
		return otherwise
	}
	const fits = "one lock that handles one call at a time"
	if l.steps == 1 {
		return holds("the only step of " + l.a.lockNames() + " fits " + fits)
	}
	return holds(fmt.Sprintf("all %d steps of %s fit %s", l.steps, l.a.lockNames(), fits))
}

// by notes which rung decided.
func (l *linearizer) by(rung string) {
	if !slices.Contains(l.rungs, rung) {
		l.rungs = append(l.rungs, rung)
	}
}

// untried gives the verdict for histories in which at most one client got an answer that says something.
func (a *analysis) untried(grants int) (Verdict, bool) {
	if len(a.locks) == 0 {
		return unknown("nobody used a lock"), true
	}
	if grants == 0 {
		return unknown("nobody ever got " + a.lockNames()), true
	}
	for _, log := range a.locks {
		first := none
		for _, id := range log.operations {
			o := &a.operations[id]
			switch {
			case o.outcome() == Info:
			case first == none:
				first = o.client
			case first != o.client:
				return Verdict{}, false
			}
		}
	}
	return unknown("no lock was used by more than one client, so nothing was put to the test"), true
}

// blind says why a lease cannot be judged: nothing in the history tells when it ends.
func (a *analysis) blind(log *lockLog, options Options) (string, bool) {
	if !options.Promises.Leased || options.Strict || len(log.facts) > 0 {
		return "", false
	}
	for _, id := range log.operations {
		o := &a.operations[id]
		if o.acquires() && o.outcome() == OK && a.events[o.ret].Deadline == 0 {
			return fmt.Sprintf("nothing tells when the leases of %s end: record deadlines with the acquires, or the facts of "+
				"the server", log.key), true
		}
	}
	return "", false
}

// judge climbs the ladder for one lock, and adds what it finds to the findings.
func (l *linearizer) judge(number int, log *lockLog) Verdict {
	a := l.a
	l.steps += l.countSteps(log)
	words := a.phrase(log, l.object(), l.lease, l.explained)
	if l.places == nil && len(log.served) > 0 {
		l.places = make([]int32, len(a.operations))
	}
	if r := words.witness(l.places); r.usable {
		if r.failing == none {
			l.by(rungWitness)
			return holds("")
		}
		if l.tellsEnds(log) {
			l.by(rungWitness)
			l.f.add(a.illegal(log, words, r.failing, a.events[r.at].Time, r.state, r.since))
			return Verdict{Result: Violated}
		}
	}
	if l.lock != nil {
		return l.exploreLock(log, words)
	}
	if why, blind := a.blind(log, l.options); blind {
		return unknown(why)
	}
	l.gap.lock = number
	if l.gap.usable(log, l.options) && l.gap.judge(log) == none {
		l.by(rungGaps)
		return holds("")
	}
	return l.searchLock(log, words)
}

// object is the lock object to replay the server's order with.
func (l *linearizer) object() model.Model {
	switch {
	case l.lock != nil:
		return l.lock
	case !l.options.Strict:
		return model.Lease{Exclusive: !l.options.Promises.Reentrant}
	case l.options.Promises.Reentrant:
		return model.Reentrant{}
	}
	return model.Owner{}
}

// tellsEnds says that whatever ends a hold is on record, so that an order that does not fit is an offence.
func (l *linearizer) tellsEnds(log *lockLog) bool {
	if _, timed := l.lock.(model.TimedLease); timed || l.lock != nil || l.options.Strict {
		return true
	}
	return len(log.facts) > 0 || !l.options.Promises.Leased && len(log.expiries) == 0
}

// countSteps counts what is asked of the lock object.
func (l *linearizer) countSteps(log *lockLog) int {
	n := 0
	leased := l.options.Promises.Leased && len(log.facts) == 0
	for _, id := range log.operations {
		o := &l.a.operations[id]
		if !o.says(l.explained.has(id)) {
			continue
		}
		n++
		if leased && !l.options.Strict && o.acquires() && o.outcome() == Info {
			n++
		}
	}
	if !l.options.Strict {
		n += len(log.lapses) + len(log.expiries)
	}
	return n
}

// exploreLock judges a lock by a model that only explore knows.
func (l *linearizer) exploreLock(log *lockLog, words *phrasing) Verdict {
	excess := none
	if m, ok := l.lock.(model.Semaphore); ok {
		s := permitSweep{a: l.a, permits: m.Permits, explained: l.explained}
		offence, decided := s.judge(log)
		if decided && offence == none {
			l.by(rungSweep)
			return holds("")
		}
		excess = offence
	}
	steps := words.steps()
	found := explore(l.lock, steps, l.options.Configurations)
	switch found.result {
	case Holds:
		l.by(rungSearch)
		return holds("")
	case Unknown:
		if excess == none {
			return gaveUp(fmt.Sprintf("%s: %s", log.key, found.limit))
		}
		l.by(rungSweep)
		l.f.add(l.a.excess(log, words, excess))
		return Verdict{Result: Violated}
	}
	x := &steps[found.failing]
	part := words.upTo(steps, x.ret)
	if len(part) <= l.options.PorcupineOperations {
		switch porcupineExplores(l.lock, part, l.options.PorcupineSteps) {
		case Holds:
			return l.disagree(log, x)
		case Violated:
			l.by(rungPorcupine)
		}
	}
	l.by(rungSearch)
	since := l.a.sinceIn(steps, found.failing, found.states[0])
	l.f.add(l.a.illegal(log, words, x.operation, l.a.events[x.ret].Time, found.states[0], since))
	return Verdict{Result: Violated}
}

// searchLock follows all orders that fit. Where they are too many, Porcupine is asked about the piece between the two
// nearest points at which the lock was surely held, and the search goes on behind it.
func (l *linearizer) searchLock(log *lockLog, words *phrasing) Verdict {
	const mostPieces = 64 // that are too hard for the search
	m := l.a.specify(log, l.options, l.explained)
	var cuts []cut
	part := m
	for range mostPieces {
		found := linearize(part, l.options.Configurations)
		if found.result == Holds {
			l.by(rungSearch)
			return holds("")
		}
		if cuts == nil {
			cuts = m.cuts()
		}
		if found.result == Violated {
			return l.confirm(log, m, cuts, part, found)
		}
		before, after := around(cuts, m.beginning(), found.at)
		last := math.MaxInt
		if after != none {
			last = cuts[after].position
		}
		piece := m.between(before, last)
		if len(piece.steps) > l.options.PorcupineOperations {
			return gaveUp(fmt.Sprintf("%s: %s", log.key, found.limit))
		}
		switch porcupineResult(piece, l.options.PorcupineSteps) {
		case Unknown:
			return gaveUp(fmt.Sprintf("%s: %s", log.key, found.limit))
		case Violated:
			l.by(rungPorcupine)
			l.f.add(l.firstIllegal(log, words, m, before, piece))
			return Verdict{Result: Violated}
		}
		l.by(rungPorcupine)
		if after == none {
			return holds("")
		}
		part = m.between(cuts[after], math.MaxInt)
	}
	return gaveUp(log.key + ": " + tooManyOrders)
}

// confirm asks Porcupine about the piece of history that the search says is illegal.
func (l *linearizer) confirm(
	log *lockLog, m *specification, cuts []cut, part *specification, found searchResult,
) Verdict {
	failing := &part.steps[found.failing]
	before, _ := around(cuts, m.beginning(), failing.ret)
	if piece := m.between(before, failing.ret); len(piece.steps) <= l.options.PorcupineOperations {
		switch porcupineResult(piece, l.options.PorcupineSteps) {
		case Holds:
			return l.disagree(log, failing)
		case Violated:
			l.by(rungPorcupine)
		}
	}
	l.by(rungSearch)
	owners, since := l.a.ownersIn(part, found.failing, found.before)
	l.f.add(l.a.accuse(log, &failing.Operation, failing.operation, l.a.events[failing.ret].Time, owners, since))
	return Verdict{Result: Violated}
}

func (l *linearizer) disagree(log *lockLog, x *step) Verdict {
	return gaveUp(fmt.Sprintf("two checkers disagree about the %s of %s that returned at event %d: one of them is wrong",
		l.a.operations[x.operation].f(), log.key, l.a.events[x.ret].Index))
}

// firstIllegal finds the first return in a piece that Porcupine cannot explain.
func (l *linearizer) firstIllegal(
	log *lockLog, words *phrasing, m *specification, before cut, piece *specification,
) Violation {
	var first *step
	for i := range piece.steps {
		x := &piece.steps[i]
		if x.ret == none || x.lapse() || first != nil && x.ret > first.ret {
			continue
		}
		if porcupineResult(m.between(before, x.ret), l.options.PorcupineSteps) == Violated {
			first = x
		}
	}
	if first == nil { // Only the whole piece is illegal: its last return.
		for i := range piece.steps {
			if x := &piece.steps[i]; x.operation != none && (first == nil || x.ret > first.ret) {
				first = x
			}
		}
	}
	return l.a.illegal(log, words, first.operation, l.a.events[first.ret].Time, before.state, nil)
}

// illegal describes an operation that the lock object would not have answered so in a state.
func (a *analysis) illegal(
	log *lockLog, words *phrasing, id int, at time.Duration, state model.State, since []int,
) Violation {
	x, _ := words.operation(id)
	reason, owners := "", []int(nil)
	if owned, ok := state.(model.Owned); !ok {
		reason = "it was " + state.Describe(a.clientName)
	} else if holder := owned.Holder(); holder != model.Nobody {
		owners = []int{int(holder)}
	}
	if objector, ok := words.lock.(model.Objector); ok {
		reason = cmp.Or(objector.Objection(state, &x), reason)
	}
	v := a.accuse(log, &x, id, at, owners, since)
	if reason != "" {
		v.Text = fmt.Sprintf("%s was %s %s at %s although %s", a.name(int(x.Client)), done(x.Action), log.key,
			seconds(at), reason)
	}
	return v
}

// sinceIn finds what made the state in which a step is illegal: where those who hold the lock in it had last asked for
// it before, and where the highest token came from.
func (a *analysis) sinceIn(steps []step, failing int, state model.State) []int {
	var since []int
	add := func(wanted func(x *step) bool) {
		for i := len(steps) - 1; i >= 0; i-- {
			x := &steps[i]
			acquires := x.Action == model.Acquire || x.Action == model.TakeOver
			if i != failing && acquires && x.call < steps[failing].ret && wanted(x) {
				o := &a.operations[x.operation]
				since = append(since, o.call)
				if o.ret != none {
					since = append(since, o.ret)
				}
				return
			}
		}
	}
	for _, holder := range holdersIn(state) {
		add(func(x *step) bool { return x.Client == holder })
	}
	if len(since) > 0 {
		return since
	}
	switch s := state.(type) {
	case model.FencedState:
		add(func(x *step) bool { return x.Token != 0 && x.Token == s.Highest })
	case model.ReentrantFencedState:
		add(func(x *step) bool { return x.Token != 0 && x.Token == s.Highest })
	}
	return since
}

// holdersIn lists who holds the lock in a state, as far as it names them.
func holdersIn(state model.State) []int32 {
	switch s := state.(type) {
	case model.SemaphoreState:
		return slices.Compact(s.Holders())
	case model.Owned:
		if holder := s.Holder(); holder != model.Nobody {
			return []int32{holder}
		}
	}
	return nil
}

func (a *analysis) clientName(c int32) string { return a.name(int(c)) }

// done says in the passive what an action did to its client.
func done(action model.Action) string {
	switch action {
	case model.Refuse:
		return "refused"
	case model.Deny:
		return "told that it does not own"
	case model.Release:
		return "allowed to release"
	}
	return "given"
}

// accuse describes an operation that no order explains. Owners are those that the lock may have had, since is where
// they had asked for it.
func (a *analysis) accuse(
	log *lockLog, x *model.Operation, id int, at time.Duration, owners, since []int,
) Violation {
	o := &a.operations[id]
	client := int(x.Client)
	who := a.name(client)
	v := Violation{Key: log.key, From: at, To: at}
	switch x.Action {
	case model.Acquire, model.TakeOver:
		v.Kind = KindIllegalAcquire
		v.Text = fmt.Sprintf("%s was given %s at %s although %s", who, log.key, seconds(at), a.held(owners, client))
	case model.Refuse:
		v.Kind = KindIllegalRefusal
		v.From = a.events[o.call].Time
		v.Text = fmt.Sprintf("%s was refused %s although nobody else held it %s", who, log.key, span(v.From, at))
	case model.Deny:
		v.Kind = KindIllegalDenial
		v.Text = fmt.Sprintf("%s was told at %s that it does not own %s although it held it", who, seconds(at), log.key)
	default:
		v.Kind = KindIllegalRelease
		v.Text = fmt.Sprintf("the release of %s by %s was accepted at %s although %s",
			log.key, who, seconds(at), a.notHeld(owners, client))
	}
	v.Events = a.indices(append(since, o.call, o.ret)...)
	a.involve(&v, append([]int{client}, except(owners, client)...)...)
	return v
}

// ownersIn lists the owners that the lock may have had before the failing step, each once, and where they had last
// asked for it.
func (a *analysis) ownersIn(m *specification, failing int, before []configuration) (owners, since []int) {
	seen := make(map[int32]bool)
	for i := range before {
		s := before[i].state
		if s.Owner == model.Nobody || seen[s.Owner] {
			continue
		}
		seen[s.Owner] = true
		owners = append(owners, int(s.Owner))
		for i := failing - 1; i >= 0; i-- {
			if x := &m.steps[i]; x.Client == s.Owner && x.Action == model.Acquire {
				since = append(since, a.operations[x.operation].call, a.operations[x.operation].ret)
				break
			}
		}
	}
	return owners, since
}

func except(list []int, x int) []int {
	var rest []int
	for _, y := range list {
		if x != y {
			rest = append(rest, y)
		}
	}
	return rest
}

// held says who stood in the way of a grant to client c.
func (a *analysis) held(owners []int, c int) string {
	others := except(owners, c)
	switch {
	case len(others) == 1:
		return a.name(others[0]) + " held it"
	case len(others) > 1:
		return "one of " + join(a.names(others)) + " held it"
	default:
		return "it held it already and the lock is not reentrant"
	}
}

// notHeld says in what state the lock was when client c released it.
func (a *analysis) notHeld(owners []int, c int) string {
	if others := except(owners, c); len(others) > 0 {
		return a.held(others, none)
	}
	return "it did not hold it any more"
}
