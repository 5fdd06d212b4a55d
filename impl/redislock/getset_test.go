package redislock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/timeserver"
)

// transcript records the commands and questions of a lock and answers the questions from a list, the last for good.
type transcript struct {
	redis impl.Redis
	times []int64
	lines []string
}

func (r *transcript) Do(ctx context.Context, args ...any) (any, error) {
	reply, err := r.redis.Do(ctx, args...)
	r.lines = append(r.lines, strings.TrimSuffix(fmt.Sprintln(args...), "\n"))
	return reply, err
}

func (r *transcript) Millis(context.Context) (int64, error) {
	now := r.times[0]
	if len(r.times) > 1 {
		r.times = r.times[1:]
	}
	r.lines = append(r.lines, "T")
	return now, nil
}

// TestGetSetCommands compares every command of every method, on both servers, with what the published program sends.
func TestGetSetCommands(t *testing.T) {
	const lease = 10_000
	mine := func(count, expires int64) string {
		record := newRecord(publishedOwner, expires)
		record.Count = count
		return record.String()
	}
	theirs := func(expires int64) string {
		return newRecord(impl.Owner{Machine: "00-00-00-00-00-01", Process: 1, Thread: 2}, expires).String()
	}
	ctx := context.Background()
	lock := func(l *GetSet) (any, error) { return nil, l.Lock(ctx) }
	interruptibly := func(l *GetSet) (any, error) { return nil, l.LockInterruptibly(ctx) }
	try := func(l *GetSet) (any, error) { return l.TryLock(ctx) }
	tryFor := func(l *GetSet) (any, error) { return l.TryLockFor(ctx, time.Second) }
	tryNegative := func(l *GetSet) (any, error) { return l.TryLockFor(ctx, -time.Second) }
	unlock := func(l *GetSet) (any, error) { return nil, l.Unlock(ctx) }
	held := func(l *GetSet) (any, error) { return l.Held(ctx) }
	locked := func(l *GetSet) (any, error) { return l.IsLocked(ctx) }
	lockedAfterSuccess := func(l *GetSet) (any, error) {
		l.locked = true
		return l.IsLocked(ctx)
	}
	for _, test := range []struct {
		name   string
		before string // the record, "" for none
		times  []int64
		call   func(l *GetSet) (any, error)
		lines  []string
		result any
		fails  error
		after  string
	}{
		{
			name: "lock, free", times: []int64{100}, call: lock,
			lines: []string{"T", "SETNX job " + mine(1, 10101)}, after: mine(1, 10101),
		},
		{
			name: "lock interruptibly, own: the deadline by the last of three times", before: mine(1, 500),
			times: []int64{100, 200, 300}, call: interruptibly,
			lines: []string{"T", "SETNX job " + mine(1, 10101), "GET job", "T", "T", "SET job " + mine(2, 10301)},
			after: mine(2, 10301),
		},
		{
			name: "lock, dead: the record by the first time, judged by the others", before: theirs(150),
			times: []int64{100, 151, 152}, call: lock,
			lines: []string{"T", "SETNX job " + mine(1, 10101), "GET job", "T", "GETSET job " + mine(1, 10101), "T"},
			after: mine(1, 10101),
		},
		{
			name: "a deadline that is now is not over", before: theirs(150), times: []int64{150}, call: try,
			lines:  []string{"T", "SETNX job " + mine(1, 10151), "GET job", "T"},
			result: false, after: theirs(150),
		},
		{
			name: "try, free", times: []int64{100}, call: try,
			lines: []string{"T", "SETNX job " + mine(1, 10101)}, result: true, after: mine(1, 10101),
		},
		{
			name: "try, dead", before: theirs(99), times: []int64{100}, call: try,
			lines:  []string{"T", "SETNX job " + mine(1, 10101), "GET job", "T", "GETSET job " + mine(1, 10101), "T"},
			result: true, after: mine(1, 10101),
		},
		{
			name: "try, dead, and alive again by the last time", before: theirs(99), times: []int64{100, 100, 99},
			call:   try,
			lines:  []string{"T", "SETNX job " + mine(1, 10101), "GET job", "T", "GETSET job " + mine(1, 10101), "T"},
			result: false, after: mine(1, 10101),
		},
		{
			name: "try, own but dead: a new record", before: mine(3, 99), times: []int64{100}, call: try,
			lines:  []string{"T", "SETNX job " + mine(1, 10101), "GET job", "T", "GETSET job " + mine(1, 10101), "T"},
			result: true, after: mine(1, 10101),
		},
		{
			name: "try for, free", times: []int64{100}, call: tryFor,
			lines: []string{"T", "SETNX job " + mine(1, 10101)}, result: true, after: mine(1, 10101),
		},
		{name: "try for less than nothing", times: []int64{100}, call: tryNegative, result: false},
		{
			name: "unlock, count 1: after one question", before: mine(1, 500), times: []int64{100}, call: unlock,
			lines: []string{"GET job", "T", "DEL job"},
		},
		{
			name: "unlock, count 2: the deadline stays", before: mine(2, 500), times: []int64{100}, call: unlock,
			lines: []string{"GET job", "T", "SET job " + mine(1, 500)}, after: mine(1, 500),
		},
		{
			name: "unlock, dead: silence", before: mine(1, 99), times: []int64{100}, call: unlock,
			lines: []string{"GET job", "T"}, after: mine(1, 99),
		},
		{
			name: "unlock, somebody else's", before: theirs(500), times: []int64{100}, call: unlock,
			lines: []string{"GET job", "T"}, fails: impl.ErrNotOwner, after: theirs(500),
		},
		{
			name: "unlock, no record: no question", times: []int64{100}, call: unlock,
			lines: []string{"GET job"}, fails: impl.ErrNotOwner,
		},
		{
			name: "held", before: mine(1, 500), times: []int64{100},
			call: held, lines: []string{"GET job"}, result: true, after: mine(1, 500),
		},
		{
			name: "held, dead", before: mine(1, 9), times: []int64{100},
			call: held, lines: []string{"GET job"}, result: true, after: mine(1, 9),
		},
		{
			name: "held, by another", before: theirs(500), times: []int64{100},
			call: held, lines: []string{"GET job"}, result: false, after: theirs(500),
		},
		{name: "held, no record", times: []int64{100}, call: held, lines: []string{"GET job"}, result: false},
		{
			name: "locked, without a success before", before: mine(1, 500), times: []int64{100},
			call: locked, result: false, after: mine(1, 500),
		},
		{
			name: "locked", before: theirs(500), times: []int64{100},
			call: lockedAfterSuccess, lines: []string{"GET job", "T"}, result: true, after: theirs(500),
		},
		{
			name: "locked, dead", before: theirs(9), times: []int64{100},
			call: lockedAfterSuccess, lines: []string{"GET job", "T"}, result: false, after: theirs(9),
		},
		{
			name: "locked, no record", times: []int64{100},
			call: lockedAfterSuccess, lines: []string{"GET job"}, result: false,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			onEachServer(t, func(t *testing.T, client *redis.Client) {
				if test.before != "" {
					client.Set(ctx, "job", test.before, 0)
				}
				record := &transcript{redis: FromGoRedis(client), times: test.times}
				l := &GetSet{
					redis: record, time: record, clock: clockwork.NewFakeClock(),
					key: "job", owner: publishedOwner, lease: lease,
				}
				result, err := test.call(l)
				if diff := cmp.Diff(test.lines, record.lines); diff != "" {
					t.Errorf("commands (-want +got):\n%s", diff)
				}
				if (err != nil || test.fails != nil) && !errors.Is(err, test.fails) {
					t.Errorf("error %v, want %v", err, test.fails)
				}
				if result != test.result {
					t.Errorf("result %v, want %v", result, test.result)
				}
				if after := client.Get(ctx, "job").Val(); after != test.after {
					t.Errorf("record %s, want %s", after, test.after)
				}
				if left := client.TTL(ctx, "job").Val(); left > 0 {
					t.Errorf("the record has a TTL of %v", left)
				}
			})
		})
	}
}

// TestGetSetTransportErrors cuts each call at each of its messages: the error comes out and nothing more is sent.
func TestGetSetTransportErrors(t *testing.T) {
	cut := errors.New("connection reset")
	dead := newRecord(impl.Owner{Machine: "x"}, 9).String()
	own := newRecord(publishedOwner, 500).String()
	lock := func(l *GetSet) error { return l.Lock(t.Context()) }
	try := func(l *GetSet) error { _, err := l.TryLock(t.Context()); return err }
	unlock := func(l *GetSet) error { return l.Unlock(t.Context()) }
	for _, test := range []struct {
		name    string
		replies []any // of SETNX, GET and so on; the call is cut at each prefix
		call    func(l *GetSet) error
	}{
		{"lock, dead", []any{int64(100), int64(0), dead, int64(100), dead, int64(100)}, lock},
		{"try, own", []any{int64(100), int64(0), own, int64(100), int64(100), "OK"}, try},
		{"try, vanished", []any{int64(100), int64(0), nil, int64(1)}, try},
		{"unlock", []any{own, int64(100), int64(1)}, unlock},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := range test.replies {
				canned := &cannedReplies{replies: test.replies[:n], then: cut}
				l := cannedGetSet(canned)
				if err := test.call(l); !errors.Is(err, cut) {
					t.Errorf("cut at message %d: error %v", n, err)
				}
				if canned.asked != n+1 {
					t.Errorf("cut at message %d: %d messages sent", n, canned.asked)
				}
			}
			canned := &cannedReplies{replies: test.replies, then: cut}
			l := cannedGetSet(canned)
			if err := test.call(l); err != nil {
				t.Errorf("uncut: %v", err)
			}
		})
	}
}

// cannedGetSet makes a lock whose both servers are one list of replies.
func cannedGetSet(c *cannedReplies) *GetSet {
	return &GetSet{redis: c, time: c, clock: clockwork.NewFakeClock(), key: "job", owner: publishedOwner, lease: 10}
}

// cannedReplies answers from a list and then with an error.
type cannedReplies struct {
	replies []any
	then    error
	asked   int
}

func (c *cannedReplies) Do(context.Context, ...any) (any, error) {
	c.asked++
	if c.asked > len(c.replies) {
		return nil, c.then
	}
	return c.replies[c.asked-1], nil
}

func (c *cannedReplies) Subscribe(ctx context.Context, _ string) (impl.Subscription, error) {
	_, err := c.Do(ctx)
	return nil, errors.Join(err, errors.New("no subscription is canned"))
}

func (c *cannedReplies) Millis(ctx context.Context) (int64, error) {
	reply, err := c.Do(ctx)
	if err != nil {
		return 0, err
	}
	return reply.(int64), nil
}

func TestGetSetUnexpectedReplies(t *testing.T) {
	for _, replies := range [][]any{
		{int64(100), "OK"},                                // SETNX
		{int64(100), int64(0), int64(5)},                  // GET
		{int64(100), int64(0), "garbage"},                 // GET: not a record
		{int64(100), int64(0), "{}", int64(100), []any{}}, // GETSET
	} {
		canned := &cannedReplies{replies: replies, then: errors.New("asked on")}
		l := cannedGetSet(canned)
		if done, err := l.TryLock(t.Context()); done || err == nil || canned.asked != len(replies) {
			t.Errorf("replies %v: %v, %v after %d messages", replies, done, err, canned.asked)
		}
	}
}

func TestGetSetContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := cannedGetSet(&cannedReplies{})
	if err := l.Lock(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Lock: %v", err)
	}
	if err := l.LockInterruptibly(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("LockInterruptibly: %v", err)
	}
	if done, err := l.TryLockFor(ctx, time.Hour); done || !errors.Is(err, context.Canceled) {
		t.Errorf("TryLockFor: %v, %v", done, err)
	}
}

// TestGetSetWithTimeServer runs the lock as a user would: from its entry, with the time service of this house.
func TestGetSetWithTimeServer(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		begin := time.UnixMilli(1475068162328)
		service := timeserver.Server{Clock: clockwork.NewFakeClockAt(begin)}
		dialled := 0
		lock, err := getSetEntry().New(impl.Environment{
			Clock: clockwork.NewRealClock(),
			Redis: FromGoRedis(client),
			Dial: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				dialled++
				go service.ServeConn(context.Background(), theirs)
				return ours, nil
			},
			TimeServer: "127.0.0.1:9999",
		}, impl.Settings{Name: "lock.lock", Owner: publishedOwner, Lease: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if dialled != 0 {
			t.Error("New dialled")
		}
		if held, err := lock.TryLockFor(t.Context(), 5*time.Second); !held || err != nil {
			t.Fatalf("TryLockFor: %v, %v", held, err)
		}
		if got := client.Get(t.Context(), "lock.lock").Val(); got != publishedRecord {
			t.Errorf("record %s, want %s", got, publishedRecord)
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
		if err := lock.(*GetSet).Release(); err != nil {
			t.Error(err)
		}
		if err := lock.Lock(t.Context()); err == nil {
			t.Error("Lock after Release succeeded")
		}
	})
}
