package zklock

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// refuser answers every request at once, with an error.
type refuser struct {
	err   error
	asked int
}

func (r *refuser) Create(string, []byte, int32, []zk.ACL) (string, error) {
	r.asked++
	return "", r.err
}

func (r *refuser) Delete(string, int32) error {
	r.asked++
	return r.err
}

func (r *refuser) Exists(string) (bool, *zk.Stat, error) {
	r.asked++
	return false, nil, r.err
}

func (r *refuser) ExistsW(string) (bool, *zk.Stat, <-chan zk.Event, error) {
	r.asked++
	return false, nil, nil, r.err
}

func (r *refuser) Get(string) ([]byte, *zk.Stat, error) {
	r.asked++
	return nil, nil, r.err
}

func (r *refuser) GetW(string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	r.asked++
	return nil, nil, nil, r.err
}

func (r *refuser) Children(string) ([]string, *zk.Stat, error) {
	r.asked++
	return nil, nil, r.err
}

func (r *refuser) SessionID() int64 { return 1 }

func environment(server impl.ZooKeeper) impl.Environment {
	return impl.Environment{
		Clock: clockwork.NewFakeClock(), ZooKeeper: server, SessionEvents: make(chan zk.Event),
		Random: &counter{}, Go: func(f func()) { go f() },
	}
}

func jobSettings() impl.Settings { return impl.Settings{Name: "job", Lease: 10 * time.Second} }

func TestEntriesKeepTheirPromises(t *testing.T) {
	catalogue, err := impl.NewCatalogue(Entries()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range catalogue.List() {
		env := environment(&refuser{})
		if entry.Name == "zk/go-zookeeper" {
			env.ZooKeeper = &zk.Conn{}
		}
		lock, err := entry.New(env, jobSettings())
		if err != nil {
			t.Fatal(err)
		}
		_, fenced := lock.(impl.Fenced)
		_, leased := lock.(impl.Leased)
		_, lossy := lock.(impl.Lossy)
		if p := entry.Promises; p.Fenced != fenced || p.Leased != leased || p.LossTold != lossy {
			t.Errorf("%s promises %+v but is Fenced %v, Leased %v, Lossy %v", entry.Name, p, fenced, leased, lossy)
		}
		if entry.Backend != "zookeeper" {
			t.Errorf("%s has the backend %s", entry.Name, entry.Backend)
		}
		for _, ablation := range entry.Ablations {
			crippled, err := catalogue.Lookup(entry.Name + "!" + ablation.Name)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := crippled.New(env, jobSettings()); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBadSettings(t *testing.T) {
	knob := func(name, value string) func(*impl.Environment, *impl.Settings) {
		return func(_ *impl.Environment, s *impl.Settings) { s.Knobs = map[string]string{name: value} }
	}
	named := func(name string) func(*impl.Environment, *impl.Settings) {
		return func(_ *impl.Environment, s *impl.Settings) { s.Name = name }
	}
	for _, test := range []struct {
		change func(env *impl.Environment, s *impl.Settings)
		want   string // part of the error, "" for none
	}{
		{func(*impl.Environment, *impl.Settings) {}, ""},
		{named("/locks/job"), ""},
		{named(""), "Name is empty"},
		{named("/"), "take a path like /locks/job"},
		{named("/locks//job"), "take a path like"},
		{named("/locks/../job"), "take a path like"},
		{named("/locks/"), "take a path like"},
		{named("a\x00b"), "take a path like"},
		{named("\xff"), "take a path like"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Lease = 0 }, "must be above zero"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Lease = 2 * time.Millisecond }, "take a longer lease"},
		{knob("node", "a/b"), "knob node is \"a/b\"; it must be the name of a node"},
		{knob("node", ""), "the name of a node"},
		{knob("acl", "nobody"), `knob acl is "nobody"; it must be "world" or "creator"`},
		{knob("acl", "creator"), ""},
		{knob("nod", "x"), `did you mean "node"`},
		{knob("retry", "0"), "a duration from 1ms"},
		{knob("drift", "1e6"), "a whole number from 0 to 999999"},
		{
			func(_ *impl.Environment, s *impl.Settings) { s.Ablations = []string{"no-rechek"} },
			`did you mean "no-recheck"`,
		},
		{func(env *impl.Environment, _ *impl.Settings) { env.Clock = nil }, "Environment.Clock is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.ZooKeeper = nil }, "Environment.ZooKeeper is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.SessionEvents = nil }, "Environment.SessionEvents is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.Random = nil }, "Environment.Random is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.Go = nil }, "Environment.Go is not set"},
	} {
		env, settings := environment(&refuser{}), jobSettings()
		test.change(&env, &settings)
		_, err := NewRepaired(env, settings, Options{})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	env, settings := environment(&refuser{}), jobSettings()
	const onlyConn = "works on a *zk.Conn only"
	if _, err := NewGoZooKeeper(env, settings, Options{}); err == nil || !strings.Contains(err.Error(), onlyConn) {
		t.Errorf("GoZooKeeper on another client: %v", err)
	}
	env.SessionEvents, env.Random = nil, nil
	if _, err := NewFair(env, settings, Options{}); err != nil {
		t.Errorf("Fair without what only the repaired lock needs: %v", err)
	}
	settings.Knobs = map[string]string{"interval": "0s"}
	if _, err := NewPolling(env, settings, Options{}); err == nil || !strings.Contains(err.Error(), "knob interval") {
		t.Errorf("Polling without a pause: %v", err)
	}
}

// TestNoRandomness fails a call and sends nothing when no id can be drawn.
func TestNoRandomness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &refuser{}
		env := environment(server)
		env.Random = strings.NewReader("")
		events := make(chan zk.Event)
		defer close(events)
		env.SessionEvents = events
		lock, err := NewRepaired(env, jobSettings(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Lock(t.Context()); !errors.Is(err, io.EOF) || server.asked != 0 {
			t.Errorf("%v after %d requests", err, server.asked)
		}
	})
}

// TestRefusals: what the server refuses is an error of every lock but the published one, which drops it.
func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, entry := range []impl.Entry{pollingEntry(), repairedEntry(), fairEntry()} {
			env := environment(&refuser{err: zk.ErrNoAuth})
			events := make(chan zk.Event)
			defer close(events)
			env.SessionEvents = events
			lock, err := entry.New(env, jobSettings())
			if err != nil {
				t.Fatal(err)
			}
			err = lock.Lock(t.Context())
			got, tryErr := lock.TryLock(t.Context())
			if entry.Name == "zk/fair" {
				if err != nil || got || tryErr != nil {
					t.Errorf("%s: Lock %v, TryLock %v, %v", entry.Name, err, got, tryErr)
				}
				continue
			}
			if !errors.Is(err, zk.ErrNoAuth) || got || !errors.Is(tryErr, zk.ErrNoAuth) {
				t.Errorf("%s: Lock %v, TryLock %v, %v", entry.Name, err, got, tryErr)
			}
		}
	})
}

// TestNodeExists is what the published tries make of an answer that cannot come: a success.
func TestNodeExists(t *testing.T) {
	lock, err := NewFair(environment(&refuser{err: zk.ErrNodeExists}), jobSettings(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := lock.TryLock(t.Context()); !got || err != nil {
		t.Errorf("TryLock: %v, %v", got, err)
	}
	if got, err := lock.TryLockFor(t.Context(), time.Second); !got || err != nil {
		t.Errorf("TryLockFor: %v, %v", got, err)
	}
}

// TestOptions: the lock tells what it drops, and uses the access list that it is given.
func TestOptions(t *testing.T) {
	var told []string
	access := zk.DigestACL(zk.PermAll, "user", "secret")
	lock, err := NewFair(environment(&refuser{err: zk.ErrConnectionClosed}), jobSettings(), Options{
		ACL: access, Log: func(call string, err error) { told = append(told, call+": "+err.Error()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(told) != 2 || told[0] != "init: zk: connection closed" || told[1] != "lock: zk: connection closed" {
		t.Errorf("told %q", told)
	}
	if lock.acl[0] != access[0] {
		t.Errorf("access list %v", lock.acl)
	}
}

// TestEndedContext: nobody begins anything for a context that has ended.
func TestEndedContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, entry := range []impl.Entry{pollingEntry(), repairedEntry(), fairEntry()} {
		server := &refuser{}
		lock, err := entry.New(environment(server), jobSettings())
		if err != nil {
			t.Fatal(err)
		}
		got, tryErr := lock.TryLock(ctx)
		err = lock.Lock(ctx)
		if got || !errors.Is(tryErr, context.Canceled) || !errors.Is(err, context.Canceled) || server.asked != 0 {
			t.Errorf("%s: %v, %v, %v after %d requests", entry.Name, got, tryErr, err, server.asked)
		}
	}
}
