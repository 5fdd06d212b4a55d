package redis

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// movable is a wall clock for tests.
type movable struct{ at time.Time }

func (m *movable) now() time.Time { return m.at }

func (m *movable) move(d time.Duration) { m.at = m.at.Add(d) }

func newMovable() *movable { return &movable{fixedClock()} }

// bench is a server with a direct connection and a clock that the test moves.
type bench struct {
	t      *testing.T
	clock  *movable
	server *Server
	conn   *Conn
}

func newBench(t *testing.T, config Config) *bench {
	b := &bench{t: t, clock: newMovable()}
	config.Now = b.clock.now
	b.server = New(config)
	b.conn = b.server.Connect(1, &recorder{})
	return b
}

// do executes a line as typed for redis-cli.
func (b *bench) do(line string) any {
	b.t.Helper()
	words, ok := splitWords(line)
	if !ok {
		b.t.Fatalf("unbalanced quotes: %s", line)
	}
	reply, _, later := b.conn.Command(words)
	if later {
		b.t.Fatalf("%s waits", line)
	}
	return reply
}

func (b *bench) want(line string, want any) {
	b.t.Helper()
	if n, ok := want.(int); ok {
		want = int64(n)
	}
	if got := b.do(line); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		b.t.Errorf("%s: got %#v, want %#v", line, got, want)
	}
}

func TestKeyLivesThroughTheMillisecondOfItsDeadline(t *testing.T) {
	b := newBench(t, Config{})
	b.clock.move(300 * time.Microsecond) // deadlines are counted from the start of the millisecond
	b.want("SET k v PX 100", "OK")
	b.clock.move(99 * time.Millisecond)
	b.want("PTTL k", 1)
	b.clock.move(time.Millisecond)
	b.want("PTTL k", 0)
	b.want("TTL k", 0)
	b.want("GET k", "v")
	b.clock.move(699 * time.Microsecond) // still the same millisecond
	b.want("GET k", "v")
	b.clock.move(time.Microsecond)
	b.want("GET k", nil)
	b.want("PTTL k", -2)
}

func TestExpireToThisVeryMillisecondDeletes(t *testing.T) {
	b := newBench(t, Config{})
	now := strconv.FormatInt(b.clock.now().UnixMilli(), 10)
	b.want("SET k v", "OK")
	b.want("PEXPIREAT k "+now, 1)
	b.want("EXISTS k", 0)
	b.want("SET k v PXAT "+now, "OK") // SET does not judge the deadline, GET does
	b.want("GET k", "v")
	b.clock.move(time.Millisecond)
	b.want("GET k", nil)
}

func TestClockStepsBack(t *testing.T) {
	b := newBench(t, Config{})
	b.want("SET k v PX 10000", "OK")
	b.want("HSET h f v", 1)
	b.want("PEXPIRE h 10000", 1)
	b.clock.move(-time.Hour)
	b.want("PTTL k", 3_610_000)
	b.want("PTTL h", 3_610_000)
	b.want("SET other v PX 5000", "OK") // a deadline in what is the past of k's setting
	b.clock.move(5001 * time.Millisecond)
	b.want("GET other", nil)
	b.want("GET k", "v")
	b.clock.move(time.Hour)
	b.want("PTTL k", 4999)
	b.clock.move(5 * time.Second)
	b.want("GET k", nil)
	b.want("EXISTS h", 0)
}

func TestClockStepsForwardAndBackBetweenCommands(t *testing.T) {
	b := newBench(t, Config{})
	b.want("SET k v PX 1000", "OK")
	b.clock.move(time.Hour)
	b.clock.move(-time.Hour)
	b.want("GET k", "v") // nobody looked while it was over
}

func TestClockBeforeTheEpoch(t *testing.T) {
	b := newBench(t, Config{})
	b.clock.at = time.UnixMilli(-1500)
	b.server.begin(b.server.config)
	b.conn = b.server.Connect(2, &recorder{})
	b.want("TIME", []any{"-2", "500000"})
	b.want("SET k v PX 1000", "OK")
	b.clock.move(2 * time.Second)
	b.want("GET k", nil)
}

func TestHashFieldsExpireByTheClock(t *testing.T) {
	b := newBench(t, Config{})
	b.want("HSET h f v g w", 2)
	b.clock.move(time.Minute)
	b.want("HEXPIRE h 10 FIELDS 1 f", []any{int64(1)})
	b.clock.move(-5 * time.Second)
	b.want("HTTL h FIELDS 1 f", []any{int64(15)})
	b.clock.move(15 * time.Second)
	b.want("HGET h f", nil)
	b.want("HGET h g", "w")
}

func TestFarDeadlinesAreBounded(t *testing.T) {
	b := newBench(t, Config{})
	b.want("SET k v PX 9000000000000000", "OK")
	b.clock.move(-50 * 365 * 24 * time.Hour)
	b.want("GET k", "v")
	b.clock.move(100 * 365 * 24 * time.Hour)
	b.want("GET k", "v")
	if ttl, ok := b.do("PTTL k").(int64); !ok || ttl <= 0 {
		t.Errorf("PTTL is %v", ttl)
	}
}

// expiryModel keeps absolute deadlines in a few lines, to be compared with the server.
type expiryModel struct {
	*bench
	entries map[string]modelEntry
}

type modelEntry struct {
	value    string
	deadline int64 // 0 = none
}

func (m *expiryModel) millis() int64 { return m.clock.now().UnixMilli() }

// find returns a key as the next command should find it.
func (m *expiryModel) find(key string) (e modelEntry, ok bool) {
	for k, e := range m.entries {
		if e.deadline != 0 && m.millis() > e.deadline {
			delete(m.entries, k)
		}
	}
	e, ok = m.entries[key]
	return e, ok
}

func (m *expiryModel) check(rt *rapid.T, line string, want any) {
	if got := m.do(line); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
		rt.Fatalf("%s at %d: got %#v, want %#v", line, m.millis(), got, want)
	}
}

func (m *expiryModel) look(rt *rapid.T, key string) {
	e, ok := m.find(key)
	var value any
	left := int64(-2)
	if ok {
		value, left = e.value, -1
	}
	if e.deadline != 0 {
		left = e.deadline - m.millis()
		m.check(rt, "PEXPIRETIME "+key, e.deadline)
	}
	m.check(rt, "GET "+key, value)
	m.check(rt, "PTTL "+key, left)
	peeked, ttl, found := m.server.Peek(key)
	if found != ok || peeked != e.value || e.deadline != 0 && ttl.Milliseconds() != left {
		rt.Fatalf("Peek(%s) is %q, %v, %v; want %+v", key, peeked, ttl, found, e)
	}
}

// TestExpiryModel lets the clock go anywhere between the commands.
func TestExpiryModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &expiryModel{newBench(t, Config{}), map[string]modelEntry{}}
		key := func(rt *rapid.T) string { return rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "key") }
		span := func(rt *rapid.T) int64 { return rapid.Int64Range(1, 3000).Draw(rt, "ms") }
		rt.Repeat(map[string]func(*rapid.T){
			"move": func(rt *rapid.T) {
				m.clock.move(time.Duration(rapid.Int64Range(-4000, 4000).Draw(rt, "by")) * time.Millisecond)
			},
			"set": func(rt *rapid.T) {
				k, ms := key(rt), span(rt)
				m.check(rt, fmt.Sprintf("SET %s v PX %d", k, ms), "OK")
				m.find(k)
				m.entries[k] = modelEntry{"v", m.millis() + ms}
			},
			"set without expiry": func(rt *rapid.T) {
				k := key(rt)
				m.check(rt, "SET "+k+" w", "OK")
				m.find(k)
				m.entries[k] = modelEntry{"w", 0}
			},
			"set with the old expiry": func(rt *rapid.T) {
				k := key(rt)
				m.check(rt, "SET "+k+" x KEEPTTL", "OK")
				e, _ := m.find(k)
				m.entries[k] = modelEntry{"x", e.deadline}
			},
			"expire": func(rt *rapid.T) {
				k, ms := key(rt), span(rt)
				e, ok := m.find(k)
				changed := int64(0)
				if ok {
					changed = 1
					m.entries[k] = modelEntry{e.value, m.millis() + ms}
				}
				m.check(rt, fmt.Sprintf("PEXPIRE %s %d", k, ms), changed)
			},
			"rename": func(rt *rapid.T) {
				if e, ok := m.find("a"); ok {
					m.check(rt, "RENAME a b", "OK")
					m.entries["b"] = e
					delete(m.entries, "a")
				} else {
					m.check(rt, "EXISTS a", int64(0)) // the server, too, must see now that the key is over
				}
			},
			"look": func(rt *rapid.T) { m.look(rt, key(rt)) },
		})
	})
}

func TestPeekHasNoEffect(t *testing.T) {
	b := newBench(t, Config{})
	b.want("SET k v PX 1000", "OK")
	b.want("RPUSH list v", 1)
	b.clock.move(30 * time.Second)
	if _, _, ok := b.server.Peek("k"); ok {
		t.Error("Peek shows a key that is over")
	}
	if _, _, ok := b.server.Peek("list"); ok {
		t.Error("Peek shows a list")
	}
	b.clock.move(-30 * time.Second)
	b.want("GET k", "v") // Peek did not expire it
	b.clock.move(500 * time.Millisecond)
	if value, ttl, ok := b.server.Peek("k"); value != "v" || ttl != 500*time.Millisecond || !ok {
		t.Errorf("Peek: %q, %v, %v", value, ttl, ok)
	}
	b.want("SET idle v", "OK")
	b.clock.move(10 * time.Second)
	b.server.tick()
	b.server.Peek("idle")
	b.want("OBJECT IDLETIME idle", 10)
}
