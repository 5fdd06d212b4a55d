package redis

import (
	"testing"
	"time"
)

// TestRollBack goes back over plain writes, a script, a transaction and a key that expires.
func TestRollBack(t *testing.T) {
	b := newBench(t, Config{})
	if b.server.RollBack(0) {
		t.Error("rolled back without a journal")
	}
	b.conn = b.server.Connect(2, &recorder{})
	b.server.KeepJournal()
	b.want("SET a 1", "OK")
	b.want("SET short x PX 500", "OK")
	b.clock.move(300 * time.Millisecond)
	b.want(`EVAL "redis.call('INCR', 'a'); redis.call('HSET', 'h', 'f', 'v'); return redis.call('RPUSH', 'l', 'x')" 0`, 1)
	b.want("SET stay y PX 1000", "OK")
	b.clock.move(400 * time.Millisecond) // short is over by now
	b.want("MULTI", "OK")
	b.want("INCR a", "QUEUED")
	b.want("DEL h", "QUEUED")
	b.do("EXEC")
	b.want("GET a", "3")
	b.clock.move(100 * time.Millisecond)

	for _, test := range []struct {
		by   time.Duration
		a, h any
	}{
		{by: 50 * time.Millisecond, a: "3", h: nil},
		{by: 200 * time.Millisecond, a: "2", h: "v"}, // before the transaction
		{by: 100 * time.Millisecond, a: "2", h: "v"}, // what is lost stays lost
		{by: 600 * time.Millisecond, a: "1", h: nil}, // before the script
		{by: time.Hour, a: nil, h: nil},
	} {
		if !b.server.RollBack(test.by) {
			t.Fatal("not rolled back")
		}
		b.conn = b.server.Connect(3, &recorder{})
		b.want("GET a", test.a)
		b.want("HGET h f", test.h)
		b.want("GET short", nil)
		if test.a == "2" {
			b.want("PTTL stay", 500)
			b.want("LLEN l", 1)
		}
	}
}

// TestRollBackIsSilent tells nobody of the writes that are executed once more.
func TestRollBackIsSilent(t *testing.T) {
	told := 0
	b := newBench(t, Config{OnCommand: func(Executed) { told++ }})
	b.server.KeepJournal()
	b.want("INCR n", 1)
	b.server.RollBack(0)
	if told != 1 {
		t.Errorf("told of %d commands, want 1", told)
	}
	b.conn = b.server.Connect(2, &recorder{})
	b.want("INCR n", 2)
	if told != 2 {
		t.Errorf("told of %d commands, want 2", told)
	}
}
