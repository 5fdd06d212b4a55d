package model

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// Who takes part in the tests.
const (
	a = int32(iota)
	b
	c
)

func name(client int32) string { return string(rune('a' + client)) }

// run takes operations one after the other and returns how the state is described at the end, or which operation is
// illegal.
func run(m Model, operations ...Operation) string {
	state := m.Start()
	for i := range operations {
		next, legal := Take(m, state, &operations[i])
		if !legal {
			return fmt.Sprintf("illegal: %d", i+1)
		}
		state = next
	}
	return state.Describe(name)
}

func acquire(client int32) Operation { return Operation{Action: Acquire, Client: client} }
func refuse(client int32) Operation  { return Operation{Action: Refuse, Client: client} }
func release(client int32) Operation { return Operation{Action: Release, Client: client} }
func deny(client int32) Operation    { return Operation{Action: Deny, Client: client} }

func token(client int32, token int64) Operation {
	return Operation{Action: Acquire, Client: client, Token: token}
}

func expire(owners ...int32) Operation {
	return Operation{Action: Expire, Client: Nobody, Owners: owners}
}

func takeOver(client int32, owners ...int32) Operation {
	return Operation{Action: TakeOver, Client: client, Owners: owners}
}

func lenient(o Operation) Operation {
	o.Lenient = true
	return o
}

// between says when an operation took effect, with a lease of 10.
func between(called, returned time.Duration, o Operation) Operation {
	o.Times = &Times{Called: called, Returned: returned, Lease: 10}
	return o
}

func TestModels(t *testing.T) {
	tests := []struct {
		model      Model
		operations []Operation
		want       string
	}{
		{Mutex{}, []Operation{acquire(a), release(b)}, "free"},
		{Mutex{}, []Operation{acquire(a), deny(b), refuse(a)}, "held"},
		{Mutex{}, []Operation{acquire(a), acquire(a)}, "illegal: 2"},
		{Mutex{}, []Operation{refuse(a)}, "illegal: 1"},
		{Mutex{}, []Operation{release(a)}, "illegal: 1"},

		{Owner{}, []Operation{acquire(a), refuse(a), refuse(b), deny(b)}, "held by a"},
		{Owner{}, []Operation{acquire(a), release(a), acquire(b)}, "held by b"},
		{Owner{}, []Operation{acquire(a), release(b)}, "illegal: 2"},
		{Owner{}, []Operation{acquire(a), deny(a)}, "illegal: 2"},
		{Owner{}, []Operation{acquire(a), acquire(a)}, "illegal: 2"},

		{Reentrant{}, []Operation{acquire(a), acquire(a), acquire(a), release(a)}, "held by a at 2 levels"},
		{Reentrant{}, []Operation{acquire(a), acquire(a), release(a), release(a), acquire(b)}, "held by b"},
		{Reentrant{}, []Operation{acquire(a), refuse(a)}, "illegal: 2"},
		{Reentrant{}, []Operation{acquire(a), acquire(a), release(a), acquire(b)}, "illegal: 4"},
		{Reentrant{2}, []Operation{acquire(a), acquire(a), refuse(a)}, "held by a at 2 levels"},
		{Reentrant{2}, []Operation{acquire(a), acquire(a), acquire(a)}, "illegal: 3"},

		{Fenced{}, []Operation{token(a, 3), release(a), token(b, 4)}, "held by b, token 4"},
		{Fenced{}, []Operation{token(a, 3), release(a), token(b, 0), release(b), token(c, 4)}, "held by c, token 4"},
		{Fenced{}, []Operation{token(a, 3), release(a), token(b, 3)}, "illegal: 3"},
		{Fenced{}, []Operation{token(a, 3), release(a), token(b, 2)}, "illegal: 3"},
		{Fenced{}, []Operation{token(a, 3), token(b, 4)}, "illegal: 2"},

		{ReentrantFenced{}, []Operation{token(a, 3), token(a, 3)}, "held by a at 2 levels, token 3"},
		{ReentrantFenced{}, []Operation{token(a, 0), token(a, 3), token(a, 3)}, "held by a at 3 levels, token 3"},
		{ReentrantFenced{}, []Operation{token(a, 3), token(a, 4)}, "illegal: 2"},
		{ReentrantFenced{}, []Operation{token(a, 3), release(a), token(a, 3)}, "illegal: 3"},
		{ReentrantFenced{1}, []Operation{token(a, 3), token(a, 3)}, "illegal: 2"},
		{ReentrantFenced{1}, []Operation{token(a, 3), refuse(a), deny(b)}, "held by a, token 3"},

		{Semaphore{2}, []Operation{acquire(b), acquire(a), refuse(c)}, "held by a, b"},
		{Semaphore{2}, []Operation{acquire(a), acquire(a), release(a), acquire(b)}, "held by a, b"},
		{Semaphore{2}, []Operation{acquire(a), release(a)}, "free"},
		{Semaphore{2}, []Operation{acquire(a), acquire(b), acquire(c)}, "illegal: 3"},
		{Semaphore{2}, []Operation{acquire(a), refuse(b)}, "illegal: 2"},
		{Semaphore{2}, []Operation{acquire(a), release(b)}, "illegal: 2"},
		{Semaphore{2}, []Operation{acquire(a), deny(a)}, "illegal: 2"},

		{Lease{}, []Operation{acquire(a), acquire(a), expire(a), acquire(b)}, "held by b"},
		{Lease{}, []Operation{acquire(a), expire(b, a)}, "free"},
		{Lease{}, []Operation{acquire(a), expire(b)}, "illegal: 2"},
		{Lease{}, []Operation{acquire(a), lenient(expire(b)), refuse(b)}, "held by a"},
		{Lease{}, []Operation{acquire(a), expire(a), deny(a)}, "free"},
		{Lease{}, []Operation{acquire(a), expire(a), lenient(release(a))}, "free"},
		{Lease{}, []Operation{acquire(a), acquire(b)}, "illegal: 2"},
		{Lease{Exclusive: true}, []Operation{acquire(a), acquire(a)}, "illegal: 2"},
		{Lease{Exclusive: true}, []Operation{acquire(a), refuse(a)}, "held by a"},

		{Takeover{}, []Operation{acquire(a), acquire(a), takeOver(b, a), release(b)}, "free"},
		{Takeover{}, []Operation{takeOver(b, a)}, "held by b"},
		{Takeover{}, []Operation{acquire(a), takeOver(b, c)}, "illegal: 2"},
		{Takeover{}, []Operation{acquire(a), takeOver(b, a), release(a)}, "illegal: 3"},
		{Takeover{}, []Operation{acquire(a), acquire(b)}, "illegal: 2"},

		{
			TimedLease{},
			[]Operation{between(1, 2, acquire(a)), between(11, 12, acquire(b))},
			"held by b for 10ns from 11ns on",
		},
		{TimedLease{}, []Operation{between(1, 2, acquire(a)), between(5, 10, acquire(b))}, "illegal: 2"},
		{TimedLease{}, []Operation{between(1, 2, acquire(a)), between(12, 13, refuse(b))}, "illegal: 2"},
		{
			TimedLease{},
			[]Operation{between(1, 9, acquire(a)), between(12, 13, refuse(b)), between(12, 12, acquire(b))},
			"illegal: 3", // the refusal shows that the lease began at 3 or later
		},
		{TimedLease{}, []Operation{between(1, 2, acquire(a)), between(11, 13, deny(a))}, "free"},
		{TimedLease{}, []Operation{between(1, 2, acquire(a)), between(5, 6, deny(a))}, "illegal: 2"},
		{TimedLease{}, []Operation{acquire(a), refuse(b), release(a)}, "free"},
		{ // The lease may have been over when its owner acquired again: then one release frees it.
			TimedLease{},
			[]Operation{
				between(1, 2, acquire(a)), between(9, 13, acquire(a)), between(14, 14, release(a)), between(15, 16, acquire(b)),
			},
			"held by b for 10ns from 15ns on",
		},
		{ // Or not: then it takes two.
			TimedLease{},
			[]Operation{
				between(1, 2, acquire(a)), between(9, 13, acquire(a)), between(14, 14, release(a)), between(15, 16, release(a)),
			},
			"free",
		},
		{
			TimedLease{},
			[]Operation{between(1, 2, acquire(a)), between(9, 13, acquire(a))},
			"held by a for 10ns from 11ns on or held by a at 2 levels for 10ns from 9ns on",
		},
		{
			TimedLease{},
			[]Operation{
				between(1, 2, acquire(a)), between(3, 4, acquire(a)), between(5, 5, release(a)), between(6, 7, acquire(b)),
			},
			"illegal: 4",
		},
	}
	for _, test := range tests {
		if got := run(test.model, test.operations...); got != test.want {
			t.Errorf("%s: %v: got %q, want %q", test.model.Name(), test.operations, got, test.want)
		}
	}
}

// TestOwned checks that states that name a holder name the right one.
func TestOwned(t *testing.T) {
	for _, m := range All() {
		o := token(b, 1)
		state, legal := m.Step(m.Start(), &o)
		owned, ok := state.(Owned)
		if !legal || ok && owned.Holder() != b {
			t.Errorf("%s: after an acquire of %d the holder is another", m.Name(), b)
		}
		if free, ok := m.Start().(Owned); ok && free.Holder() != Nobody {
			t.Errorf("%s: somebody holds it at the start", m.Name())
		}
	}
}

func TestNamed(t *testing.T) {
	for _, m := range All() {
		again, err := Named(m.Name())
		if err != nil || again != m {
			t.Errorf("%s: got %v, %v", m.Name(), again, err)
		}
		if m.About() == "" || strings.Contains(m.About(), "\n") {
			t.Errorf("%s: about %q", m.Name(), m.About())
		}
	}
	for text, want := range map[string]Model{
		"semaphore": Semaphore{2}, "semaphore:5": Semaphore{5}, "reentrant:2": Reentrant{2},
		"reentrant-fenced:3": ReentrantFenced{3},
	} {
		if got, err := Named(text); got != want || err != nil {
			t.Errorf("%s: got %v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"":            `there is no model ""`,
		"lock":        `there is no model "lock": want one of mutex, owner,`,
		"owner:2":     "owner has no parameter",
		"semaphore:0": "want a number of at least 1",
		"reentrant:x": "want a number of at least 1",
	} {
		if _, err := Named(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestTimesAreExact compares the timed lease, which keeps least times only, with a trial of all times. Owners that
// acquire again are among the histories.
func TestTimesAreExact(t *testing.T) {
	legal := 0
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var operations []Operation
		for range 2 + rng.IntN(5) {
			o := Operation{Action: []Action{Acquire, Acquire, Refuse, Release, Deny}[rng.IntN(5)], Client: rng.Int32N(3)}
			called := 1 + time.Duration(rng.IntN(8))
			o.Times = &Times{Called: called, Returned: called + time.Duration(rng.IntN(5)), Lease: 4}
			operations = append(operations, o)
		}
		got := !strings.HasPrefix(run(TimedLease{}, operations...), "illegal")
		want := anyTimes(operations, trial{owner: Nobody})
		if got != want {
			for _, o := range operations {
				t.Logf("%+v %+v", o, *o.Times)
			}
			t.Fatalf("seed %d: got %v, want %v", seed, got, want)
		}
		if want {
			legal++
		}
	}
	if legal < 1000 {
		t.Errorf("only %d histories were legal", legal)
	}
}

// trial is a lock with one choice of times.
type trial struct {
	owner, count int32
	since, last  time.Duration
}

// anyTimes tries all times at which the operations may have taken effect.
func anyTimes(operations []Operation, s trial) bool {
	if len(operations) == 0 {
		return true
	}
	o := operations[0]
	for now := max(s.last, o.Times.Called); now <= o.Times.Returned; now++ {
		next := s
		next.last = now
		live := s.owner != Nobody && now < s.since+o.Times.Lease
		ok := false
		switch o.Action {
		case Acquire:
			ok = !live || s.owner == o.Client
			next.owner, next.count, next.since = o.Client, 1, now
			if live {
				next.count = s.count + 1
			}
		case Refuse:
			ok = live && s.owner != o.Client
		case Release:
			ok = live && s.owner == o.Client
			if next.count--; next.count == 0 {
				next.owner = Nobody
			}
		case Deny:
			ok = !live || s.owner != o.Client
			if s.owner == o.Client {
				next.owner = Nobody
			}
		}
		if ok && anyTimes(operations[1:], next) {
			return true
		}
	}
	return false
}
