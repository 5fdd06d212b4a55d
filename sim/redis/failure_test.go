package redis

import (
	"strings"
	"testing"
)

const threeWrites = `redis.call('SET', 'a', 1); redis.call('GET', 'a'); redis.call('SET', 'b', 2); ` +
	`redis.call('SET', 'c', 3); return 'done'`

// TestFailedScriptsKeepWhatTheyWrote has a script fail at each of its writes, and at one that it does not have.
func TestFailedScriptsKeepWhatTheyWrote(t *testing.T) {
	for _, test := range []struct {
		at   int64
		want string // the keys that are there afterwards
	}{{1, ""}, {2, "a"}, {3, "a b"}, {4, "a b c"}} {
		b := newBench(t, Config{})
		strikes := 0
		b.server.FailScript(b.conn.id, test.at, func() bool { strikes++; return true })
		reply := b.do(`EVAL "` + threeWrites + `" 0`)
		refusal, failed := reply.(ReplyError)
		if wantFailed := test.at <= 3; failed != wantFailed || strikes == 1 != wantFailed {
			t.Errorf("at write %d: %v, asked %d times", test.at, reply, strikes)
		} else if failed && !strings.HasPrefix(string(refusal), "WRONGTYPE Operation") {
			t.Errorf("at write %d: %v", test.at, reply)
		}
		var keys []string
		for _, key := range []string{"a", "b", "c"} {
			if b.do("EXISTS "+key) == int64(1) {
				keys = append(keys, key)
			}
		}
		if got := strings.Join(keys, " "); got != test.want {
			t.Errorf("at write %d: the keys are %q, want %q", test.at, got, test.want)
		}
		if again := b.do(`EVAL "` + threeWrites + `" 0`); test.at <= 3 && again != "done" {
			t.Errorf("the next script: %v", again)
		}
	}
}

// TestScriptFailureWaitsAndAsks goes past scripts with fewer writes and other connections, and asks before it strikes.
func TestScriptFailureWaitsAndAsks(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	one, other := s.conn(1), s.conn(2)
	do := func(c *Conn, words ...string) any { reply, _, _ := c.Command(words); return reply }
	s.server.FailScript(99, 1, func() bool { t.Error("there is no such connection"); return true })
	s.server.FailScript(one.id, 2, func() bool { return true })
	const oneWrite = "return redis.call('INCR', 'n')"
	if got := do(one, "EVAL", oneWrite, "0"); got != int64(1) {
		t.Errorf("a script of one write: %v", got)
	}
	if got := do(other, "EVAL", threeWrites, "0"); got != "done" {
		t.Errorf("another connection: %v", got)
	}
	const caught = "redis.call('SET', 'x', 1); local r = redis.pcall('SET', 'y', 1); return r.err"
	if got, _ := do(one, "EVAL", caught, "0").(string); !strings.HasPrefix(got, "WRONGTYPE") {
		t.Errorf("a script that catches the error: %q", got)
	}
	s.server.FailScript(one.id, 1, func() bool { return false })
	if got := do(one, "EVAL", threeWrites, "0"); got != "done" {
		t.Errorf("called off: %v", got)
	}
}

// TestThirdParty changes data as somebody who has no connection, and wakes who waits for it.
func TestThirdParty(t *testing.T) {
	var seen []string
	b := newBench(t, Config{OnCommand: func(e Executed) {
		if e.Conn == 0 {
			seen = append(seen, strings.Join(e.Args, " "))
		}
	}})
	if got := b.server.ThirdParty("SET", "k", "v", "NX"); got != "OK" {
		t.Errorf("SET: %v", got)
	}
	if got := b.server.ThirdParty("SET", "k", "w", "NX"); got != nil {
		t.Errorf("SET NX of a key that is there: %v", got)
	}
	b.want("GET k", "v")
	if got := b.server.ThirdParty("DEL", "k"); got != int64(1) {
		t.Errorf("DEL: %v", got)
	}
	if got := strings.Join(seen, "; "); got != "SET k v NX; SET k w NX; DEL k" {
		t.Errorf("observed %q", got)
	}
	if _, _, later := b.conn.Command([]string{"BLPOP", "list", "0"}); !later {
		t.Fatal("BLPOP does not wait")
	}
	if got := b.server.ThirdParty("RPUSH", "list", "x"); got != int64(1) {
		t.Errorf("RPUSH: %v", got)
	}
	if got := b.server.ThirdParty("LLEN", "list"); got != int64(0) {
		t.Errorf("nobody was woken: %v elements are left", got)
	}
}
