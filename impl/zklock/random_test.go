package zklock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-sim/lockstep/impl"
)

// TestRandomInterleavings plays scripts drawn from seeds: three owners lock, enter again and unlock while messages are
// executed, lost, held back and delayed past the end of a session. The repaired lock must keep every law below; each
// lock that lacks a safeguard must be seen to break one, or the laws would prove nothing.
func TestRandomInterleavings(t *testing.T) {
	const seeds, seedsToBreak = 300, 10_000
	entry := repairedEntry()
	t.Run("whole", func(t *testing.T) {
		for seed := range uint64(seeds) {
			if law := playRandomly(t, entry.Name, seed); law != "" {
				t.Fatalf("seed %d: %s", seed, law)
			}
		}
	})
	for _, ablation := range entry.Ablations {
		t.Run(ablation.Name, func(t *testing.T) {
			for seed := range uint64(seedsToBreak) {
				if law := playRandomly(t, entry.Name+"!"+ablation.Name, seed); law != "" {
					t.Logf("seed %d: %s", seed, law)
					return
				}
			}
			t.Errorf("%d seeds broke no law", seedsToBreak)
		})
	}
}

// caller is what one owner knows and must be able to rely on.
type caller struct {
	*player
	levels   int       // successful locks less successful unlocks
	deadline time.Time // of the hold when the call under way was made
	what     string    // the call under way
	result   chan error
	repeat   bool // the last unlock had an unknown result
}

// randomPlay is a play and the laws it is watched by.
type randomPlay struct {
	*play
	random  *rand.Rand
	callers []*caller
	highest int64 // token
	broken  string
}

// playRandomly plays one seed and returns the first law that was broken, "" for none.
func playRandomly(t *testing.T, entryName string, seed uint64) (law string) {
	synctest.Test(t, func(t *testing.T) {
		r := &randomPlay{play: newPlay(t), random: rand.New(rand.NewPCG(seed, 0))}
		defer r.close()
		r.begin(entryName, seed)
		for range 80 {
			r.turn(r.callers[r.random.IntN(len(r.callers))])
			r.settle()
		}
		r.finish(entryName)
		law = r.broken
	})
	return law
}

// begin makes the directory, with nodes that are nobody's and a counter near its end in some seeds, and the callers. In
// some seeds two of them share an object, and one has another prefix.
func (r *randomPlay) begin(entryName string, seed uint64) {
	for _, path := range []string{"/job", "/job/lock-0000000000", "/job/a-0000000001", "/job/config"} {
		if path == "/job" || seed%3 == 0 {
			r.must(r.do("make", []string{path}))
		}
	}
	counter := []string{"/job", "2"}
	if seed%4 == 1 {
		counter[1] = "2147483646"
	}
	r.must(r.do("counter", counter))
	r.must(r.create("A", entryName, nil))
	if seed%5 == 0 {
		r.must(r.share("B", "A"))
	} else {
		r.must(r.create("B", entryName, nil))
	}
	var options []string
	if seed%7 < 2 {
		options = []string{"node=a-"}
	}
	r.must(r.create("C", entryName, options))
	for _, name := range []string{"A", "B", "C"} {
		r.callers = append(r.callers, &caller{player: r.players[name], result: make(chan error, 1)})
	}
}

func (r *randomPlay) must(err error) {
	if err != nil {
		r.t.Fatal(err)
	}
}

// turn lets one thing happen.
func (r *randomPlay) turn(c *caller) {
	l := c.link
	switch draw := r.random.IntN(40); {
	case draw == 0:
		r.pass(time.Duration(r.random.Int64N(int64(12 * time.Second))))
	case draw < 4:
		r.pass(time.Duration(r.random.Int64N(int64(500 * time.Millisecond))))
	case draw == 4:
		r.pass(50 * time.Microsecond)
	case draw == 5:
		l.cut = true
	case l.cut && draw < 10:
		l.cut = false
	case draw == 6 && !l.down:
		l.disconnect()
	case l.down && draw < 16:
		l.reconnect()
	case draw == 7 && c.what != "" && c.cancel != nil:
		c.cancel()
	case l.down || l.cut && draw < 30:
	case len(l.way) > 0 && draw < 28:
		l.arrive()
	case len(l.pending()) > 0 && !l.cut && draw < 36:
		_, err := l.execute()
		r.must(err)
		if len(l.way) == 1 && draw < 32 {
			l.arrive()
		}
	case c.what == "" && draw < 38:
		r.call(c)
	}
	for _, l := range r.links {
		l.fetchEvents()
	}
}

// call begins a call. A caller is honest: it unlocks as often as it locked, and repeats an unlock that it knows nothing
// of.
func (r *randomPlay) call(c *caller) {
	ctx, quit := context.WithCancel(context.Background())
	c.cancel = quit
	lock, unlock := c.lock, c.repeat || c.levels > 0 && r.random.IntN(2) == 0
	kind, wait := r.random.IntN(4), time.Duration(r.random.Int64N(int64(3*time.Second)))
	if r.holds(c) {
		c.deadline = lock.(impl.Leased).Deadline()
	}
	switch {
	case unlock:
		c.what = "unlock"
		go func() { c.result <- lock.Unlock(ctx) }()
	case c.levels < 3:
		c.what = "lock"
		go func() { c.result <- acquire(ctx, lock, kind, wait) }()
	}
}

func acquire(ctx context.Context, lock impl.Lock, kind int, wait time.Duration) error {
	var won bool
	var err error
	switch kind {
	case 0:
		won, err = lock.TryLock(ctx)
	case 1:
		won, err = lock.TryLockFor(ctx, wait)
	default:
		return lock.Lock(ctx)
	}
	if err == nil && !won {
		return errDenied
	}
	return err
}

var errDenied = errors.New("denied")

func (r *randomPlay) holds(c *caller) bool { return !c.lock.(impl.Leased).Deadline().IsZero() }

// settle waits until nobody can move and checks the laws.
func (r *randomPlay) settle() {
	synctest.Wait()
	for _, c := range r.callers {
		select {
		case err := <-c.result:
			r.returned(c, err)
		default:
		}
	}
	var inside []string
	for _, c := range r.callers {
		if r.inside(c) {
			inside = append(inside, fmt.Sprintf("%s with token %d", c.name, c.lock.(impl.Fenced).Token()))
		}
		if r.holds(c) && c.left() <= 0 && !isLost(c.lock) && c.what != "unlock" && !c.repeat {
			r.breaks("%s is past its deadline and not told", c.name)
		}
	}
	if len(inside) > 1 {
		r.breaks("inside at once: %s", strings.Join(inside, " and "))
	}
}

// left is what is left of the hold by the caller's clock.
func (c *caller) left() time.Duration {
	return c.link.p.clock.Until(c.lock.(impl.Leased).Deadline())
}

// inside tells whether a caller works under the lock: it has not begun its last unlock, and its deadline is ahead.
func (r *randomPlay) inside(c *caller) bool {
	leaving := c.levels == 1 && (c.what == "unlock" || c.repeat)
	return c.levels > 0 && !leaving && (!r.holds(c) || c.left() > 0 && !isLost(c.lock))
}

// returned takes note of what a call came to.
func (r *randomPlay) returned(c *caller, err error) {
	switch what := c.what; {
	case what == "lock" && err == nil:
		c.levels++
		token := c.lock.(impl.Fenced).Token()
		if c.levels == 1 && token <= r.highest {
			r.breaks("%s begins a hold with token %d after %d", c.name, token, r.highest)
		}
		r.highest = max(r.highest, token)
	case what == "unlock" && (err == nil || errors.Is(err, impl.ErrLost)):
		c.levels--
	case what == "unlock" && errors.Is(err, impl.ErrNotOwner):
		r.breaks("%s may not unlock what it locked", c.name)
	}
	known := err == nil || errors.Is(err, impl.ErrLost) || errors.Is(err, impl.ErrNotOwner)
	c.repeat = c.what == "unlock" && !known
	c.what = ""
}

func (r *randomPlay) breaks(format string, args ...any) {
	if r.broken == "" {
		r.broken = fmt.Sprintf(format, args...)
	}
}

// finish heals the network and lets everybody unlock. Then the lock must be free for who comes.
func (r *randomPlay) finish(entryName string) {
	for range 60 {
		for _, l := range r.links {
			r.heal(l)
		}
		for _, c := range r.callers {
			r.settle()
			if c.what == "" && c.levels > 0 {
				ctx, quit := context.WithCancel(context.Background())
				c.what, c.cancel = "unlock", quit
				go func() { c.result <- c.lock.Unlock(ctx) }()
				r.settle()
			}
		}
		r.pass(50 * time.Millisecond)
		r.settle()
	}
	r.must(r.create("D", entryName, nil))
	newcomer := r.players["D"]
	got := make(chan bool, 1)
	ctx, quit := context.WithCancel(context.Background())
	newcomer.cancel = quit
	go func() {
		held, _ := newcomer.lock.TryLock(ctx)
		got <- held
	}()
	synctest.Wait()
	r.must(r.step(newcomer, 20))
	synctest.Wait()
	select {
	case held := <-got:
		if !held {
			r.breaks("nobody holds the lock and it is not free:\n%s", r.server.render())
		}
	default:
		r.breaks("a try does not come to an end")
	}
}

// heal connects a client and delivers whatever there is.
func (r *randomPlay) heal(l *link) {
	l.cut = false
	if l.down {
		l.reconnect()
	}
	for range 20 {
		l.fetchEvents()
		for len(l.way) > 0 {
			l.arrive()
			r.settle()
		}
		if len(l.pending()) == 0 {
			break
		}
		_, err := l.execute()
		r.must(err)
	}
	r.settle()
}
