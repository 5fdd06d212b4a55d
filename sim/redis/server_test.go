package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOneSegmentPerSegment(t *testing.T) {
	port := &recorder{}
	c := New(Config{Now: fixedClock}).Connect(1, port)
	c.Bytes(append(encode([]string{"SET", "a", "1"}), "INCR a\r\nGET a\r\n*1\r\n$4\r\nPI"...))
	if got := string(port.written); got != "+OK\r\n:2\r\n$1\r\n2\r\n" || port.segments != 1 {
		t.Errorf("%d segments: %q", port.segments, got)
	}
	c.Bytes([]byte("NG\r\n"))
	if got := string(port.written); !strings.HasSuffix(got, "+PONG\r\n") || port.segments != 2 {
		t.Errorf("%d segments: %q", port.segments, got)
	}
}

func TestPipelineBehindABlockingCommand(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	s.conn(1).Bytes(append(encode([]string{"BLPOP", "q", "0"}), "PING\r\nGET x\r\n"...))
	if got := s.receive(1); got != "" {
		t.Fatalf("answered %q before the push", got)
	}
	s.conn(2).Bytes([]byte("SET x 1\r\nRPUSH q v\r\n"))
	if got := string(s.ports[1].written); got != "*2\r\n$1\r\nq\r\n$1\r\nv\r\n+PONG\r\n$1\r\n1\r\n" {
		t.Errorf("got %q", got)
	}
	if s.ports[1].segments != 1 {
		t.Errorf("%d segments", s.ports[1].segments)
	}
}

func TestWaitersComeBeforeTheRestOfAPipeline(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	s.send(2, []string{"BLPOP", "q", "0"})
	s.conn(1).Bytes([]byte("RPUSH q v\r\nLRANGE q 0 -1\r\nMULTI\r\nRPUSH q w\r\nLRANGE q 0 -1\r\nEXEC\r\n"))
	want := ":1\r\n*0\r\n+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n:1\r\n*1\r\n$1\r\nw\r\n"
	if got := string(s.ports[1].written); got != want {
		t.Errorf("got %q", got)
	}
	if got := s.receive(2); got != "*2\r\n$1\r\nq\r\n$1\r\nv\r\n" {
		t.Errorf("the waiter got %q", got)
	}
}

func TestDirectCommandsWait(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	_, _, later := s.conn(1).Command([]string{"BLPOP", "q", "5"})
	words := []string{"GET", "x"}
	_, _, second := s.conn(1).Command(words)
	words[0] = "DEL" // the caller may use its slice again
	if !later || !second {
		t.Fatal("a blocking command answered at once")
	}
	s.conn(2).Command([]string{"SET", "x", "1"})
	s.expire()
	if got := fmt.Sprint(s.ports[1].replies); got != "[<nil> 1]" {
		t.Errorf("late replies: %s", got)
	}
	if len(s.timers) != 0 {
		t.Error("the timer is still there")
	}
	s.conn(1).Command([]string{"BLPOP", "q", "5"})
	reply, _, _ := s.conn(2).Command([]string{"RPUSH", "q", "v"})
	if got := fmt.Sprint(reply, s.ports[1].replies[2]); got != "1 [q v]" {
		t.Errorf("got %s", got)
	}
	if len(s.timers) != 0 {
		t.Error("the timer outlives the wait")
	}
}

// TestDirectSubscription sends a direct subscriber what is published, each message by itself and behind the answer of
// the command that caused it.
func TestDirectSubscription(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	subscriber, other := s.conn(1), s.conn(2)
	if reply, _, _ := subscriber.Command([]string{"SUBSCRIBE", "a", "b"}); fmt.Sprint(reply) != "ERR a direct call has "+
		"one reply: subscribe to one channel at a time" {
		t.Errorf("two channels at once: %v", reply)
	}
	if reply, _, _ := subscriber.Command([]string{"SUBSCRIBE", "a"}); fmt.Sprint(reply) != "[subscribe a 1]" {
		t.Errorf("subscribed: %v", reply)
	}
	other.Command([]string{"PUBLISH", "b", "nobody listens"})
	if reply, _, _ := other.Command([]string{"PUBLISH", "a", "one"}); reply != int64(1) {
		t.Errorf("published: %v", reply)
	}
	const twice = "redis.call('PUBLISH', 'a', 'two'); return redis.call('PUBLISH', 'a', 'three')"
	if reply, _, _ := other.Command([]string{"EVAL", twice, "0"}); reply != int64(1) {
		t.Errorf("published by a script: %v", reply)
	}
	const want = "[[message a one] [message a two] [message a three]]"
	if got := fmt.Sprint(s.ports[1].replies); got != want {
		t.Errorf("received %s, want %s", got, want)
	}
	if reply, _, _ := subscriber.Command([]string{"GET", "x"}); !strings.Contains(fmt.Sprint(reply), "Can't execute") {
		t.Errorf("a subscriber reads a key: %v", reply)
	}
}

func TestClosedConnectionsLeaveNothing(t *testing.T) {
	s := newSimulated(Config{Now: fixedClock})
	s.send(1, []string{"SUBSCRIBE", "c"})
	s.send(2, []string{"BLPOP", "q", "5"})
	s.send(3, []string{"MULTI"})
	for conn := 1; conn <= 3; conn++ {
		s.conn(conn).Closed()
		s.conn(conn).Closed() // twice is harmless
	}
	s.send(4, []string{"PUBLISH", "c", "m"})
	s.send(4, []string{"RPUSH", "q", "v"})
	if got := s.receive(4) + s.receive(4); got != ":0\r\n:1\r\n" {
		t.Errorf("got %q", got)
	}
	if len(s.server.conns) != 1 || len(s.server.blocked) != 0 || len(s.timers) != 0 {
		t.Errorf("%d connections, %d waiters, %d timers", len(s.server.conns), len(s.server.blocked), len(s.timers))
	}
	s.conn(1).Bytes([]byte("PING\r\n"))
	if len(s.ports[1].replies) != 0 || s.ports[1].segments != 1 {
		t.Error("a closed connection was answered")
	}
}

func TestQuitCloses(t *testing.T) {
	port := &recorder{}
	c := New(Config{Now: fixedClock}).Connect(1, port)
	c.Bytes([]byte("QUIT\r\nPING\r\n"))
	if string(port.written) != "+OK\r\n" || !port.closed {
		t.Errorf("wrote %q, closed %v", port.written, port.closed)
	}
}

func TestRestart(t *testing.T) {
	for _, empty := range []bool{false, true} {
		t.Run(fmt.Sprintf("empty=%v", empty), func(t *testing.T) {
			clock := newMovable()
			s := newSimulated(Config{Now: clock.now})
			s.send(1, []string{"SET", "k", "v", "PX", "10000"})
			s.send(1, []string{"SCRIPT", "LOAD", "return 1"})
			s.send(1, []string{"WATCH", "k"})
			s.send(1, []string{"MULTI"})
			s.send(2, []string{"SUBSCRIBE", "c"})
			s.send(3, []string{"BLPOP", "q", "5"})
			old := s.ports[2]
			s.server.Restart(empty)
			if len(s.timers) != 0 {
				t.Error("a timer survives")
			}
			clock.move(4 * time.Second)
			s.conns, s.ports = map[int]*Conn{}, map[int]*recorder{}
			var got strings.Builder
			for _, words := range [][]string{
				{"PTTL", "k"},
				{"EXEC"},
				{"PUBLISH", "c", "m"},
				{"RPUSH", "q", "v"},
				{"EVALSHA", sha1Hex("return 1"), "0"},
				{"CLIENT", "ID"},
			} {
				s.send(7, words)
				got.WriteString(s.receive(7))
			}
			want := ":6000\r\n"
			if empty {
				want = ":-2\r\n"
			}
			want += "-ERR EXEC without MULTI\r\n:0\r\n:1\r\n-" + errNoScript + "\r\n:1\r\n"
			if got.String() != want {
				t.Errorf("got %q\nwant %q", got.String(), want)
			}
			if old.segments != 1 {
				t.Error("an old connection heard of the restart")
			}
		})
	}
}

// TestPooledServerIsLikeNew sends the same random commands to a new server and to one that has served before.
func TestPooledServerIsLikeNew(t *testing.T) {
	used := newSimulated(Config{Now: fixedClock})
	for seed := range uint64(60) {
		Put(used.server)
		config := Config{Now: fixedClock, Seed: seed}
		pooled := newSimulated(config)
		config.After = pooled.server.config.After
		pooled.server = Get(config)
		if pooled.server != used.server {
			t.Fatal("the pool made a new server")
		}
		fresh := newSimulated(Config{Now: fixedClock, Seed: seed})
		generator := newGenerator(seed)
		for i := range 300 {
			conn, args := generator.next()
			switch generator.IntN(20) {
			case 0:
				args = []string{generator.pick("RANDOMKEY", "DBSIZE", "INFO", "TIME"), "extra"}[:1]
			case 1:
				args = []string{"SELECT", generator.pick("0", "0", "3")}
			case 2:
				args = []string{"SADD", "set", generator.pick("a", "b", "c", "d", "e")}
			case 3:
				args = []string{generator.pick("SRANDMEMBER", "SPOP"), "set"}
			case 4:
				args = []string{"EVAL", "return math.random(1000)", "0"}
			case 5:
				args = []string{"CLIENT", generator.pick("ID", "GETNAME")}
			case 6:
				args = []string{"KEYS", "*"}
			case 7:
				args = []string{"SWAPDB", "0", "3"}
			}
			pooled.send(conn, args)
			fresh.send(conn, args)
			if got, want := pooled.receive(conn), fresh.receive(conn); got != want {
				t.Fatalf("seed %d, command %d, %q: pooled %q, new %q", seed, i, args, got, want)
			}
		}
		used = pooled
	}
}

func TestRandomCommandsFollowTheSeed(t *testing.T) {
	run := func(seed uint64) string {
		b := newBench(t, Config{Seed: seed})
		var seen []any
		for i := range 20 {
			b.do(fmt.Sprintf("SADD s %d", i))
			b.do(fmt.Sprintf("HSET h f%d %d", i, i))
			b.do(fmt.Sprintf("ZADD z %d m%d", i, i))
			b.do(fmt.Sprintf("SET k%d v", i))
		}
		for range 10 {
			for _, line := range []string{
				"SRANDMEMBER s", "SPOP s", "HRANDFIELD h", "ZRANDMEMBER z", "RANDOMKEY", "SMEMBERS s", "HGETALL h", "KEYS *",
				"SCAN 0",
			} {
				seen = append(seen, b.do(line))
			}
		}
		return fmt.Sprint(seen)
	}
	first := run(1)
	if again := run(1); again != first {
		t.Error("the same seed gives different answers")
	}
	if first == run(2) {
		t.Error("the seed changes nothing")
	}
}

func TestOnCommand(t *testing.T) {
	var seen []string
	config := Config{Now: fixedClock, OnCommand: func(e Executed) {
		seen = append(seen, fmt.Sprintf("%d %v %s %q", e.Conn, e.Nested, strings.Join(e.Args, " "), e.Raw))
	}}
	s := newSimulated(config)
	s.send(1, []string{"SET", "a", "1"})
	s.send(1, []string{"EVAL", "return redis.call('get','a')", "0"})
	s.send(1, []string{"MULTI"})
	s.send(1, []string{"INCR", "a"})
	s.send(1, []string{"EXEC"})
	s.send(2, []string{"BLPOP", "q", "0"})
	s.send(1, []string{"RPUSH", "q", "v"})
	s.send(1, []string{"NOSUCH"})
	want := []string{
		`1 false SET a 1 "+OK\r\n"`,
		`1 true get a "$1\r\n1\r\n"`,
		`1 false EVAL return redis.call('get','a') 0 "$1\r\n1\r\n"`,
		`1 false MULTI "+OK\r\n"`,
		`1 true INCR a ":2\r\n"`,
		`1 false EXEC "*1\r\n:2\r\n"`,
		`1 false RPUSH q v ":1\r\n"`,
		`2 false BLPOP q 0 "*2\r\n$1\r\nq\r\n$1\r\nv\r\n"`,
		`1 false NOSUCH "-ERR unknown command 'NOSUCH', with args beginning with: \r\n"`,
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func TestOnCommandMayPeek(t *testing.T) {
	var server *Server
	var values []string
	config := Config{Now: fixedClock, OnCommand: func(Executed) {
		value, _, _ := server.Peek("a")
		values = append(values, value)
	}}
	server = New(config)
	c := server.Connect(1, nil)
	body := "redis.call('select',2) redis.call('set','a','two') redis.call('select',0) redis.call('set','a','zero') " +
		"return redis.call('get','a')"
	reply, _, _ := c.Command([]string{"EVAL", body, "0"})
	if reply != "zero" || fmt.Sprint(values) != "[   zero zero zero]" {
		t.Errorf("reply %v, peeked %q", reply, values)
	}
}

func TestServersAreIndependent(t *testing.T) {
	one, two := newBench(t, Config{}), newBench(t, Config{})
	one.want("SET k one", "OK")
	two.want("GET k", nil)
	one.do("SCRIPT LOAD 'return 1'")
	two.want("EVALSHA "+sha1Hex("return 1")+" 0", ReplyError(errNoScript))
}

func TestCommandsAllocateNothing(t *testing.T) {
	c := New(Config{Now: fixedClock}).Connect(1, nil)
	c.Command(setnxWords)
	if n := testing.AllocsPerRun(100, func() { c.Command(setnxWords) }); n > 0 {
		t.Errorf("SETNX allocates %v times", n)
	}
}
