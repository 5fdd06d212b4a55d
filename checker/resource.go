package checker

import (
	"fmt"
	"sort"
)

// judgeResource asks of each write whether its writer was still the latest holder when the resource executed it. The
// resource is judged as if it checked nothing.
func (a *analysis) judgeResource(header *Header, options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	if len(a.writes) == 0 {
		return unknown("no write reached a resource")
	}
	if options.Promises.Permits > 1 {
		return unknown("a lock with several permits has no latest holder whose writes alone are right")
	}
	successions := make([]succession, len(a.locks))
	for i, log := range a.locks {
		successions[i] = newSuccession(log)
	}
	for k := range a.writes {
		w := &a.writes[k]
		e := &a.events[w.fact]
		lock, known := a.guard(header, e.Key)
		if !known {
			return unknown(fmt.Sprintf("the history does not tell which lock protects %s: name it in the header", e.Key))
		}
		if w.client == none {
			return unknown(fmt.Sprintf("nobody knows who wrote to %s at %s: event %d names no client",
				e.Key, seconds(e.Time), e.Index))
		}
		a.judgeWrite(a.locks[lock], &successions[lock], w, f)
	}
	if f.found > 0 {
		return f.verdict(Verdict{})
	}
	claims := 0
	for _, log := range a.locks {
		n, _ := countHolds(log.claims)
		claims += n
	}
	if otherwise, short := a.unexercised(claims); short {
		return otherwise
	}
	return holds(fmt.Sprintf("%s, each by the latest holder", plural(len(a.writes), "write")))
}

// guard finds the lock that protects a resource: the one of the same name, the one that the header names, or the only
// one there is.
func (a *analysis) guard(header *Header, resource string) (int, bool) {
	if lock, known := a.byKey[resource]; known {
		return lock, true
	}
	if lock, known := a.byKey[header.Lock]; known && (header.Resource == "" || header.Resource == resource) {
		return lock, true
	}
	return 0, len(a.locks) == 1
}

// succession answers who held a lock in what order.
type succession struct {
	claims []claim
	// different holds, for each claim, the latest earlier one of another client, none if there is none.
	different []int
	// own lists each client's claims in order.
	own map[int][]int
}

func newSuccession(log *lockLog) succession {
	s := succession{claims: log.claims, different: make([]int, len(log.claims)), own: make(map[int][]int)}
	for i := range log.claims {
		c := log.claims[i].client
		s.own[c] = append(s.own[c], i)
		s.different[i] = none
		if i > 0 {
			s.different[i] = i - 1
			if log.claims[i-1].client == c {
				s.different[i] = s.different[i-1]
			}
		}
	}
	return s
}

// latest finds the last claim that started before now, none if there is none.
func (s *succession) latest(now instant) int {
	return sort.Search(len(s.claims), func(i int) bool { return !s.claims[i].start.before(now) }) - 1
}

// latestOf finds the last claim of client c that started before now.
func (s *succession) latestOf(c int, now instant) int {
	own := s.own[c]
	k := sort.Search(len(own), func(i int) bool { return !s.claims[own[i]].start.before(now) })
	if k == 0 {
		return none
	}
	return own[k-1]
}

// latestOfOthers finds the last claim of anybody but client c that started before now.
func (s *succession) latestOfOthers(c int, now instant) int {
	i := s.latest(now)
	if i != none && s.claims[i].client == c {
		i = s.different[i]
	}
	return i
}

// judgeWrite judges one write against the claims of the lock that guards it. The hold that counts is the one under
// which the write was called: what was sent under an earlier hold does not become right by a later one.
func (a *analysis) judgeWrite(log *lockLog, s *succession, w *write, f *findings) {
	e := &a.events[w.fact]
	applied := instant{e.Time, w.fact}
	called := applied
	positions := []int{w.fact}
	if w.operation != none {
		call := a.operations[w.operation].call
		called = instant{a.events[call].Time, call}
		positions = append(positions, call)
	}
	v := Violation{Key: e.Key, From: e.Time, To: e.Time}
	i := s.latestOf(w.client, called)
	if i == none || s.claims[i].givenUp() && s.claims[i].end.before(called) {
		v.Kind = KindWriteWithoutHold
		v.Text = fmt.Sprintf("the write of %s to %s at %s was sent without holding %s",
			a.name(w.client), e.Key, seconds(e.Time), log.key)
		v.Events = a.indices(positions...)
		a.involve(&v, w.client)
		f.add(v)
		return
	}
	mine := &s.claims[i]
	k := s.latestOfOthers(w.client, applied)
	if k == none || !mine.start.before(s.claims[k].start) {
		return
	}
	other := &s.claims[k]
	v.Kind = KindStaleWrite
	v.Text = fmt.Sprintf("%s, holder of %s since %s, wrote to %s at %s although %s had become the holder at %s",
		a.name(w.client), log.key, seconds(mine.start.time), e.Key, seconds(e.Time),
		a.name(other.client), seconds(other.start.time))
	if !mine.givenUp() || applied.before(mine.end) {
		v.Cause = a.causeOfLoss(log, mine, w.fact)
	}
	v.Events = a.indices(append(positions, mine.start.position, other.start.position)...)
	v.From = other.start.time
	a.involve(&v, w.client, other.client)
	f.add(v)
}

// judgeFencing asks whether the check on tokens did its work: once a write was accepted, no write with a lower token
// is, nor one of another client with the same. A late write that arrives before the first write of the next holder
// is accepted rightly: the resource cannot know of a token that it has not seen.
func (a *analysis) judgeFencing(options Options) Verdict {
	if !options.Promises.Fenced {
		return skipped("the lock offers no fencing token")
	}
	f := &findings{cap: options.MaxViolations}
	highest := make(map[string]*write)
	writers := make(map[int]bool)
	accepted, tokens := 0, 0
	for k := range a.writes {
		w := &a.writes[k]
		e := &a.events[w.fact]
		if e.Token != 0 {
			tokens++
		}
		if !e.Accepted {
			continue
		}
		accepted++
		writers[w.client] = true
		before := highest[e.Key]
		if before == nil || e.Token > a.events[before.fact].Token {
			highest[e.Key] = w
			continue
		}
		if e.Token < a.events[before.fact].Token || before.client != w.client {
			f.add(a.oldToken(w, before))
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case len(a.writes) == 0:
		return unknown("no write reached a resource")
	case tokens == 0:
		return unknown("no write carried a token")
	case len(writers) < 2:
		return unknown("fewer than two clients had a write accepted, so nothing was put to the test")
	}
	return holds(fmt.Sprintf("%s of %d accepted, their tokens never fell", plural(accepted, "write"), len(a.writes)))
}

// oldToken describes an accepted write whose token was not above the highest.
func (a *analysis) oldToken(w, before *write) Violation {
	e, b := &a.events[w.fact], &a.events[before.fact]
	v := Violation{Kind: KindTokenAccepted, Key: e.Key, From: b.Time, To: e.Time, Events: a.indices(before.fact, w.fact)}
	v.Text = fmt.Sprintf("%s accepted the write of %s with token %d at %s after that of %s with token %d at %s",
		e.Key, a.writerName(w, e), e.Token, seconds(e.Time), a.writerName(before, b), b.Token, seconds(b.Time))
	for _, c := range []int{w.client, before.client} {
		if c != none {
			a.involve(&v, c)
		}
	}
	return v
}

func (a *analysis) writerName(w *write, e *Event) string {
	switch {
	case w.client != none:
		return a.name(w.client)
	case e.Node != "":
		return e.Node
	}
	return "an unknown client"
}
