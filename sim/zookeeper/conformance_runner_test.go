package zookeeper_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// target is a ZooKeeper under test: this package's or a real one.
type target interface {
	// dial opens a connection.
	dial() (net.Conn, error)
	// setCounter presets the counter behind the sequential names below a node. It ends all connections, as restart does.
	setCounter(path string, n int32) error
	// restart ends the server and starts it again with its data.
	restart()
}

// session is a session as its client knows it, and its connection.
type session struct {
	name       string
	generation int
	id         int64
	password   []byte
	wire       *wire // nil when there is no connection
	xid        int32
	over       bool // the session that id and password are of has ended
	quiet      bool // sends no pings
}

// runner runs a script against a target and shows the replies in a form in which two servers can be compared:
// transactions count from where the script began, sessions have the script's names, times are checked and left out.
type runner struct {
	t        *testing.T
	on       target
	root     string // the node that the script takes for its root, "" for the tree's own
	base     int64  // the last transaction before the script
	began    int64  // in milliseconds of wall time
	sessions map[string]*session
	names    map[int64]string // sessions by id
	times    map[int64]int64  // wall time by transaction
	at       string           // the line that runs
	shown    strings.Builder
}

func newRunner(t *testing.T, on target) *runner {
	return &runner{
		t: t, on: on, began: time.Now().UnixMilli(),
		sessions: map[string]*session{}, names: map[int64]string{}, times: map[int64]int64{},
	}
}

// inside is a script's path as the server knows it; outside is the way back.
func (r *runner) inside(path string) string {
	switch {
	case r.root == "" || !strings.HasPrefix(path, "/"):
		return path
	case path == "/":
		return r.root
	}
	return r.root + path
}

func (r *runner) outside(path string) string {
	if r.root == "" || !strings.HasPrefix(path, r.root) {
		return path
	}
	if path == r.root {
		return "/"
	}
	return strings.TrimPrefix(path, r.root)
}

// hung ends the test: a server that neither answers nor closes the connection is wrong in any case.
func (r *runner) hung(who string) {
	r.t.Fatalf("%s: neither a reply nor the end of the connection from %T at %q, after\n%s", who, r.on, r.at,
		r.shown.String())
}

func (r *runner) print(format string, args ...any) { fmt.Fprintf(&r.shown, format+"\n", args...) }

// run executes lines of a script and returns what happened. A line is a session's name and a request. Sessions open by
// use. Besides the requests of the protocol there are:
//
//	s1 connect timeout=4000      (a new session, in words; also zxid=, short)
//	s1 cut                       (drops the connection, not the session)
//	s1 reattach password=wrong   (takes up the session on another connection)
//	s1 expire                    (sends nothing more and waits until the server gives the session up)
//	s1 quiet                     (sends no more pings)
//	s1 await                     (waits for one event)
//	s1 multi [create /a; delete /b 0]
//	s1 pipeline [getData /a; setData /a]  (sends all before it reads a reply)
//	s1 send check /a             (waits for no reply)
//	s1 raw 42 00ff               (a request of any number with any body, in hex)
//	s1 bytes 7fffffff            (bytes in place of a frame; the server must close the connection)
//	word ruok
//	counter /a 2147483646        (presets what the next sequential child is called; cuts all connections)
//	restart
func (r *runner) run(script string) string {
	r.shown.Reset()
	for _, line := range strings.Split(script, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			r.at = line
			r.line(line)
		}
	}
	return r.shown.String()
}

func (r *runner) line(line string) {
	words := splitWords(line)
	switch words[0] {
	case "word":
		r.word(words[1])
		return
	case "counter":
		n, _ := strconv.ParseInt(words[2], 10, 32)
		if err := r.on.setCounter(words[1], int32(n)); err != nil {
			r.print("counter: %v", err)
		}
		r.gone(false)
		return
	case "restart":
		r.on.restart()
		r.gone(true)
		return
	}
	if len(words) < 2 {
		r.t.Fatalf("%q: want a session and a request", line)
	}
	s := r.sessions[words[0]]
	if s == nil {
		s = &session{name: words[0]}
		r.sessions[words[0]] = s
	}
	rest := strings.TrimSpace(strings.TrimPrefix(line, words[0]))
	switch words[1] {
	case "multi", "multiRead":
		text := strings.TrimSpace(strings.TrimPrefix(rest, words[1]))
		r.exchange(s, []operation{{name: words[1], options: map[string]string{"multi": text}}})
	case "pipeline":
		r.exchange(s, operations(strings.TrimPrefix(rest, words[1])))
	default:
		r.step(s, parseOperation(words[1:]))
	}
	r.settle()
}

// gone notes that the server has ended all connections.
func (r *runner) gone(aloud bool) {
	for _, name := range slices.Sorted(maps.Keys(r.sessions)) {
		r.ended(r.sessions[name], aloud)
	}
}

// step does what is not simply a request and its reply.
func (r *runner) step(s *session, op operation) {
	switch op.name {
	case "connect":
		if s.wire != nil {
			r.t.Fatalf("%s is connected", s.name)
		}
		s.id = 0
		r.connect(s, op, true)
	case "reattach":
		r.connect(s, op, true)
	case "cut":
		if s.wire != nil {
			_ = s.wire.conn.Close()
			s.wire = nil
		}
	case "quiet":
		s.quiet = true
	case "expire":
		s.quiet = true
		r.ended(s, false)
		s.over = true
	case "await":
		if frame, err := s.wire.receive(); err == nil {
			r.showEvent(s, frame)
		} else {
			r.print("%s: %v", s.name, err)
		}
	case "send":
		r.ready(s)
		r.send(s, operation{op.args[0], op.args[1:], op.options})
	case "bytes":
		r.ready(s)
		_, _ = s.wire.conn.Write(unhex(r.t, op.arg(0)))
		r.ended(s, true)
	default:
		r.exchange(s, []operation{op})
		if op.name == "close" && s.wire != nil {
			r.ended(s, false)
			s.over = true
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatalf("%q is not hex", text)
	}
	return b
}

// ready sees to it that a session has a connection.
func (r *runner) ready(s *session) {
	if s.wire != nil {
		return
	}
	if s.over {
		s.id = 0
	}
	r.connect(s, operation{options: map[string]string{}}, false)
}

// connect opens a connection and takes up the session on it, or begins a new one.
func (r *runner) connect(s *session, op operation, aloud bool) {
	conn, err := r.on.dial()
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	old := s.wire
	s.wire, s.quiet, s.xid = newWire(conn), false, 0
	var w writer
	timeout := int32(10_000)
	if text, given := op.options["timeout"]; given {
		n, _ := strconv.Atoi(text)
		timeout = int32(n)
	}
	w.int(0)
	seen := op.long("zxid")
	if seen != 0 {
		seen += r.base
	}
	w.long(seen)
	w.int(timeout)
	password := s.password
	if s.id == 0 {
		password, s.over = make([]byte, 16), false
	}
	switch {
	case op.options["password"] == "null":
		password = nil
	case op.options["password"] != "":
		password = []byte(op.options["password"])
	}
	if op.options["session"] != "" {
		s.id = op.long("session")
	}
	w.long(s.id)
	w.buffer(password)
	if !slices.Contains(op.args, "short") {
		w.bool(slices.Contains(op.args, "readOnly"))
	}
	s.wire.send(w.b)
	if !r.connected(s, aloud) && op.options["password"] == "" {
		s.over = true
	}
	if old != nil {
		r.drain(s.name+", the old connection", old)
	}
}

// connected reads the answer to a connect request. It tells whether the server agreed.
func (r *runner) connected(s *session, aloud bool) bool {
	frame, err := s.wire.receive()
	if err != nil {
		r.print("%s: %v in place of a connect response", s.name, err)
		s.wire = nil
		return false
	}
	in := &reader{b: frame}
	version, timeout, id, password := in.int(), in.int(), in.long(), in.buffer()
	text := fmt.Sprintf("%s: connected version=%d timeout=%d", s.name, version, timeout)
	if len(in.b) == 1 {
		text += fmt.Sprintf(" readOnly=%t", in.bool())
	} else {
		text += fmt.Sprintf(" and %d bytes", len(in.b))
	}
	if id == 0 {
		text += fmt.Sprintf(" session=none password=%d bytes, zero %t", len(password), zero(password))
	} else {
		if id != s.id {
			s.generation++
			r.names[id] = s.name
			if s.generation > 1 {
				r.names[id] = fmt.Sprintf("%s.%d", s.name, s.generation)
			}
		}
		text += " session=" + r.owner(id)
		if len(password) != 16 || zero(password) {
			text += fmt.Sprintf(" password=%x", password)
		}
	}
	if in.err != nil {
		text += ": " + in.err.Error()
	}
	if aloud || id == 0 {
		r.print("%s", text)
	}
	if id == 0 {
		r.ended(s, true)
		return false
	}
	s.id, s.password = id, password
	return true
}

func zero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

// ended reads until the server closes the connection.
func (r *runner) ended(s *session, aloud bool) {
	if s.wire == nil {
		return
	}
	frames := s.wire
	s.wire = nil
	for {
		frame, err := frames.receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.hung(s.name)
			} else if aloud {
				r.print("%s: closed", s.name)
			}
			_ = frames.conn.Close()
			return
		}
		r.showEvent(s, frame)
	}
}

// drain reads what is left of a connection that the server must have closed.
func (r *runner) drain(name string, old *wire) {
	for {
		frame, err := old.receive()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.hung(name)
			}
			r.print("%s: closed", name)
			_ = old.conn.Close()
			return
		}
		r.showEvent(&session{name: name}, frame)
	}
}

// exchange sends requests and shows what comes until the last of them is answered.
func (r *runner) exchange(s *session, ops []operation) {
	r.ready(s)
	if s.wire == nil {
		return
	}
	xids := make([]int32, len(ops))
	for i, op := range ops {
		xids[i] = r.send(s, op)
	}
	for i, op := range ops {
		if !r.reply(s, xids[i], r.request(op).show) {
			return
		}
	}
}

// request finds out how an operation is sent and shown.
func (r *runner) request(op operation) request {
	if op.name != "raw" {
		kind, known := requests[op.name]
		if !known {
			r.t.Fatalf("%q is no request", op.name)
		}
		return kind
	}
	code, _ := strconv.Atoi(op.arg(0))
	return request{
		code:   int32(code),
		encode: func(r *runner, w *writer, op operation) { w.b = append(w.b, unhex(r.t, op.arg(1))...) },
		show:   func(_ *runner, in *reader) string { return fmt.Sprintf(" %.64x", in.take(len(in.b))) },
	}
}

// send sends a request and returns the number that its reply will have.
func (r *runner) send(s *session, op operation) int32 {
	kind := r.request(op)
	xid := kind.xid
	if xid == 0 {
		s.xid++
		xid = s.xid
	}
	if text, given := op.options["xid"]; given {
		n, _ := strconv.Atoi(text)
		xid = int32(n)
	}
	var w writer
	w.int(xid)
	w.int(kind.code)
	kind.encode(r, &w, op)
	s.wire.send(w.b)
	return xid
}

// reply shows events and then the reply to a request; false if the connection ended.
func (r *runner) reply(s *session, xid int32, show func(*runner, *reader) string) bool {
	for {
		frame, err := s.wire.receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				r.print("%s: closed", s.name)
				_ = s.wire.conn.Close()
				s.wire = nil
			} else {
				r.hung(s.name)
			}
			return false
		}
		in := &reader{b: frame}
		got, zxid, code := in.int(), in.long(), in.int()
		if got == -1 && xid != -1 {
			r.showEvent(s, frame)
			continue
		}
		text := fmt.Sprintf("%s: z%d %s", s.name, r.relative(zxid), errorName(code))
		if got != xid {
			text += fmt.Sprintf(" xid=%d for %d", got, xid)
		}
		if code == 0 {
			text += show(r, in)
		}
		if in.err != nil {
			text += ": " + in.err.Error()
		} else if len(in.b) > 0 {
			text += fmt.Sprintf(" and %d bytes", len(in.b))
		}
		r.print("%s", text)
		if errorNames[code] == "Unimplemented" || errorNames[code] == "AuthFailed" {
			r.ended(s, true) // the server hangs up, but not at once
			return false
		}
		return true
	}
}

// settle shows what a request did to the other sessions. A ping goes the way of every request, so what a session was
// sent because of earlier ones comes before its answer.
func (r *runner) settle() {
	for _, name := range slices.Sorted(maps.Keys(r.sessions)) {
		s := r.sessions[name]
		if s.wire == nil || s.quiet {
			continue
		}
		var w writer
		w.int(-2)
		w.int(11)
		s.wire.send(w.b)
		r.pong(s)
	}
}

// pong reads up to the answer to a ping.
func (r *runner) pong(s *session) {
	for {
		frame, err := s.wire.receive()
		if errors.Is(err, io.EOF) {
			r.print("%s: closed", s.name)
			_ = s.wire.conn.Close()
			s.wire = nil
			return
		} else if err != nil {
			r.hung(s.name)
		}
		in := &reader{b: frame}
		if in.int() == -2 {
			if _, code := in.long(), in.int(); code != 0 || len(in.b) != 0 {
				r.print("%s: ping answered by %x", s.name, frame)
			}
			return
		}
		r.showEvent(s, frame)
	}
}

// showEvent shows a frame that answers nothing.
func (r *runner) showEvent(s *session, frame []byte) {
	in := &reader{b: frame}
	xid, zxid, code := in.int(), in.long(), in.int()
	if xid != -1 {
		r.print("%s: unexpected reply %d z%d %s and %d bytes", s.name, xid, zxid-r.base, errorName(code), len(in.b))
		return
	}
	kind, state, path := in.int(), in.int(), in.string()
	text := fmt.Sprintf("%s: event %s %s", s.name, eventNames[kind], r.outside(path))
	if zxid != -1 || code != 0 || state != 3 || len(in.b) != 0 || in.err != nil {
		text += fmt.Sprintf(" (zxid=%d code=%d state=%d, %d bytes left, %v)", zxid, code, state, len(in.b), in.err)
	}
	r.print("%s", text)
}

// owner names the session behind an ephemeralOwner, or the kind of node that the field stands for.
func (r *runner) owner(id int64) string {
	if name, known := r.names[id]; known {
		return name
	}
	switch {
	case id == 0:
		return "none"
	case id == -1<<63:
		return "container"
	case uint64(id)>>56 == 0xff:
		return fmt.Sprintf("ttl:%d", id&(1<<56-1))
	}
	return fmt.Sprintf("%#x", id)
}

func (r *runner) showStat(s stat) string {
	text := fmt.Sprintf(" czxid=%d mzxid=%d pzxid=%d version=%d,%d,%d owner=%s length=%d children=%d",
		r.relative(s.czxid), r.relative(s.mzxid), r.relative(s.pzxid), s.version, s.cversion, s.aversion,
		r.owner(s.ephemeralOwner), s.dataLength, s.numberOfChildren)
	return text + r.checkTime("ctime", s.czxid, s.ctime) + r.checkTime("mtime", s.mzxid, s.mtime)
}

// relative counts from the beginning of the script, except for what is older than every script.
func (r *runner) relative(zxid int64) int64 {
	if zxid <= 0 {
		return zxid
	}
	return zxid - r.base
}

// checkTime is silent about a time that lies within the test and is the same for all that one transaction did.
func (r *runner) checkTime(name string, zxid, at int64) string {
	known, seen := r.times[zxid]
	if !seen {
		r.times[zxid] = at
	}
	now := time.Now().UnixMilli()
	switch {
	case zxid == 0 && at == 0, zxid != 0 && !seen && r.began-1000 <= at && at <= now+1000, seen && at == known:
		return ""
	case seen:
		return fmt.Sprintf(" %s=%dms after the transaction's", name, at-known)
	}
	return fmt.Sprintf(" %s=%dms after now", name, at-now)
}

// word sends a four-letter word. Figures that depend on the machine or on the moment are left out.
func (r *runner) word(word string) {
	conn, err := r.on.dial()
	if err != nil {
		r.t.Fatalf("dial: %v", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	_, _ = conn.Write([]byte(word))
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 {
		r.print("%s: %v", word, err)
		return
	}
	lines := strings.SplitAfter(string(answer), "\n")
	for _, line := range lines {
		label, _, found := strings.Cut(strings.TrimSpace(line), ":")
		switch {
		case line == "":
		case found && !slices.Contains([]string{"Mode", "Node count", "Zxid", "Connections"}, label):
			r.print("%s: %s: ...", word, label)
		case strings.HasSuffix(line, "\n"):
			r.print("%s: %s", word, strings.TrimSpace(line))
		default:
			r.print("%s: %s, without a line end", word, strings.TrimSpace(line))
		}
	}
	if len(answer) == 0 {
		r.print("%s: closed", word)
	}
}

// finish closes every session, so that the server is quiet for the next script.
func (r *runner) finish() {
	for _, name := range slices.Sorted(maps.Keys(r.sessions)) {
		s := r.sessions[name]
		if s.id == 0 || s.over {
			continue
		}
		r.ready(s)
		if s.wire != nil {
			r.exchange(s, []operation{{name: "close", options: map[string]string{}}})
			r.ended(s, false)
		}
	}
}
