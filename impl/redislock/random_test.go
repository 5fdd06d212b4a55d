package redislock

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
// executed, lost, held back and delayed past the lease. The locks must keep every law below; each lock that lacks a
// safeguard must be seen to break one, or the laws would prove nothing.
func TestRandomInterleavings(t *testing.T) {
	const seeds, seedsToBreak = 60, 500
	for _, entry := range []impl.Entry{repairedEntry(), setNXEntry(), pubSubEntry(), redlockEntry()} {
		t.Run(strings.ReplaceAll(entry.Name, "/", " "), func(t *testing.T) {
			for seed := range uint64(seeds) {
				if law := playRandomly(t, entry.Name, seed); law != "" {
					t.Fatalf("seed %d: %s", seed, law)
				}
			}
		})
		for _, ablation := range entry.Ablations {
			if keepsEveryLaw[ablation.Name] {
				continue
			}
			name := entry.Name + "!" + ablation.Name
			t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
				for seed := range uint64(seedsToBreak) {
					if law := playRandomly(t, name, seed); law != "" {
						t.Logf("seed %d: %s", seed, law)
						return
					}
				}
				t.Errorf("%d seeds broke no law", seedsToBreak)
			})
		}
	}
}

// keepsEveryLaw has the safeguards whose lack no law here notices, or only in very many seeds: waiters that sleep too
// long, clocks that go wrong otherwise than by an offset, and what several servers have to do at the right moment.
// Scripts and scenarios notice.
var keepsEveryLaw = map[string]bool{
	subscribeLate: true, noFallbackTimer: true, publishBeforeDelete: true, brokenSubscriptionIgnored: true,
	wallClockValidity: true, noDriftAllowance: true,
	answersCounted: true, idReused: true, extensionWithoutQuorum: true,
}

// caller is what one owner knows and must be able to rely on.
type caller struct {
	*player
	levels   int64     // successful locks less successful unlocks
	deadline time.Time // of the hold when the call under way was made
	what     string    // the call under way
	result   chan error
	got      bool
	repeat   bool // the last unlock had an unknown result
}

// randomPlay is a play and the laws it is watched by.
type randomPlay struct {
	*play
	random  *rand.Rand
	callers []*caller
	tokens  map[int64]*caller // who had which token
	highest int64
	broken  string
}

// playRandomly plays one seed and returns the first law that was broken, "" for none.
func playRandomly(t *testing.T, entryName string, seed uint64) (law string) {
	synctest.Test(t, func(t *testing.T) {
		r := &randomPlay{play: newPlay(t), random: rand.New(rand.NewPCG(seed, 0)), tokens: map[int64]*caller{}}
		defer r.close()
		// B's wall clock is ahead, and it often has the identity of A.
		turns := 0
		options := [][]string{{"owner=a/1/1"}, {"owner=b/1/1", "clock=1h"}, {"owner=c/1/1"}}
		if seed%2 == 0 {
			options[1][0] = options[0][0]
		}
		for i, name := range []string{"A", "B", "C"} {
			if !strings.HasPrefix(entryName, "redis/getset") && seed%3 == 0 {
				options[i] = append(options[i], "knob=renew:on")
			}
			turns = 60
			if strings.HasPrefix(entryName, "redis/redlock") {
				options[i] = append(options[i], "servers=3")
				turns = 240 // a call is many messages
			}
			if err := r.create(name, entryName, options[i]); err != nil {
				t.Fatal(err)
			}
			r.callers = append(r.callers, &caller{player: r.players[name], result: make(chan error, 1)})
		}
		for range turns {
			r.turn(r.callers[r.random.IntN(len(r.callers))])
			r.settle()
		}
		r.finish(entryName)
		law = r.broken
	})
	return law
}

// turn lets one thing happen.
func (r *randomPlay) turn(c *caller) {
	switch draw := r.random.IntN(20); {
	case draw == 0:
		r.pass(time.Duration(r.random.Int64N(int64(12 * time.Second))))
	case draw < 3:
		r.pass(time.Duration(r.random.Int64N(int64(200 * time.Millisecond))))
	case draw == 6 && len(c.heard()) > 0:
		r.listen(c.player, []string{"hear", "hear", "miss", "break"}[r.random.IntN(4)])
	case len(c.kept) > 0 && draw < 12:
		r.deliver(c.player, "answer", "")
	case len(c.pending()) > 0 && draw == 3:
		r.deliver(c.player, "lose", "")
	case len(c.waiting) > 0 && draw == 4:
		r.deliver(c.player, "drop", "")
	case len(c.waiting) > 0 && draw == 5:
		r.deliver(c.player, "execute", "")
	case len(c.waiting) > 0:
		r.deliver(c.player, "answer now", "")
	case c.what == "":
		r.begin(c)
	}
}

// pass lets time pass on every clock.
func (r *randomPlay) pass(d time.Duration) {
	if err := r.passTime("advance", []string{d.String()}); err != nil {
		r.t.Fatal(err)
	}
}

// begin makes a call. A caller is honest: it unlocks as often as it locked, and repeats an unlock that it knows
// nothing of.
func (r *randomPlay) begin(c *caller) {
	lock, unlock := c.lock, c.repeat || c.levels > 0 && r.random.IntN(2) == 0
	wait := time.Duration(r.random.Int64N(int64(time.Second)))
	c.deadline = lock.(impl.Leased).Deadline()
	switch {
	case unlock:
		c.what = "unlock"
		go func() { c.result <- lock.Unlock(context.Background()) }()
	case c.levels < 3:
		c.what = "lock"
		go func() {
			var err error
			if c.got, err = lock.TryLockFor(context.Background(), wait); err == nil && !c.got {
				err = errDenied
			}
			c.result <- err
		}()
	}
}

var errDenied = errors.New("denied")

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
			inside = append(inside, c.name)
		}
		if lost := c.lock.(impl.Lossy).Lost(); lost != nil && c.left() <= 0 {
			select {
			case <-lost:
			default:
				r.breaks("%s is past its deadline and not told", c.name)
			}
		}
	}
	// Whoever crashes now must not leave anything for good.
	for _, key := range []string{"job", "job:hold"} {
		for _, s := range r.all() {
			if s.store.Exists(key) && s.store.TTL(key) <= 0 {
				r.breaks("%s stays for good", key)
			}
		}
	}
	if len(inside) > 1 {
		r.breaks("inside at once: %s", strings.Join(inside, " and "))
	}
}

// left is what is left of the hold by the caller's clock.
func (c *caller) left() time.Duration { return c.clock.Until(c.lock.(impl.Leased).Deadline()) }

// inside tells whether a caller works under the lock: it has not begun its last unlock, and its deadline is ahead.
func (r *randomPlay) inside(c *caller) bool {
	leaving := c.what == "unlock" && c.levels == 1
	return c.levels > 0 && !leaving && !c.lock.(impl.Leased).Deadline().IsZero() && c.left() > 0
}

// returned takes note of what a call came to.
func (r *randomPlay) returned(c *caller, err error) {
	switch what := c.what; {
	case what == "lock" && err == nil:
		c.levels++
		fenced, ok := c.lock.(impl.Fenced)
		if !ok {
			break
		}
		if c.levels == 1 && fenced.Token() <= r.highest {
			r.breaks("%s begins a hold with token %d after %d", c.name, fenced.Token(), r.highest)
		}
		r.highest = max(r.highest, fenced.Token())
	case what == "unlock" && (err == nil || errors.Is(err, impl.ErrLost)):
		c.levels--
		if err != nil && c.clock.Until(c.deadline) > 0 {
			r.breaks("%s lost its hold before the deadline: %v", c.name, err)
		}
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

// finish heals the network and lets everybody unlock. Then the lock must be free for who comes, well before any lease
// has run out.
func (r *randomPlay) finish(entryName string) {
	for range 40 {
		for _, c := range r.callers {
			for len(c.kept) > 0 {
				r.deliver(c.player, "answer", "")
			}
			for len(c.pending()) > 0 {
				r.deliver(c.player, "answer now", "")
			}
			for len(c.heard()) > 0 {
				r.listen(c.player, "hear")
			}
			r.settle()
			if c.what == "" && c.levels > 0 {
				c.what, c.deadline = "unlock", c.lock.(impl.Leased).Deadline()
				go func() { c.result <- c.lock.Unlock(context.Background()) }()
				r.settle()
			}
		}
		r.pass(50 * time.Millisecond)
		r.settle()
	}
	if err := r.create("D", entryName, nil); err != nil {
		r.t.Fatal(err)
	}
	newcomer := r.players["D"]
	got := make(chan bool, 1)
	go func() {
		held, _ := newcomer.lock.TryLock(context.Background())
		got <- held
	}()
	synctest.Wait()
	r.step(newcomer, 9, "")
	synctest.Wait()
	if !<-got {
		r.breaks("nobody holds the lock and it is not free")
	}
}
