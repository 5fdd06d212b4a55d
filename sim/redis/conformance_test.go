package redis

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// target is a Redis under test: this package's or a real one. Connections are numbered from 1 and opened by use.
type target interface {
	send(conn int, args []string)
	// receive returns the next reply of a connection as bytes, or "" if there is none.
	receive(conn int) string
	// parked waits until the server has that many blocked clients.
	parked(n int)
}

// simulated is this package's server as a target.
type simulated struct {
	server *Server
	conns  map[int]*Conn
	ports  map[int]*recorder
	timers []*fakeTimer
}

// fakeTimer is a time-out of a blocking command. It is over when somebody waits for the command's reply.
type fakeTimer struct {
	after time.Duration
	fire  func()
}

func newSimulated(config Config) *simulated {
	s := &simulated{conns: map[int]*Conn{}, ports: map[int]*recorder{}}
	config.After = func(d time.Duration, f func()) func() {
		timer := &fakeTimer{d, f}
		s.timers = append(s.timers, timer)
		return func() { s.timers = slices.DeleteFunc(s.timers, func(t *fakeTimer) bool { return t == timer }) }
	}
	s.server = New(config)
	return s
}

// expire fires the timer that is due first.
func (s *simulated) expire() {
	first := slices.MinFunc(s.timers, func(a, b *fakeTimer) int { return cmp.Compare(a.after, b.after) })
	s.timers = slices.DeleteFunc(s.timers, func(t *fakeTimer) bool { return t == first })
	first.fire()
}

// recorder is a Port that keeps what was written.
type recorder struct {
	written  []byte
	segments int
	replies  []any
	closed   bool
}

func (r *recorder) Write(p []byte)            { r.written = append(r.written, p...); r.segments++ }
func (r *recorder) Reply(value any, _ []byte) { r.replies = append(r.replies, value) }
func (r *recorder) Push(value any, _ []byte)  { r.replies = append(r.replies, value) }
func (r *recorder) Close()                    { r.closed = true }

func (s *simulated) conn(n int) *Conn {
	if s.conns[n] == nil {
		s.ports[n] = &recorder{}
		s.conns[n] = s.server.Connect(uint64(n), s.ports[n])
	}
	return s.conns[n]
}

func (s *simulated) send(conn int, args []string) { s.conn(conn).Bytes(encode(args)) }

func (s *simulated) receive(conn int) string {
	s.conn(conn)
	port := s.ports[conn]
	if len(port.written) == 0 && len(s.timers) > 0 {
		s.expire()
	}
	if len(port.written) == 0 {
		return ""
	}
	_, rest, err := decodeReply(port.written)
	if err != nil {
		return fmt.Sprintf("%v in %q", err, port.written)
	}
	reply := string(port.written[:len(port.written)-len(rest)])
	port.written = rest
	return reply
}

func (s *simulated) parked(int) {}

// encode makes the bytes of a request.
func encode(args []string) []byte {
	out := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, arg := range args {
		out = fmt.Appendf(out, "$%d\r\n%s\r\n", len(arg), arg)
	}
	return out
}

// real is a redis-server process as a target.
type real struct {
	t       *testing.T
	address string
	conns   map[int]net.Conn
	readers map[int]*bufio.Reader
}

// startReal starts the redis-server that this package is compared with, on a free port of loopback.
func startReal(t *testing.T) *real {
	t.Helper()
	path, err := osexec.LookPath("redis-server")
	if err != nil {
		unavailable(t, "redis-server is not installed")
	}
	if text, err := osexec.Command(path, "--version").Output(); err != nil || !strings.Contains(string(text), "v=7.0.") {
		unavailable(t, "redis-server is not of version 7.0: "+strings.TrimSpace(string(text)))
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(address)
	process := osexec.Command(path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
		"--dir", t.TempDir())
	output, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "Ready to accept connections") {
			go func() { _, _ = io.Copy(io.Discard, output) }()
			return &real{t, address, map[int]net.Conn{}, map[int]*bufio.Reader{}}
		}
	}
	t.Fatal("redis-server ended before it was ready")
	return nil
}

// unavailable skips a test, or fails it where everything must be there.
func unavailable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

func (r *real) conn(n int) net.Conn {
	if r.conns[n] == nil {
		conn, err := net.Dial("tcp", r.address)
		if err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = conn.Close() })
		r.conns[n] = conn
		r.readers[n] = bufio.NewReader(conn)
	}
	return r.conns[n]
}

func (r *real) send(conn int, args []string) {
	if _, err := r.conn(conn).Write(encode(args)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *real) receive(conn int) string {
	_ = r.conn(conn).SetReadDeadline(time.Now().Add(10 * time.Second)) // a hang is a failure
	var read bytes.Buffer
	if err := readReply(r.readers[conn], &read); err != nil {
		if errors.Is(err, io.EOF) {
			return ""
		}
		r.t.Fatalf("connection %d: %v after %q", conn, err, read.String())
	}
	return read.String()
}

// readReply copies the bytes of one reply.
func readReply(r *bufio.Reader, read *bytes.Buffer) error {
	line, err := r.ReadString('\n')
	read.WriteString(line)
	if err != nil {
		return err
	}
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch line[0] {
	case '$', '=':
		if n >= 0 {
			_, err = io.CopyN(read, r, int64(n)+2)
		}
	case '%':
		n *= 2
		fallthrough
	case '*', '~', '>':
		for range n {
			if err := readReply(r, read); err != nil {
				return err
			}
		}
	}
	return err
}

// parked asks the server until it says so: the only way to know that a request without a reply has arrived.
func (r *real) parked(n int) {
	const observer = 1000
	want := fmt.Sprintf("blocked_clients:%d\r\n", n)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		r.send(observer, []string{"INFO", "clients"})
		if strings.Contains(r.receive(observer), want) {
			return
		}
	}
	r.t.Fatalf("never had %d blocked clients", n)
}

// runScript executes lines of a conformance script and returns one line per reply. A line is a request, typed as
// for redis-cli, for connection 1 or for the one named first:
//
//	SET lock a NX PX 30000
//	@2 BLPOP queue 0 &1     (goes on without a reply, once the server has 1 blocked client)
//	@2 ?                    (reads one more reply)
//	TIME ~                  (only the shape of the reply is shown)
func runScript(t *testing.T, on target, script string) string {
	var shown strings.Builder
	for _, line := range strings.Split(script, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words, ok := splitWords(line)
		if !ok {
			t.Fatalf("unbalanced quotes: %s", line)
		}
		conn := 1
		if number, found := strings.CutPrefix(words[0], "@"); found {
			conn, _ = strconv.Atoi(number)
			words = words[1:]
		}
		last := words[len(words)-1]
		switch {
		case last == "?":
		case len(last) == 2 && last[0] == '&':
			on.send(conn, words[:len(words)-1])
			on.parked(int(last[1] - '0'))
			continue
		case last == "~":
			on.send(conn, words[:len(words)-1])
			fmt.Fprintf(&shown, "%s\n", shape(on.receive(conn)))
			continue
		default:
			on.send(conn, words)
		}
		fmt.Fprintf(&shown, "%s\n", strings.Trim(strconv.Quote(on.receive(conn)), `"`))
	}
	return shown.String()
}

var number = regexp.MustCompile("[0-9]+")

// shape hides the numbers of a reply.
func shape(reply string) string {
	return strings.Trim(strconv.Quote(number.ReplaceAllString(reply, "N")), `"`)
}

// TestConformance holds this server to scripts whose replies were recorded from redis-server 7.0.15.
func TestConformance(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "conformance"), func(t *testing.T, path string) {
		server := newSimulated(Config{Now: time.Now})
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return runScript(t, server, d.Input)
		})
	})
}

// TestConformanceRecorded holds the recorded replies to the redis-server that is installed.
func TestConformanceRecorded(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "conformance"), func(t *testing.T, path string) {
		server := startReal(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			return runScript(t, server, d.Input)
		})
	})
}

// withinASecond tells whether two replies are the same but for times to live, in whole seconds, of which one is a
// second shorter: ours and theirs are not asked at the same instant, and a slow machine gets between them.
func withinASecond(our, their string) bool {
	ours, theirs := strings.Split(our, "\r\n"), strings.Split(their, "\r\n")
	if len(ours) != len(theirs) {
		return false
	}
	for i := range ours {
		if ours[i] == theirs[i] {
			continue
		}
		var a, b int
		if n, _ := fmt.Sscanf(ours[i]+" "+theirs[i], ":%d :%d", &a, &b); n != 2 || min(a, b) < 50 || max(a, b)-min(a, b) > 1 {
			return false
		}
	}
	return true
}

// TestConformanceRandom sends the same random commands to this server and to a real one.
func TestConformanceRandom(t *testing.T) {
	theirs := startReal(t)
	for seed := range uint64(30) {
		ours := newSimulated(Config{Now: time.Now})
		theirs.send(999, []string{"FLUSHALL"})
		theirs.receive(999)
		theirs.send(999, []string{"SCRIPT", "FLUSH"})
		theirs.receive(999)
		for conn := range theirs.conns {
			theirs.send(conn, []string{"RESET"})
			theirs.receive(conn)
		}
		generator := newGenerator(seed)
		var history []string
		for range 250 {
			conn, args := generator.next()
			ours.send(conn, args)
			theirs.send(conn, args)
			our, their := ours.receive(conn), theirs.receive(conn)
			history = append(history, fmt.Sprintf("@%d %q -> %q", conn, args, their))
			if our == their && !strings.HasPrefix(their, "+QUEUED") {
				our, their = stateOf(ours), stateOf(theirs)
			}
			if our != their && !withinASecond(our, their) {
				t.Fatalf("seed %d: replies differ\nours   %q\ntheirs %q\nhistory:\n%s", seed, our, their,
					strings.Join(history[max(0, len(history)-60):], "\n"))
			}
		}
	}
}

// stateOf shows the keys of the generator by type and expiry, so that a difference is seen when it arises.
func stateOf(on target) string {
	const observer = 998
	var state strings.Builder
	for _, key := range []string{"a", "b", "c", "h", "l", "z"} {
		on.send(observer, []string{"EVAL", "return {redis.call('type',KEYS[1]),redis.call('ttl',KEYS[1])}", "1", key})
		state.WriteString(on.receive(observer))
	}
	return state.String()
}

// generator makes random commands over what locks use. A draw in one place is as good as another: the point is that
// few keys, few values and few connections collide often.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 1))} }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

func (g generator) key() string { return g.pick("a", "b", "c") }

func (g generator) value() string {
	return g.pick("1", "10", "-3", "x", "token", "", "9223372036854775807", "007", "+5", " 1")
}

func (g generator) seconds() string {
	return g.pick("100", "200", "3600", "0", "-1", "x", "9223372036854775807")
}

func (g generator) millis() string { return g.pick("100000", "200000", "0", "-1", "x") }

// next returns a command and the connection that sends it.
func (g generator) next() (conn int, args []string) {
	templates := [](func() []string){
		g.stringCommand, g.stringCommand, g.expiryCommand, g.setCommand, g.setCommand, g.scriptCommand,
		g.transactionCommand, g.collectionCommand, g.collectionCommand,
	}
	args = templates[g.IntN(len(templates))]()
	if g.IntN(40) == 0 { // a wrong number of words
		if g.IntN(2) == 0 && len(args) > 1 {
			args = args[:len(args)-1]
		} else {
			args = append(args, "extra")
		}
	}
	return 1 + g.IntN(3), args
}

func (g generator) stringCommand() []string {
	k, v := g.key(), g.value()
	switch g.IntN(16) {
	case 0:
		return []string{"GET", k}
	case 1:
		return []string{"SETNX", k, v}
	case 2:
		return []string{"GETSET", k, v}
	case 3:
		return []string{"DEL", k, g.key()}
	case 4:
		return []string{"GETDEL", k}
	case 5:
		return []string{"INCR", k}
	case 6:
		return []string{"INCRBY", k, v}
	case 7:
		return []string{"DECRBY", k, v}
	case 8:
		return []string{"EXISTS", k, k, g.key()}
	case 9:
		return []string{"APPEND", k, v}
	case 10:
		return []string{"STRLEN", k}
	case 11:
		return []string{"MGET", k, g.key(), "none"}
	case 12:
		return []string{"MSETNX", k, v, g.key(), g.value()}
	case 13:
		return []string{"TYPE", k}
	case 14:
		return []string{g.pick("RENAME", "RENAMENX", "COPY"), k, g.key()}
	default:
		return []string{"DEL", "a", "b", "c"}
	}
}

func (g generator) setCommand() []string {
	args := []string{"SET", g.key(), g.value()}
	for range g.IntN(4) {
		switch g.IntN(7) {
		case 0:
			args = append(args, "nx")
		case 1:
			args = append(args, "XX")
		case 2:
			args = append(args, "GET")
		case 3:
			args = append(args, "KEEPTTL")
		case 4:
			args = append(args, "EX", g.seconds())
		case 5:
			args = append(args, "PX", g.millis())
		case 6:
			args = append(args, "PXAT", g.pick("1", "0", "x"))
		}
	}
	return args
}

func (g generator) expiryCommand() []string {
	k := g.key()
	switch g.IntN(10) {
	case 0, 1, 2:
		return []string{"TTL", k}
	case 3:
		return []string{"PERSIST", k}
	case 4:
		return []string{"EXPIRE", k, g.seconds()}
	case 5:
		return []string{"EXPIRE", k, g.seconds(), g.pick("NX", "XX", "GT", "LT", "foo")}
	case 6:
		return []string{"PEXPIRE", k, g.millis()}
	case 7:
		return []string{"GETEX", k, g.pick("EX", "PX"), g.pick("100000", "200000", "0")}
	case 8:
		return []string{"GETEX", k, "PERSIST"}
	default:
		return []string{g.pick("SETEX", "PSETEX"), k, g.millis(), g.value()}
	}
}

func (g generator) scriptCommand() []string {
	bodies := []string{
		"if redis.call('get',KEYS[1]) == ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end",
		"return redis.call('set',KEYS[1],ARGV[1],'NX','PX',100000)",
		"return redis.call('incr',KEYS[1])",
		"local r = redis.pcall('incr',KEYS[1]) if type(r) == 'table' then return r.err end return r",
		"return {redis.call('exists',KEYS[1]), redis.call('get',KEYS[1]), #ARGV, ARGV[1], false, 'x'}",
		"return redis.call('hset',KEYS[1],'f',ARGV[1])",
		"return redis.call('nosuch',KEYS[1])",
		"return redis.call('get')",
		"error('no')",
		"return 3.7",
		"redis.call('set',KEYS[1],0.1+0.2) return redis.call('get',KEYS[1])",
		"return cjson.encode({1,'a',{b=true}})",
	}
	body := bodies[g.IntN(len(bodies))]
	switch g.IntN(5) {
	case 0:
		return []string{"SCRIPT", "LOAD", body}
	case 1:
		return []string{"EVALSHA", sha1Hex(body), "1", g.key(), g.value()}
	case 2:
		return []string{"EVAL_RO", body, "1", g.key(), g.value()}
	case 3:
		return []string{"SCRIPT", "EXISTS", sha1Hex(body), "x"}
	default:
		return []string{"EVAL", body, g.pick("1", "1", "1", "0", "3", "-1", "x"), g.key(), g.value()}
	}
}

func (g generator) transactionCommand() []string {
	switch g.IntN(8) {
	case 0, 1:
		return []string{"MULTI"}
	case 2, 3, 4:
		return []string{"EXEC"}
	case 5:
		return []string{"WATCH", g.key()}
	case 6:
		return []string{"UNWATCH"}
	default:
		return []string{"DISCARD"}
	}
}

func (g generator) collectionCommand() []string {
	k, v := g.pick("h", "l", "z", "a"), g.pick("1", "2", "x")
	switch g.IntN(16) {
	case 0:
		return []string{"HSET", k, "f", v}
	case 1:
		return []string{"HGET", k, "f"}
	case 2:
		return []string{"HEXISTS", k, g.pick("f", "g")}
	case 3:
		return []string{"HINCRBY", k, "f", v}
	case 4:
		return []string{"HDEL", k, "f"}
	case 5:
		return []string{"HSETNX", k, "f", v}
	case 6:
		return []string{"LPUSH", k, v}
	case 7:
		return []string{"RPOP", k}
	case 8:
		return []string{"LLEN", k}
	case 9:
		return []string{"LRANGE", k, "0", "-1"}
	case 10:
		return []string{"ZADD", k, g.pick("1", "2.5", "x"), v}
	case 11:
		return []string{"ZRANGE", k, "0", "-1", "WITHSCORES"}
	case 12:
		return []string{"ZREM", k, v}
	case 13:
		return []string{"ZRANK", k, v}
	case 14:
		return []string{"LREM", k, "0", v}
	default:
		return []string{g.pick("ZPOPMIN", "ZCARD", "HLEN", "HGETALL", "TTL", "TYPE"), k}
	}
}
