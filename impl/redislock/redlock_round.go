package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lockstep-sim/lockstep/impl"
)

// question is put to one server, which answers with one of the definite replies.
type question func(ctx context.Context, server impl.Redis) (int64, error)

// reply is what came of a question to one server.
type reply int

// The replies. The definite ones are what scripts return.
const (
	no     reply = iota // the key is another's, or there is none
	yes                 // the key is ours, or was
	anew                // the key was gone and is ours again
	silent              // nothing was heard yet
	failed              // an error: nobody knows what the server did
)

// definite tells whether the server has said what it did.
func (r reply) definite() bool { return r == no || r == yes || r == anew }

// answer is one answer to a question; a server that is asked twice may give two.
type answer struct {
	server int
	reply  reply
	err    error
}

// round is one question put to several servers.
type round struct {
	lock     *Redlock
	question question
	answers  chan answer // has room for all that can come, so that nobody waits to answer
	replies  []reply     // by server
	pending  []int       // answers that are due, by server
	heard    int         // answers that said yes, of whatever server
	last     error       // the last error of a server
}

// ask puts a question to some servers and gathers what they answer in time. With again, those that stay silent for half
// of the time are asked once more. Answers that come later stay in the round: see giveBackLate.
func (l *Redlock) ask(ctx context.Context, servers []int, q question, again bool) *round {
	r := &round{
		lock: l, question: q, answers: make(chan answer, 2*len(l.servers)),
		replies: make([]reply, len(l.servers)), pending: make([]int, len(l.servers)),
	}
	for i := range r.replies {
		r.replies[i] = silent
	}
	for _, i := range servers {
		if ctx.Err() != nil {
			break
		}
		r.put(i)
		if l.sequential {
			r.gather(ctx, []int{i}, again)
		}
	}
	if !l.sequential {
		r.gather(ctx, servers, again)
	}
	return r
}

// put asks one server. The request does not end with its asker's context or patience: what became of it must be known.
func (r *round) put(server int) {
	r.pending[server]++
	r.lock.start(func() {
		a := answer{server: server, reply: failed}
		defer func() { r.answers <- a }() // also when the goroutine is ended: somebody counts on it
		value, err := r.question(context.Background(), r.lock.servers[server])
		switch a.err = err; {
		case err == nil:
			a.reply = reply(value)
		case refused(err):
			a.reply = no
		}
	})
}

// gather takes answers until none of these servers is left whose answer would say something new, or time is up.
func (r *round) gather(ctx context.Context, servers []int, again bool) {
	l := r.lock
	started, limit := l.clock.Now(), l.askTimeout
	if again {
		limit /= 2
	}
	for slices.ContainsFunc(servers, r.owes) {
		left := limit - l.clock.Since(started)
		if left <= 0 && !again {
			return
		}
		if left <= 0 {
			again, limit = false, l.askTimeout
			r.repeat(servers)
			continue
		}
		timer := l.clock.NewTimer(left)
		// ranked: time is looked at again above, and the end of ctx ends the round whatever else has come
		select {
		case a := <-r.answers:
			r.take(a)
		case <-timer.Chan():
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// owes tells whether a server owes an answer that matters.
func (r *round) owes(server int) bool {
	return r.pending[server] > 0 && (!r.replies[server].definite() || r.lock.off(answersCounted))
}

// repeat asks those once more that are silent.
func (r *round) repeat(servers []int) {
	for _, i := range servers {
		if r.pending[i] > 0 && r.replies[i] == silent {
			r.put(i)
		}
	}
}

// take notes an answer. A definite one is not replaced by an error.
func (r *round) take(a answer) {
	r.pending[a.server]--
	if a.err != nil {
		r.last = a.err
	}
	if a.reply == yes {
		r.heard++
	}
	if !r.replies[a.server].definite() || a.reply == yes {
		r.replies[a.server] = a.reply
	}
}

// votes is how many servers have said yes.
func (r *round) votes() int {
	if r.lock.off(answersCounted) {
		return r.heard
	}
	return r.count(yes)
}

func (r *round) count(what reply) int {
	n := 0
	for _, came := range r.replies {
		if came == what {
			n++
		}
	}
	return n
}

// unanswered is of how many servers nobody knows what they did.
func (r *round) unanswered() int { return r.count(silent) + r.count(failed) }

// giveBackLate waits in the background for the answers that did not come in time and, once the hold is over that they
// were for, has the key deleted where it may have been set since.
func (r *round) giveBackLate(id string, over func() bool) {
	due := 0
	for _, n := range r.pending {
		due += n
	}
	if due == 0 {
		return
	}
	r.lock.start(func() {
		for range due {
			if a := <-r.answers; a.reply != no && over() {
				r.lock.clean(a.server, id)
			}
		}
	})
}

// errSilent is why a server did not answer of which nothing was heard.
var errSilent = errors.New("nothing was heard in time")

// shortfall is the error of a round in which too few servers answered.
func (r *round) shortfall(ctx context.Context) error {
	why := ctx.Err()
	if why == nil {
		why = r.last
	}
	if why == nil {
		why = errSilent
	}
	return fmt.Errorf("%d of %d servers did not answer: %w", r.unanswered(), len(r.replies), why)
}
