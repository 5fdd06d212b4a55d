package redislock

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/jonboulle/clockwork"
	"github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/impl"
)

func TestEntriesKeepTheirPromises(t *testing.T) {
	catalogue, err := impl.NewCatalogue(Entries()...)
	if err != nil {
		t.Fatal(err)
	}
	env := environment(&cannedReplies{}, clockwork.NewFakeClock())
	env.Dial, env.TimeServer = (&net.Dialer{}).DialContext, "127.0.0.1:9999"
	settings := impl.Settings{Name: "job", Lease: 10 * time.Second}
	for _, entry := range catalogue.List() {
		lock, err := entry.New(env, settings)
		if err != nil {
			t.Fatal(err)
		}
		_, fenced := lock.(impl.Fenced)
		_, leased := lock.(impl.Leased)
		_, lossy := lock.(impl.Lossy)
		if p := entry.Promises; p.Fenced != fenced || p.Leased != leased || p.LossTold != lossy {
			t.Errorf("%s promises %+v but is Fenced %v, Leased %v, Lossy %v", entry.Name, p, fenced, leased, lossy)
		}
		for _, ablation := range entry.Ablations {
			crippled, err := catalogue.Lookup(entry.Name + "!" + ablation.Name)
			if err != nil {
				t.Error(err)
				continue
			}
			if _, err := crippled.New(env, settings); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestBadSettings(t *testing.T) {
	const whole = ""
	knob := func(name, value string) func(*impl.Environment, *impl.Settings) {
		return func(_ *impl.Environment, s *impl.Settings) { s.Knobs = map[string]string{name: value} }
	}
	for _, test := range []struct {
		change func(env *impl.Environment, s *impl.Settings)
		want   string // part of the error
	}{
		{func(*impl.Environment, *impl.Settings) {}, whole},
		{func(_ *impl.Environment, s *impl.Settings) { s.Name = "" }, "Name is empty"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Lease = 0 }, "must be above zero"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Lease = time.Microsecond }, "below one millisecond"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Lease = 2 * time.Millisecond }, "take a longer lease"},
		{func(_ *impl.Environment, s *impl.Settings) { s.Owner.Machine = "\xff" }, "not UTF-8"},
		{knob("retri", "1s"), `did you mean "retry"`},
		{knob("retry", "0"), "a duration from 1ms"},
		{knob("drift", "1e6"), "a whole number from 0 to 999999"},
		{knob("renew", "yes"), `"on" or "off"`},
		{
			func(_ *impl.Environment, s *impl.Settings) { s.Ablations = []string{"token-reuse"} },
			`did you mean "token-reused"`,
		},
		{func(env *impl.Environment, _ *impl.Settings) { env.Clock = nil }, "Environment.Clock is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.Redis = nil }, "Environment.Redis is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.Random = nil }, "Environment.Random is not set"},
		{func(env *impl.Environment, _ *impl.Settings) { env.Go = nil }, "Environment.Go is not set"},
	} {
		env := environment(&cannedReplies{}, clockwork.NewFakeClock())
		settings := impl.Settings{Name: "job", Lease: 10 * time.Second}
		test.change(&env, &settings)
		_, err := NewSetNX(env, settings)
		if (err == nil) != (test.want == whole) || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %q", err, test.want)
		}
	}
	env := environment(&cannedReplies{}, clockwork.NewFakeClock())
	settings := impl.Settings{Name: "job", Lease: 10 * time.Second}
	if _, err := NewGetSet(env, settings); err == nil || !strings.Contains(err.Error(), "Environment.Dial is not set") {
		t.Errorf("GetSet without a dialer: %v", err)
	}
	env.Dial = (&net.Dialer{}).DialContext
	const noTimeServer = "Environment.TimeServer is not set"
	if _, err := NewGetSet(env, settings); err == nil || !strings.Contains(err.Error(), noTimeServer) {
		t.Errorf("GetSet without a time server: %v", err)
	}
}

// TestNoRandomness fails a call and sends nothing when no id can be drawn.
func TestNoRandomness(t *testing.T) {
	for _, entry := range []impl.Entry{repairedEntry(), setNXEntry()} {
		canned := &cannedReplies{}
		env := environment(canned, clockwork.NewFakeClock())
		env.Random = strings.NewReader("")
		lock, err := entry.New(env, impl.Settings{Name: "job", Lease: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := lock.TryLock(t.Context()); got || !errors.Is(err, io.EOF) || canned.asked != 0 {
			t.Errorf("%s: %v, %v after %d messages", entry.Name, got, err, canned.asked)
		}
		if err := lock.Lock(t.Context()); !errors.Is(err, io.EOF) || canned.asked != 0 {
			t.Errorf("%s: %v after %d messages", entry.Name, err, canned.asked)
		}
	}
}

func TestFromGoRedis(t *testing.T) {
	onEachServer(t, func(t *testing.T, client *redis.Client) {
		ctx := t.Context()
		server := FromGoRedis(client)
		if reply, err := server.Do(ctx, "GET", "nothing"); reply != nil || err != nil {
			t.Errorf("nil reply: %v, %v", reply, err)
		}
		if reply, err := server.Do(ctx, "INCR", "n"); reply != int64(1) || err != nil {
			t.Errorf("number: %v, %v", reply, err)
		}
		if reply, err := server.Do(ctx, "GET", "n"); reply != "1" || err != nil {
			t.Errorf("string: %v, %v", reply, err)
		}
		_, err := server.Do(ctx, "LPUSH", "n", "x")
		if !refused(err) || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			t.Errorf("refusal: %v", err)
		}
		_, err = server.Do(ctx, "EVALSHA", strings.Repeat("0", 40), "0")
		if !refused(err) || !strings.HasPrefix(err.Error(), "NOSCRIPT") {
			t.Errorf("unknown script: %v", err)
		}
		if err := closeIfAble(server); err != nil {
			t.Error(err)
		}
		if _, err := server.Do(ctx, "GET", "n"); err == nil || refused(err) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// TestFromGoRedisTransportError: an answer that never came is not a refusal.
func TestFromGoRedisTransportError(t *testing.T) {
	server := miniredis.NewMiniRedis()
	client := redis.NewClient(&redis.Options{
		Dialer:     func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
		MaxRetries: -1, DisableIdentity: true,
	})
	defer client.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := FromGoRedis(client).Do(t.Context(), "PING"); err == nil || refused(err) {
		t.Errorf("error %v", err)
	}
}
