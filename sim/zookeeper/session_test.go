package zookeeper

import (
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestPasswordOf compares with what a real server was seen to hand out.
func TestPasswordOf(t *testing.T) {
	password := passwordOf(0x0100004e2f460001)
	if got := hex.EncodeToString(password[:]); got != "6bcb407fa514b618eb2312a52a9e5d6d" {
		t.Error(got)
	}
}

// harness drives a State by hand.
type harness struct {
	state *State
	now   Moment
	conns uint64
}

func newHarness(settings Settings) *harness {
	h := &harness{now: Moment{Wall: 1_000_000, Elapsed: 5_000}}
	h.state = NewState(settings, h.now)
	return h
}

// open connects a client with a time-out in milliseconds, to a session if there is one.
func (h *harness) open(timeout int32, old *Client) *Client {
	h.conns++
	c := NewClient(h.conns, "10.0.0.1")
	r := ConnectRequest{Timeout: timeout}
	if old != nil {
		password := passwordOf(old.Session)
		r.Session, r.Password = old.Session, password[:]
	}
	reply, refused := h.state.Connect(c, &r, h.now)
	if refused || reply.Session == 0 {
		return nil
	}
	return c
}

func (h *harness) do(c *Client, r Request) *Reply {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer:
		r.ACL, r.TTL = openACL, -1
	case OpCreateTTL:
		r.ACL = openACL
	case OpDelete, OpSetData:
		r.Version = -1
	}
	p := h.state.Execute(c, &r, h.now)
	if p == nil {
		return &Reply{Err: SessionExpired}
	}
	return p
}

// pass lets time go by and does what falls due, at the instants at which it does.
func (h *harness) pass(d time.Duration) {
	end := h.now.Elapsed + d.Milliseconds()
	for {
		next, ok := h.state.Next()
		if !ok || next > end {
			break
		}
		h.to(max(next, h.now.Elapsed))
		for more := true; more; {
			_, more = h.state.Tick(h.now)
		}
	}
	h.to(end)
}

func (h *harness) to(elapsed int64) {
	h.now.Wall += elapsed - h.now.Elapsed
	h.now.Elapsed = elapsed
}

func (h *harness) exists(path string) bool {
	_, _, ok := h.state.Peek(path)
	return ok
}

// TestExpiryIsLateByAtMostATick holds for every time-out, tick and time of the last sign of life.
func TestExpiryIsLateByAtMostATick(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := rapid.Int64Range(1, 5_000).Draw(t, "tick")
		h := newHarness(Settings{Tick: time.Duration(tick) * time.Millisecond})
		h.to(5_000 + rapid.Int64Range(0, 20_000).Draw(t, "start"))
		asked := rapid.Int32Range(-5, 100_000).Draw(t, "time-out")
		c := h.open(asked, nil)
		timeout := h.state.Sessions()[0].Timeout
		if timeout != min(max(int64(asked), 2*tick), 20*tick) {
			t.Fatalf("asked for %d, got %d", asked, timeout)
		}
		last := h.now.Elapsed
		for range rapid.IntRange(0, 3).Draw(t, "pings") {
			h.pass(time.Duration(rapid.Int64Range(0, timeout).Draw(t, "pause")) * time.Millisecond)
			if h.do(c, Request{Op: OpPing}).Err != OK {
				t.Fatal("expired too early")
			}
			last = h.now.Elapsed
		}
		expiry, ok := h.state.Next()
		if !ok || expiry <= last+timeout || expiry > last+timeout+tick || expiry%tick != 0 {
			t.Fatalf("silent since %d, time-out %d, tick %d: expires at %d", last, timeout, tick, expiry)
		}
		h.pass(time.Duration(expiry-1-h.now.Elapsed) * time.Millisecond)
		if len(h.state.Sessions()) != 1 {
			t.Fatal("gone before its time")
		}
		h.pass(time.Millisecond)
		if len(h.state.Sessions()) != 0 {
			t.Fatal("still there after its time")
		}
	})
}

func TestExpiryRemovesEphemeralsInOneTransaction(t *testing.T) {
	h := newHarness(Settings{})
	a, b := h.open(4_000, nil), h.open(40_000, nil)
	h.do(a, Request{Op: OpCreate, Path: "/p"})
	h.do(a, Request{Op: OpCreate, Path: "/p/one", Flags: FlagEphemeral})
	h.do(a, Request{Op: OpCreate, Path: "/p/two", Flags: FlagEphemeral})
	h.do(b, Request{Op: OpGetChildren, Path: "/p", Watch: true})
	h.do(b, Request{Op: OpExists, Path: "/p/one", Watch: true})
	h.do(b, Request{Op: OpExists, Path: "/p/two", Watch: true})
	before := h.state.Zxid()
	h.to(12_000)
	if done, ok := h.state.Tick(h.now); !ok || done.Session != a.Session {
		t.Fatalf("%v %v", done, ok)
	}
	want := []Event{{2, NodeDeleted, "/p/one"}, {2, NodeChildrenChanged, "/p"}, {2, NodeDeleted, "/p/two"}}
	if got := h.state.Events; !slices.Equal(got, want) {
		t.Errorf("events %v", got)
	}
	if got := h.state.Closing; !slices.Equal(got, []uint64{1}) {
		t.Errorf("closes %v", got)
	}
	if h.state.Zxid() != before+1 || h.exists("/p/one") || !h.exists("/p") {
		t.Error("not one transaction that removes the ephemeral nodes")
	}
	if h.do(a, Request{Op: OpExists, Path: "/p"}).Err != SessionExpired {
		t.Error("a session that is over is answered")
	}
}

func TestAttachAgain(t *testing.T) {
	h := newHarness(Settings{})
	a := h.open(10_000, nil)
	h.do(a, Request{Op: OpCreate, Path: "/e", Flags: FlagEphemeral})
	again := h.open(6_000, a)
	if again == nil || again.Session != a.Session || !slices.Equal(h.state.Closing, []uint64{a.Conn}) {
		t.Fatalf("%+v, closes %v", again, h.state.Closing)
	}
	h.state.Disconnect(a) // what closing does must not detach the new connection
	if info := h.state.Sessions()[0]; !info.Attached || info.Conn != again.Conn || info.Timeout != 10_000 {
		t.Errorf("%+v", info)
	}
	if at, _ := h.state.Next(); at != 12_000 { // 5 s and the new connection's 6 s
		t.Errorf("expires at %d", at)
	}

	wrong := NewClient(9, "10.0.0.1")
	reply, refused := h.state.Connect(wrong, &ConnectRequest{Session: a.Session, Password: make([]byte, 16)}, h.now)
	if refused || reply != (ConnectReply{}) || !slices.Equal(h.state.Closing, []uint64{again.Conn}) {
		t.Errorf("wrong password: %v %v, closes %v", reply, refused, h.state.Closing)
	}
	if !h.exists("/e") {
		t.Error("a wrong password ended the session")
	}
	if _, refused := h.state.Connect(wrong, &ConnectRequest{LastZxid: 99}, h.now); !refused {
		t.Error("a client that has seen the future was let in")
	}
}

func TestRestart(t *testing.T) {
	h := newHarness(Settings{})
	a := h.open(10_000, nil)
	h.do(a, Request{Op: OpCreate, Path: "/e", Flags: FlagEphemeral})
	h.do(a, Request{Op: OpExists, Path: "/e", Watch: true})
	h.pass(7 * time.Second)
	h.state.Restart(false, h.now)
	if at, _ := h.state.Next(); at != 24_000 { // 12 s and the time-out
		t.Errorf("expires at %d", at)
	}
	if b := h.open(10_000, nil); b.Session <= a.Session {
		t.Errorf("session %x after %x", b.Session, a.Session)
	}
	if again := h.open(10_000, a); again == nil || h.do(again, Request{Op: OpDelete, Path: "/e"}).Err != OK {
		t.Error("the session is lost")
	} else if len(h.state.Events) != 0 {
		t.Error("a watch outlived the restart")
	}
	h.state.Restart(true, h.now)
	if len(h.state.Sessions()) != 0 || h.exists("/e") || h.state.Zxid() != 0 || h.open(10_000, a) != nil {
		t.Error("an empty restart left something")
	}
}

func TestSweep(t *testing.T) {
	h := newHarness(Settings{Sweep: 10 * time.Second}) // at 15 s, 25 s, ...
	c := h.open(40_000, nil)
	h.do(c, Request{Op: OpCreateContainer, Path: "/fresh"})
	h.do(c, Request{Op: OpCreateContainer, Path: "/used"})
	h.do(c, Request{Op: OpCreate, Path: "/used/child"})
	h.do(c, Request{Op: OpCreateTTL, Path: "/ttl", Flags: ModeTTL, TTL: 3_000})
	h.do(c, Request{Op: OpCreateTTL, Path: "/long", Flags: ModeTTL, TTL: 30_000})
	h.pass(9_999 * time.Millisecond)
	if !h.exists("/ttl") {
		t.Error("a TTL node went before the sweep")
	}
	h.do(c, Request{Op: OpDelete, Path: "/used/child"})
	h.pass(time.Millisecond)
	if h.exists("/used") || h.exists("/ttl") || !h.exists("/fresh") || !h.exists("/long") {
		t.Errorf("after the first sweep: %v", h.state.Children("/"))
	}
	h.pass(30 * time.Second)
	if h.exists("/long") {
		t.Error("a TTL node outlived its time")
	}
}
