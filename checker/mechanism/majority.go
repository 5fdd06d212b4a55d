package mechanism

import (
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// The mechanisms of locks that count a majority of several servers. Their record is what most servers agree on; what
// one of them has is a fact about LOCK@SERVER.
var (
	NoMajority = Mechanism{
		"no-majority", "M1", "a client entered although no majority of the servers had its record",
	}
	MajorityForgotten = Mechanism{
		"majority-forgotten", "M2",
		"a server of a bare majority came back without its data, so the next client found a majority without it",
	}
)

// majorityMechanisms lists them in order of their numbers.
func majorityMechanisms() []Mechanism { return []Mechanism{NoMajority, MajorityForgotten} }

// atServer separates the name of a lock from that of the server whose record a fact is about.
const atServer = "@"

// spread hands the facts about single servers to the locks whose they are. A name that somebody locks is a lock's.
func spread(locks map[string]*lock) {
	for key, copies := range locks { // order-free: the facts of one server go to one lock
		name, _, single := strings.Cut(key, atServer)
		if whole := locks[name]; single && whole != nil && len(copies.byProcess) == 0 {
			whole.spread = true
			for _, f := range copies.facts {
				whole.copies[f.Index] = f
			}
		}
	}
}

// outvoted explains a client that entered without its record on a majority.
func (l *lock) outvoted(calls ...*call) *Finding {
	if !l.spread {
		return nil
	}
	for _, c := range calls {
		if l.ownRecord(c) != nil {
			continue
		}
		events := []*checker.Event{c.end}
		for i := c.begin.Index; i < c.end.Index; i++ {
			if f := l.copies[i]; f != nil && f.Node == c.node() && names(f, c.begin.Owner) {
				events = append(events, f)
			}
		}
		return finding(NoMajority, events, "%s entered although no majority of the servers had its record", c.node())
	}
	return nil
}

// forgotten explains a holder whose record a server lost in a restart.
func (l *lock) forgotten(own, loss *checker.Event) *Finding {
	if !l.spread || loss.Command != checker.CommandRestart {
		return nil
	}
	return finding(MajorityForgotten, []*checker.Event{own, loss}, "a server came back without its data, and the record "+
		"of %s was on no majority any more", own.Node)
}
