package checker

import (
	"fmt"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// permitSweep judges a lock with several permits, as far as the permits that are surely taken tell.
//
// A permit is surely taken from the return of its acquire to the call of its release. More of them at one time than
// there are is an offence in every order. If there are never more, one order is legal but for refusals: let each
// acquire take effect right before its return and each release right after its call, and as many permits are taken at
// each moment as surely are. In that order a refusal is right if at some moment between its call and its return all
// permits were surely taken. Where that is not so another order may still explain it, and the sweep gives no answer.
type permitSweep struct {
	a         *analysis
	permits   int
	explained refusals
	taken     int
	// full is up to where all permits were surely taken, never while they are.
	full    int
	clients map[int]*permitClient
}

// permitClient is where one client stands.
type permitClient struct {
	has     int
	unknown bool // the outcome of its last operation is unknown
}

// judge goes through the calls and returns of one lock. It returns an operation that cannot have been answered so, none
// if all can, or false if it cannot tell.
func (s *permitSweep) judge(log *lockLog) (offence int, decided bool) {
	s.full, s.clients = none, make(map[int]*permitClient)
	calls, doubt := log.operations, false
	for _, id := range log.returns {
		o := &s.a.operations[id]
		for ; len(calls) > 0 && s.a.operations[calls[0]].call < o.ret; calls = calls[1:] {
			if !s.called(&s.a.operations[calls[0]]) {
				return none, false
			}
		}
		wrong, unsure := s.returned(o, id)
		if wrong {
			return id, true
		}
		doubt = doubt || unsure
	}
	for _, id := range calls {
		if !s.called(&s.a.operations[id]) {
			return none, false
		}
	}
	return none, !doubt
}

func (s *permitSweep) client(c int) *permitClient {
	if s.clients[c] == nil {
		s.clients[c] = &permitClient{}
	}
	return s.clients[c]
}

// called takes a call. It is false if an operation of unknown outcome came before it.
func (s *permitSweep) called(o *operation) bool {
	c := s.client(o.client)
	if c.unknown {
		return false
	}
	c.unknown = o.outcome() == Info
	if o.f() == Release && o.outcome() != Fail && c.has > 0 {
		if s.taken == s.permits {
			s.full = o.call
		}
		s.taken--
	}
	return true
}

// returned takes a return. It tells whether that is wrong in every order, or not explained.
func (s *permitSweep) returned(o *operation, id int) (wrong, unsure bool) {
	c := s.client(o.client)
	switch {
	case o.outcome() == Info:
	case o.acquires() && o.outcome() == OK:
		c.has++
		s.taken++
		if s.taken == s.permits {
			s.full = never
		}
		return s.taken > s.permits, false
	case o.acquires():
		return false, o.says(s.explained.has(id)) && s.full < o.call
	case o.outcome() == OK:
		c.has--
		return c.has < 0, false
	default:
		return c.has > 0, false
	}
	return false, false
}

// excess describes an operation that the sweep found to be wrong.
func (a *analysis) excess(log *lockLog, words *phrasing, id int) Violation {
	x, _ := words.operation(id)
	o := &a.operations[id]
	at := a.events[o.ret].Time
	v := a.accuse(log, &x, id, at, nil, nil)
	why := "it had a permit"
	switch x.Action {
	case model.Acquire:
		why = "all permits were taken"
	case model.Release:
		why = "it had no permit"
	}
	v.Text = fmt.Sprintf("%s was %s %s at %s although %s", a.name(o.client), done(x.Action), log.key, seconds(at), why)
	return v
}
