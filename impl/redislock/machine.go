package redislock

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// leaseKnobs are the knobs of every leased lock here.
var leaseKnobs = []impl.Knob{
	{Name: "retry", Default: "10ms", About: "the first pause between two attempts; each further pause is twice as long"},
	{Name: "retry-max", Default: "160ms", About: "the longest pause between two attempts"},
	{Name: "drift", Default: "10000", About: "how much a clock may go wrong, in parts per million of the lease"},
}

// machine is what the leased locks here have in common: their server, their clock and how they wait.
type machine struct {
	redis     impl.Redis
	clock     clockwork.Clock
	random    io.Reader
	start     func(func())
	lease     time.Duration
	allowance time.Duration // how much earlier than the lease an owner takes its hold as over
	retry     time.Duration
	retryMax  time.Duration
}

// expiryPrecision is how inexactly a server ends a lease: it counts milliseconds, and one more is for good measure.
const expiryPrecision = 2 * time.Millisecond

func newMachine(entry impl.Entry, env impl.Environment, settings impl.Settings) (machine, *impl.KnobReader, error) {
	if err := checkEnvironment(entry, env); err != nil {
		return machine{}, nil, err
	}
	if err := checkSettings(entry, settings); err != nil {
		return machine{}, nil, err
	}
	knobs := entry.ReadKnobs(settings)
	m := machine{
		redis: env.Redis, clock: env.Clock, random: env.Random, start: env.Go,
		lease:    settings.Lease.Truncate(time.Millisecond), // the server's unit
		retry:    knobs.Duration("retry", time.Millisecond, time.Hour),
		retryMax: knobs.Duration("retry-max", time.Millisecond, time.Hour),
	}
	drift := knobs.Integer("drift", 0, 999_999)
	m.allowance = m.lease/1_000_000*time.Duration(drift) + expiryPrecision
	if err := knobs.Err(); err != nil {
		return machine{}, nil, err
	}
	if m.lease <= m.allowance {
		return machine{}, nil, fmt.Errorf("%s: of a lease of %v, %v are kept back for the clocks and nothing is left; "+
			"take a longer lease", entry.Name, settings.Lease, m.allowance)
	}
	return m, knobs, nil
}

// newID draws a name that no other hold has.
func (m *machine) newID() (string, error) {
	var id [16]byte
	if _, err := io.ReadFull(m.random, id[:]); err != nil {
		return "", fmt.Errorf("redislock: drawing the id of a hold: %w", err)
	}
	return hex.EncodeToString(id[:]), nil
}

// deadline is when an owner has to take a hold as over: what the server granted, counted from before the request,
// less the allowance.
func (m *machine) deadline(asked time.Time, granted time.Duration) time.Time {
	return asked.Add(min(granted, m.lease) - m.allowance)
}

// outcome is what came of an attempt that was answered.
type outcome int

const (
	denied  outcome = iota // somebody else holds the lock
	granted                // it is ours
	tooLate                // granted, too late to be of use, and being given back
)

// attempt tries once to begin a hold of the given id. With denied, hint is how long the rival's lease still runs, 0
// where that is not known.
type attempt func(ctx context.Context, id string) (came outcome, hint time.Duration, err error)

// once makes one attempt.
func (m *machine) once(ctx context.Context, try attempt) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	id, err := m.newID()
	if err != nil {
		return false, err
	}
	came, _, err := try(ctx, id)
	return came == granted, err
}

// poll repeats an attempt until it is granted, fails, or ctx ends; with limited also until wait is over, but then
// once more. Pauses double from retry to retryMax and are shortened by chance to between half and all of that, so that
// contenders do not march in step; none outlasts the rival's lease or the wait.
func (m *machine) poll(ctx context.Context, limited bool, wait time.Duration, try attempt) (bool, error) {
	started := m.clock.Now()
	var id string
	for pause := m.retry; ; pause = min(2*pause, m.retryMax) {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		var err error
		if id == "" {
			if id, err = m.newID(); err != nil {
				return false, err
			}
		}
		came, hint, err := try(ctx, id)
		if came == granted || err != nil {
			return came == granted, err
		}
		if came == tooLate {
			id = "" // a release of that id may still be under way, and would end the next hold of the same id
		}
		rest, err := m.shorten(pause)
		if err != nil {
			return false, err
		}
		if hint > 0 {
			rest = min(rest, hint)
		}
		if limited {
			left := wait - m.clock.Since(started)
			if left <= 0 {
				return false, nil
			}
			rest = min(rest, left)
		}
		if err := m.rest(ctx, rest); err != nil {
			return false, err
		}
	}
}

// shorten draws a pause from the upper half of the given one.
func (m *machine) shorten(pause time.Duration) (time.Duration, error) {
	var draw [8]byte
	if _, err := io.ReadFull(m.random, draw[:]); err != nil {
		return 0, fmt.Errorf("redislock: drawing a pause: %w", err)
	}
	part, _ := bits.Mul64(uint64(pause/2), binary.BigEndian.Uint64(draw[:])) // a fraction of the half, in integers
	return pause - time.Duration(part), nil
}

// rest waits for d on the machine's clock, or until ctx ends, which has precedence.
func (m *machine) rest(ctx context.Context, d time.Duration) error {
	timer := m.clock.NewTimer(d)
	defer timer.Stop()
	// ranked: the error of ctx is returned even where the timer fired too
	select {
	case <-timer.Chan():
	case <-ctx.Done():
	}
	return ctx.Err()
}

// insist sends something that must reach the server, in the background and apart from any caller's context, until it
// is answered or the lease that it is about is over anyway.
func (m *machine) insist(send func(ctx context.Context) error) {
	m.start(func() {
		started := m.clock.Now()
		for pause := m.retry; ; pause = min(2*pause, m.retryMax) {
			if send(context.Background()) == nil || m.clock.Since(started) >= m.lease {
				return
			}
			m.clock.Sleep(pause)
		}
	})
}

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// without tells whether a safeguard is switched off.
func without(settings impl.Settings, ablation string) bool {
	return slices.Contains(settings.Ablations, ablation)
}
