package zookeeper

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"
)

// serve starts an embedded server on a free loopback port. It ends with the test.
func serve(t testing.TB, options EmbeddedOptions) (e *Embedded, address string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	e = NewEmbedded(options)
	go func() { done <- e.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return e, listener.Addr().String()
}

func connectTo(t testing.TB, address string) *zk.Conn {
	c, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithLogInfo(false),
		zk.WithMaxBufferSize(4096), zk.WithMaxConnBufferSize(4096))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestServeManyConnections lets 200 clients work at once beside others that send garbage or never read.
func TestServeManyConnections(t *testing.T) {
	const clients = 200
	e, address := serve(t, EmbeddedOptions{Clock: clockwork.NewRealClock()})
	for _, garbage := range []string{"GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x00\x00\x00\x04abcd", "ru"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, garbage); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			c := connectTo(t, address)
			path := fmt.Sprintf("/c%d", i)
			if _, err := c.Create(path, nil, 0, openLibraryACL); err != nil {
				t.Error(err)
				return
			}
			for range 10 {
				child, err := c.Create(path+"/n-", nil, zk.FlagEphemeral|zk.FlagSequence, openLibraryACL)
				if err == nil {
					err = c.Delete(child, -1)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	e.Do(func(s *Server) {
		if got := len(s.State().Children("/")); got != clients+1 {
			t.Errorf("%d nodes", got)
		}
		checkTree(t, s.state)
	})
}

// TestServeAttachAgain takes a session over on a second connection, which ends the first.
func TestServeAttachAgain(t *testing.T) {
	e, address := serve(t, EmbeddedOptions{Clock: clockwork.NewRealClock()})
	first, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	exchange := func(c net.Conn, frame []byte) []byte {
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		reply := make([]byte, 41)
		if _, err := io.ReadFull(c, reply); err != nil {
			t.Fatal(err)
		}
		return reply
	}
	greeting := exchange(first, connectFrame(0, nil))
	var id int64
	e.Do(func(s *Server) { id = s.Sessions()[0].ID })
	second, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if again := exchange(second, connectFrame(id, greeting[24:40])); !slices.Equal(again, greeting) {
		t.Errorf("got %x, want %x", again, greeting)
	}
	if rest, err := io.ReadAll(first); err != nil || len(rest) > 0 {
		t.Errorf("the first connection got %x, %v", rest, err)
	}
}

// TestServeExpires moves a fake clock: the session of a client that is silent ends, and its connection with it.
func TestServeExpires(t *testing.T) {
	clock := clockwork.NewFakeClock()
	expired := make(chan int64, 1)
	e, address := serve(t, EmbeddedOptions{Clock: clock, OnRequest: func(x Executed) {
		if x.Op == OpExpire {
			expired <- x.Session
		}
	}})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(connectFrame(0, nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, make([]byte, 41)); err != nil {
		t.Fatal(err)
	}
	var id int64
	e.Do(func(s *Server) { id = s.Sessions()[0].ID })
	clock.Advance(12 * time.Second)
	if got := <-expired; got != id {
		t.Errorf("expired %x, want %x", got, id)
	}
	if rest, err := io.ReadAll(c); err != nil || len(rest) > 0 {
		t.Errorf("the connection got %x, %v", rest, err)
	}
}

func TestServeFourLetterWord(t *testing.T) {
	_, address := serve(t, EmbeddedOptions{Clock: clockwork.NewRealClock()})
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "ruok"); err != nil {
		t.Fatal(err)
	}
	if answer, err := io.ReadAll(c); err != nil || string(answer) != "imok" {
		t.Errorf("%q %v", answer, err)
	}
}
