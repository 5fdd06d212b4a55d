package redislock

import (
	"context"
	"fmt"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// PubSub is SetNX with waiters that listen instead of asking again and again: the script that frees the key also
// publishes on the channel NAME:released, and whoever was refused sleeps until it hears of that.
//
// Messages of Redis are kept for nobody: who is not subscribed at the moment, or whose connection breaks, misses them,
// and a key whose lease ends by itself publishes nothing. So a message is a hint and never a grant: a waiter asks once
// more after it has subscribed and after each message, and it sleeps no longer than the lease that it was refused for
// still ran. Where it cannot subscribe it polls as SetNX does.
//
// Each message wakes every waiter, and each of them sends one request. The client must be an impl.RedisSubscriber.
type PubSub struct {
	*SetNX
	subscriber impl.RedisSubscriber
	channel    string
	seize      *script // an ablation's
}

var (
	_ impl.Lock   = (*PubSub)(nil)
	_ impl.Holder = (*PubSub)(nil)
	_ impl.Fenced = (*PubSub)(nil)
	_ impl.Leased = (*PubSub)(nil)
	_ impl.Lossy  = (*PubSub)(nil)
)

func pubSubEntry() impl.Entry {
	entry := impl.Entry{
		Name:      "redis/pubsub",
		Backend:   "redis",
		About:     "SET NX PX whose waiters subscribe to a channel and are woken by the unlock",
		Promises:  impl.Promises{Fenced: true, Leased: true, LossTold: true},
		Knobs:     setNXEntry().Knobs,
		Ablations: pubSubAblations,
	}
	entry.New = func(env impl.Environment, settings impl.Settings) (impl.Lock, error) {
		return newPubSub(entry, env, settings)
	}
	return entry
}

// NewPubSub makes a handle on the lock that waits for messages. It connects nothing yet.
func NewPubSub(env impl.Environment, settings impl.Settings) (*PubSub, error) {
	return newPubSub(pubSubEntry(), env, settings)
}

func newPubSub(entry impl.Entry, env impl.Environment, settings impl.Settings) (*PubSub, error) {
	plain, err := newSetNX(entry, env, settings)
	if err != nil {
		return nil, err
	}
	l := &PubSub{SetNX: plain, channel: settings.Name + ":released"}
	var able bool
	if l.subscriber, able = env.Redis.(impl.RedisSubscriber); !able {
		return nil, fmt.Errorf("%s: Environment.Redis cannot subscribe; give it an impl.RedisSubscriber, such as "+
			"FromGoRedis makes of a *redis.Client", entry.Name)
	}
	if l.off(publishBeforeDelete) {
		l.announce = func(ctx context.Context, id string) error {
			_, err := l.redis.Do(ctx, "PUBLISH", l.channel, id)
			return err
		}
	} else {
		l.scripts.release = pubSubRelease()
	}
	if l.off(messageIsGrant) {
		l.seize = newScript("the seizing script", pubSubSeize)
	}
	return l, nil
}

// Lock blocks until the lock is held, ctx ends, or an error leaves the outcome unknown.
func (l *PubSub) Lock(ctx context.Context) error {
	if l.hold != nil {
		return l.explain("lock", l.inTheWay(impl.ErrHeld))
	}
	_, err := l.listen(ctx, false, 0)
	return err
}

// TryLockFor keeps trying for wait on the machine's monotonic clock, with at least one attempt. An attempt that is
// under way when wait is over is brought to its end. The holder is refused at once.
func (l *PubSub) TryLockFor(ctx context.Context, wait time.Duration) (bool, error) {
	if l.hold != nil {
		return false, l.explain("lock", l.inTheWay(nil))
	}
	return l.listen(ctx, true, wait)
}

// listen repeats attempts until one is granted or fails, ctx ends or, with limited, wait is over; between them it
// listens.
func (l *PubSub) listen(ctx context.Context, limited bool, wait time.Duration) (bool, error) {
	started := l.clock.Now()
	id, err := l.newID()
	if err != nil {
		return false, err
	}
	var ear *listener // nil while there is no subscription
	defer func() { ear.close() }()
	woken := false
	for pause := l.retry; ; pause = min(2*pause, l.retryMax) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		came, hint, err := l.ask(ctx, l.scriptFor(woken), id)
		if came == granted || err != nil {
			return came == granted, err
		}
		if came == tooLate { // a release of that id may still be under way
			if id, err = l.newID(); err != nil {
				return false, err
			}
		}
		left := wait - l.clock.Since(started)
		if limited && left <= 0 {
			return false, nil
		}
		if ear.isOver() {
			if ear = l.subscribe(ctx); ear != nil && !l.off(subscribeLate) {
				continue // what was published before was not heard
			}
		}
		rest, err := l.patience(ear != nil, pause, hint)
		if err != nil {
			return false, err
		}
		if limited {
			rest = min(rest, left)
		}
		woken = ear.wait(ctx, l.clock, rest)
	}
}

// scriptFor is the script of the next attempt.
func (l *PubSub) scriptFor(woken bool) *script {
	if woken && l.seize != nil {
		return l.seize
	}
	return l.scripts.acquire
}

// forEver is how long one waits who trusts that every message arrives.
const forEver = 1000 * time.Hour

// patience is how long to sleep when nothing is heard. hint is how long the rival's lease still runs, 0 = not known.
func (l *PubSub) patience(listening bool, pause, hint time.Duration) (time.Duration, error) {
	switch {
	case listening && l.off(noFallbackTimer):
		return forEver, nil
	case listening && hint > 0:
		return hint, nil
	}
	rest, err := l.shorten(pause)
	if hint > 0 {
		rest = min(rest, hint)
	}
	return rest, err
}

// subscribe returns nil when the server cannot be reached now.
func (l *PubSub) subscribe(ctx context.Context) *listener {
	subscription, err := l.subscriber.Subscribe(ctx, l.channel)
	if err != nil {
		return nil
	}
	ear := &listener{subscription: subscription, heard: make(chan struct{}, 1), over: make(chan struct{})}
	ear.deaf = l.off(brokenSubscriptionIgnored)
	l.start(ear.run)
	return ear
}

// listener turns messages into wake-ups for one waiter. A nil listener hears nothing.
type listener struct {
	subscription impl.Subscription
	heard        chan struct{} // one slot: any number of messages is one reason to ask again
	over         chan struct{} // closed when the subscription has ended
	deaf         bool          // an ablation: the end is not noticed
}

// run receives messages until the subscription ends. What they say does not matter.
func (e *listener) run() {
	defer close(e.over)
	for {
		if _, err := e.subscription.Receive(); err != nil {
			return
		}
		select {
		case e.heard <- struct{}{}:
		default:
		}
	}
}

// isOver tells whether there is no subscription, or none any more.
func (e *listener) isOver() bool {
	if e == nil {
		return true
	}
	select {
	case <-e.over:
		return !e.deaf
	default:
		return false
	}
}

// wait sleeps for d, until a message has been heard, until the subscription is over, or until ctx ends. It tells
// whether a message was heard.
func (e *listener) wait(ctx context.Context, clock clockwork.Clock, d time.Duration) bool {
	timer := clock.NewTimer(d)
	defer timer.Stop()
	var heard, over <-chan struct{}
	if e != nil {
		heard = e.heard
		if !e.deaf {
			over = e.over
		}
	}
	// ranked: whatever ends the wait, the next thing is to ask again, and ctx is looked at before that
	select {
	case <-heard:
		return true
	case <-over:
	case <-timer.Chan():
	case <-ctx.Done():
	}
	return false
}

func (e *listener) close() {
	if e != nil {
		e.subscription.Close()
	}
}
