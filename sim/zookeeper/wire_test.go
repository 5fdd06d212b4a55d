package zookeeper

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// recorder is a Port that keeps what was written, frame by frame.
type recorder struct {
	frames [][]byte
	closed bool
}

func (r *recorder) Write(p []byte) { r.frames = append(r.frames, bytes.Clone(p)) }
func (r *recorder) Close()         { r.closed = true }

// bench is a Server with clocks and a timer that tests move by hand.
type bench struct {
	*Server
	elapsed time.Duration
	due     time.Duration
	fire    func()
	seen    []Executed
}

func newBench() *bench {
	b := &bench{elapsed: 0x5a5a5a5a * time.Millisecond} // ids of sessions come from it and must be hard to hit upon
	b.Server = New(Config{
		Wall:    func() time.Time { return time.UnixMilli(1_000_000).Add(b.elapsed) },
		Elapsed: func() time.Duration { return b.elapsed },
		After: func(d time.Duration, f func()) func() {
			b.due, b.fire = b.elapsed+d, f
			return func() { b.fire = nil }
		},
		OnRequest: func(e Executed) {
			e.Fired = slices.Clone(e.Fired)
			b.seen = append(b.seen, e)
		},
	})
	return b
}

// pass moves the clocks to the next time at which the timer fires, until d has passed.
func (b *bench) pass(d time.Duration) {
	end := b.elapsed + d
	for b.fire != nil && b.due <= end {
		b.elapsed = b.due
		fire := b.fire
		b.fire = nil
		fire()
	}
	b.elapsed = end
}

func (b *bench) dial(id uint64) (*Conn, *recorder) {
	r := &recorder{}
	return b.Connect(id, "127.0.0.1", r), r
}

func (b *bench) dialSession(id uint64) (*Conn, *recorder) {
	c, r := b.dial(id)
	c.Bytes(connectFrame(0, nil))
	r.frames = nil
	return c, r
}

func createFrame(xid int32, path string, flags int32) []byte {
	body := appendBuffer(appendString(nil, path), []byte{})
	return requestFrame(xid, OpCreate, appendInt32(appendACL(body, openACL), flags))
}

func pathFrame(xid int32, op Op, path string, watch bool) []byte {
	return requestFrame(xid, op, appendBool(appendString(nil, path), watch))
}

// TestFramesInAnyPortions cuts the same bytes in different places: the answers are the same.
func TestFramesInAnyPortions(t *testing.T) {
	stream := slices.Concat(connectFrame(0, make([]byte, 16)), createFrame(1, "/a", 0),
		pathFrame(2, OpGetData, "/a", true), requestFrame(-2, OpPing, nil), requestFrame(3, OpCloseSession, nil))
	run := func(portions func(rest []byte) int) string {
		c, r := newBench().dial(1)
		for rest := stream; len(rest) > 0; {
			n := portions(rest)
			c.Bytes(rest[:n])
			rest = rest[n:]
		}
		if !r.closed {
			t.Error("not closed after closeSession")
		}
		return hex.EncodeToString(slices.Concat(r.frames...))
	}
	want := run(func(rest []byte) int { return len(rest) })
	rapid.Check(t, func(t *rapid.T) {
		if got := run(func(rest []byte) int { return rapid.IntRange(1, len(rest)).Draw(t, "n") }); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// TestEventComesBeforeTheReply: what a client reads after a change is preceded by the event that tells of it.
func TestEventComesBeforeTheReply(t *testing.T) {
	b := newBench()
	one, seen := b.dialSession(1)
	two, _ := b.dialSession(2)
	one.Bytes(pathFrame(1, OpExists, "/a", true))
	two.Bytes(createFrame(1, "/a", 0))
	one.Bytes(pathFrame(2, OpExists, "/a", false))
	var xids []int32
	for _, frame := range seen.frames {
		d := decoder{rest: frame[4:]}
		xids = append(xids, d.int32())
	}
	if want := []int32{1, eventXid, 2}; !slices.Equal(xids, want) {
		t.Errorf("xids %v, want %v", xids, want)
	}
	if fired := b.seen[3].Fired; len(fired) != 1 || fired[0] != (Event{1, NodeCreated, "/a"}) {
		t.Errorf("fired %v", fired)
	}
}

func TestExpiryClosesTheConnection(t *testing.T) {
	b := newBench()
	one, r := b.dialSession(1)
	two, _ := b.dialSession(2)
	one.Bytes(createFrame(1, "/e", FlagEphemeral))
	for range 5 {
		b.pass(4 * time.Second)
		two.Bytes(requestFrame(-2, OpPing, nil))
	}
	if !r.closed || len(b.Sessions()) != 1 {
		t.Errorf("closed %v, sessions %v", r.closed, b.Sessions())
	}
	if two.gone {
		t.Error("a client that pings is cut off")
	}
	last := b.seen[slices.IndexFunc(b.seen, func(e Executed) bool { return e.Op == OpExpire })]
	if last.Session != one.client.Session || last.Conn != 0 {
		t.Errorf("%+v", last)
	}
}

// TestSweepOfAServer: the timer is set for a container as soon as there is one, though no session ends for long.
func TestSweepOfAServer(t *testing.T) {
	b := newBench()
	b.state.sweepEvery = 1_000
	one, _ := b.dialSession(1)
	body := appendBuffer(appendString(nil, "/box"), nil)
	one.Bytes(requestFrame(1, OpCreateContainer, appendInt32(appendACL(body, openACL), ModeContainer)))
	one.Bytes(createFrame(2, "/box/child", 0))
	b.pass(1500 * time.Millisecond)
	one.Bytes(requestFrame(3, OpDelete, appendInt32(appendString(nil, "/box/child"), -1)))
	if len(b.State().Children("/")) != 2 {
		t.Error("the container is gone before the sweep")
	}
	b.pass(500 * time.Millisecond)
	if got := b.State().Children("/"); len(got) != 1 || b.seen[len(b.seen)-1].Op != OpDeleteContainer {
		t.Errorf("after the sweep: %v", got)
	}
}

func TestHooksOfFaults(t *testing.T) {
	b := newBench()
	one, r := b.dialSession(1)
	one.Bytes(createFrame(1, "/q", 0))
	if !b.SetCounter("/q", 2147483647) || b.SetCounter("/none", 1) {
		t.Error("SetCounter")
	}
	one.Bytes(createFrame(2, "/q/n-", FlagSequential))
	one.Bytes(createFrame(3, "/q/n-", FlagSequential|FlagEphemeral))
	if got := strings.Join(b.State().Children("/q"), " "); got != "n--2147483648 n-2147483647" {
		t.Error(got)
	}
	one.Bytes(pathFrame(4, OpGetChildren, "/q", true))
	r.frames = nil
	if code := b.Delete("/q"); code != NotEmpty {
		t.Error(code)
	}
	if code := b.Delete("/q/n-2147483647"); code != OK || len(r.frames) != 1 {
		t.Errorf("%v, %d events", code, len(r.frames))
	}
	if b.Delete("/q/n-2147483647") != NoNode || b.Delete("/zookeeper") != BadArguments {
		t.Error("Delete of what cannot be deleted")
	}
	if b.ExpireSession(7) || !b.ExpireSession(one.client.Session) || !r.closed {
		t.Error("ExpireSession")
	}
	if got := b.State().Children("/q"); len(got) != 0 {
		t.Errorf("left %q", got)
	}
}

func TestCounterThatSticks(t *testing.T) {
	s, c := NewState(Settings{CounterSticks: true}, Moment{}), NewClient(1, "127.0.0.1")
	s.Connect(c, &ConnectRequest{Timeout: 10_000}, Moment{})
	s.SetCounter("/zookeeper", 2147483646)
	create := &Request{Op: OpCreate, Path: "/zookeeper/n-", ACL: openACL, TTL: -1, Flags: FlagSequential}
	for i, want := range []Code{OK, OK, NodeExists, NodeExists} {
		if p := s.Execute(c, create, Moment{}); p.Err != want {
			t.Errorf("create %d: %v", i, p.Err)
		}
	}
	if code := s.Delete("/zookeeper/n-2147483647"); code != OK {
		t.Fatal(code)
	}
	if p := s.Execute(c, create, Moment{}); p.Path != "/zookeeper/n-2147483647" {
		t.Errorf("%v %s", p.Err, p.Path)
	}
}

func TestFourLetterWords(t *testing.T) {
	b := newBench()
	b.dialSession(1)
	for word, want := range map[string]string{
		"ruok": "imok", "isro": "rw", "srvr": "Mode: standalone\nNode count: 5\n", "stat": "Clients:\n /127.0.0.1:1[1]",
		"conf": "tickTime=2000\n",
	} {
		c, r := b.dial(2)
		c.Bytes([]byte(word[:2]))
		c.Bytes([]byte(word[2:]))
		if len(r.frames) != 1 || !strings.Contains(string(r.frames[0]), want) || !r.closed {
			t.Errorf("%s: %q, closed %v", word, r.frames, r.closed)
		}
	}
}

// TestGarbageClosesOneConnection lists what cannot be read, each with the frames that are answered before.
func TestGarbageClosesOneConnection(t *testing.T) {
	greeting := connectFrame(0, nil)
	for name, bytes := range map[string][]byte{
		"a frame too long":         {0, 0x10, 0, 0},
		"a negative length":        {0xff, 0xff, 0xff, 0xff},
		"a short greeting":         {0, 0, 0, 4, 0, 0, 0, 0},
		"a short header":           slices.Concat(greeting, []byte{0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0}),
		"an unknown request":       slices.Concat(greeting, requestFrame(1, 77, nil)),
		"a frame too long, later":  slices.Concat(greeting, []byte{0x7f, 0xff, 0xff, 0xff}),
		"auth that makes no sense": slices.Concat(greeting, requestFrame(-4, OpAuth, []byte{1})),
		"auth of an unknown kind":  slices.Concat(greeting, requestFrame(-4, OpAuth, authBody("kerberos", "x"))),
	} {
		b := newBench()
		other, r := b.dialSession(1)
		c, garbage := b.dial(2)
		c.Bytes(bytes)
		if !garbage.closed {
			t.Errorf("%s: not closed", name)
		}
		c.Bytes([]byte("more"))
		other.Bytes(requestFrame(-2, OpPing, nil))
		if len(r.frames) != 1 || r.closed {
			t.Errorf("%s: another connection suffers", name)
		}
	}
}

func authBody(scheme, credentials string) []byte {
	return appendString(appendString(appendInt32(nil, 0), scheme), credentials)
}

func TestDescribe(t *testing.T) {
	setData := requestFrame(1, OpSetData, appendInt32(appendBuffer(appendString(nil, "/a"), []byte("x")), 3))
	long := requestFrame(1, OpSetData, appendInt32(appendBuffer(appendString(nil, "/a"), make([]byte, 100)), -1))
	multi := appendMultiHeader(nil, OpDelete, false, -1)
	multi = appendInt32(appendString(multi, "/a"), -1)
	multi = appendMultiHeader(multi, opError, true, -1)
	watches := appendInt64(nil, 5)
	for _, list := range [][]string{{"/d"}, {"/e"}, {"/c"}} {
		watches = appendStrings(watches, list)
	}
	for want, frame := range map[string][]byte{
		"connect":                                    connectFrame(0, make([]byte, 16)),
		"connect 0x100000000000001":                  connectFrame(1<<56|1, make([]byte, 16)),
		"create /a":                                  createFrame(1, "/a", 0),
		"create /a/n- ephemeral-sequential":          createFrame(1, "/a/n-", 3),
		"exists /a watch":                            pathFrame(1, OpExists, "/a", true),
		"getChildren /a":                             pathFrame(1, OpGetChildren2, "/a", false),
		"delete /a version 4":                        requestFrame(1, OpDelete, appendInt32(appendString(nil, "/a"), 4)),
		"setData /a version 3 x":                     setData,
		"setData /a 100 bytes, sum 17bb1103c92c502f": long,
		"multi delete /a":                            requestFrame(1, OpMulti, multi),
		"setWatches /d /e /c":                        requestFrame(-8, OpSetWatches, watches),
		"auth digest":                                requestFrame(-4, OpAuth, authBody("digest", "user:secret")),
		"ping":                                       requestFrame(-2, OpPing, nil),
		"closeSession":                               requestFrame(9, OpCloseSession, nil),
		"getData malformed":                          requestFrame(9, OpGetData, nil),
		"op 77":                                      requestFrame(9, 77, nil),
	} {
		if got := strings.Join(Describe(frame), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, frame := range [][]byte{nil, []byte("ruok"), createFrame(1, "/a", 0)[:9], append(createFrame(1, "/a", 0), 0)} {
		if got := Describe(frame); got != nil {
			t.Errorf("%q for %q", got, frame)
		}
	}
}

func TestDescribeReply(t *testing.T) {
	for want, frame := range map[string][]byte{
		"event NodeDeleted /a":     appendEvent(nil, Event{1, NodeDeleted, "/a"}),
		"connected 0x100000000000": appendConnectReply(nil, &ConnectReply{Session: 1 << 44}, true),
		"expired":                  appendConnectReply(nil, &ConnectReply{}, false),
		"pong":                     appendReply(nil, &Reply{Op: OpPing, Xid: 7}),
		"reply ok":                 appendReply(nil, &Reply{Op: OpDelete, Xid: 7}),
		"reply NoNode":             appendReply(nil, &Reply{Op: OpDelete, Xid: 7, Err: NoNode}),
		"":                         []byte("imok"),
	} {
		if got := strings.Join(DescribeReply(frame), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzBytes feeds a connection anything: it must neither panic nor grow, and another connection must still be answered.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("ruok"))
	f.Add(connectFrame(0, make([]byte, 16)))
	f.Add(slices.Concat(connectFrame(0, nil), createFrame(1, "/a", 3), pathFrame(2, OpGetChildren2, "/", true)))
	f.Add(slices.Concat(connectFrame(0, nil), requestFrame(3, OpMulti, appendMultiHeader(nil, opError, true, -1))))
	f.Add(slices.Concat(connectFrame(0, nil), requestFrame(-4, OpAuth, authBody("digest", "user:secret"))))
	f.Add(slices.Concat(connectFrame(0, nil), requestFrame(-8, OpSetWatches, make([]byte, 20)),
		requestFrame(4, OpCloseSession, nil)))
	f.Add([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, p []byte) {
		Describe(p)
		DescribeReply(p)
		b := newBench()
		other, r := b.dialSession(1)
		c, _ := b.dial(2)
		for len(p) > 0 {
			n := min(1+int(p[0]&31), len(p))
			c.Bytes(p[:n])
			p = p[n:]
		}
		if len(c.buffer) > maxFrame+4 {
			t.Fatalf("%d bytes kept", len(c.buffer))
		}
		b.pass(time.Second)
		other.Bytes(pathFrame(1, OpExists, "/zookeeper", false))
		if last := r.frames[len(r.frames)-1]; len(last) != 4+16+68 {
			t.Fatalf("another connection got %x", last)
		}
		checkTree(t, b.state)
	})
}

// checkTree holds what is true of every tree: each node but the root is listed by its parent, each parent counts its
// children, and each ephemeral node belongs to a session that knows of it.
func checkTree(t *testing.T, s *State) {
	listed, owned := 0, 0
	for path, n := range s.tree.nodes {
		if path == "" || path == rootPath {
			continue
		}
		parent, _ := parentOf(path)
		if above := s.tree.nodes[parent]; above == nil || !slices.Contains(above.children.list(nil), path[len(parent)+1:]) {
			t.Fatalf("%s is not listed by its parent", path)
		}
		if session := s.sessions[n.owner]; session != nil {
			owned++
			if !slices.Contains(session.ephemerals.list(nil), path) {
				t.Fatalf("session %x does not know of %s", n.owner, path)
			}
		} else if ownedBySession(n.owner) {
			t.Fatalf("%s belongs to nobody", path)
		}
		listed += n.children.size
	}
	if listed += s.tree.nodes[""].children.size; listed != len(s.tree.nodes)-2 {
		t.Fatalf("%d nodes listed as children, %d are there", listed, len(s.tree.nodes)-2)
	}
	for _, session := range s.sessions {
		owned -= session.ephemerals.size
	}
	if owned != 0 {
		t.Fatalf("the sessions know of %d ephemeral nodes too many", -owned)
	}
}
