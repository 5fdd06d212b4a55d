package checker

import "fmt"

// judgeLinearizability asks for each lock whether its answers are those of one lock object.
//
// The search of linearize decides; Porcupine, which knows nothing of that search, must agree before anybody is
// accused, as far as the piece of history is short enough for it. Where the search gives up Porcupine is asked instead.
func (a *analysis) judgeLinearizability(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	var doubt *Verdict
	steps := 0
	for _, log := range a.locks {
		m := a.specify(log, options)
		steps += len(m.steps)
		if why, blind := a.blind(log, options); blind {
			v := unknown(why)
			doubt = &v
			continue
		}
		v := a.judgeLock(log, m, options, f)
		if v.Result == Unknown {
			doubt = &v
		}
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	if doubt != nil {
		return *doubt
	}
	grants := 0
	for _, log := range a.locks {
		grants += len(log.claims)
	}
	if otherwise, short := a.untried(grants); short {
		return otherwise
	}
	return holds(fmt.Sprintf("all %d steps of %s fit one lock that handles one call at a time", steps, a.lockNames()))
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
			case o.outcome == Info:
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
		if o.acquires() && o.outcome == OK && a.events[o.ret].Deadline == 0 {
			return fmt.Sprintf("nothing tells when the leases of %s end: record deadlines with the acquires, or the facts of "+
				"the server", log.key), true
		}
	}
	return "", false
}

// judgeLock judges one lock and adds what it finds to f.
func (a *analysis) judgeLock(log *lockLog, m *specification, options Options, f *findings) Verdict {
	found := linearize(m, options.Configurations)
	switch found.result {
	case Holds:
		return holds("")
	case Unknown:
		if len(m.steps) > options.PorcupineOperations {
			return gaveUp(fmt.Sprintf("%s: %s", log.key, found.limit))
		}
		if porcupineResult(m, options.PorcupineTimeout) == Holds {
			return holds("")
		}
		return gaveUp(fmt.Sprintf("%s: %s", log.key, found.limit))
	}
	failing := &m.steps[found.failing]
	if m.calledBy(failing.ret) <= options.PorcupineOperations {
		part := m.upTo(failing.ret)
		if porcupineResult(part, options.PorcupineTimeout) == Holds {
			return gaveUp(fmt.Sprintf(
				"two checkers disagree about the %s of %s that returned at event %d: one of them is wrong",
				a.operations[failing.operation].f, log.key, a.events[failing.ret].Index))
		}
	}
	f.add(a.illegal(log, m, found))
	return Verdict{Result: Violated}
}

// illegal describes the step that no order explains.
func (a *analysis) illegal(log *lockLog, m *specification, found searchResult) Violation {
	x := &m.steps[found.failing]
	o := &a.operations[x.operation]
	at := a.events[x.ret].Time
	owners, since := a.ownersIn(m, found.failing, found.before)
	who := a.name(x.client)
	v := Violation{Key: log.key, From: at, To: at}
	switch x.action {
	case grant:
		v.Kind = KindIllegalAcquire
		v.Text = fmt.Sprintf("%s was given %s at %s although %s", who, log.key, seconds(at), a.held(owners, x.client))
	case refusal:
		v.Kind = KindIllegalRefusal
		v.From = a.events[o.call].Time
		v.Text = fmt.Sprintf("%s was refused %s although nobody else held it %s", who, log.key, span(v.From, at))
	case denial:
		v.Kind = KindIllegalDenial
		v.Text = fmt.Sprintf("%s was told at %s that it does not own %s although it held it", who, seconds(at), log.key)
	default:
		v.Kind = KindIllegalRelease
		v.Text = fmt.Sprintf("the release of %s by %s was accepted at %s although %s",
			log.key, who, seconds(at), a.notHeld(owners, x.client))
	}
	v.Events = a.indices(append(since, o.call, o.ret)...)
	a.involve(&v, append([]int{x.client}, except(owners, x.client)...)...)
	return v
}

// ownersIn lists the owners that the lock may have had before the failing step, each once, and where they had last
// asked for it.
func (a *analysis) ownersIn(m *specification, failing int, before []configuration) (owners, since []int) {
	seen := make(map[int32]bool)
	for i := range before {
		s := before[i].state
		if s.owner == none || seen[s.owner] {
			continue
		}
		seen[s.owner] = true
		owners = append(owners, int(s.owner))
		for i := failing - 1; i >= 0; i-- {
			if x := &m.steps[i]; x.client == int(s.owner) && (x.action == grant || x.action == maybeGrant) {
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
