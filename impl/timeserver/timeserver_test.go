package timeserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
)

var begin = time.UnixMilli(1475068172329)

// dialer makes a client's connections and hands the far ends to a server of the test.
type dialer struct {
	dialled int
	serve   func(conn net.Conn)
	err     error
}

func (d *dialer) dial(context.Context, string, string) (net.Conn, error) {
	d.dialled++
	if d.err != nil {
		return nil, d.err
	}
	ours, theirs := net.Pipe()
	go d.serve(theirs)
	return ours, nil
}

func (d *dialer) client(clock clockwork.Clock) *Client {
	return NewClient(ClientOptions{Address: "10.0.0.9:9999", Dial: d.dial, Clock: clock})
}

func TestClientAndServer(t *testing.T) {
	clock := clockwork.NewFakeClockAt(begin)
	server := Server{Clock: clock}
	d := &dialer{serve: func(conn net.Conn) { server.ServeConn(context.Background(), conn) }}
	client := d.client(clock)
	if d.dialled != 0 {
		t.Error("NewClient dialled")
	}
	for i := range int64(3) {
		got, err := client.Millis(t.Context())
		if err != nil || got != begin.UnixMilli()+1000*i {
			t.Errorf("question %d: %d, %v", i, got, err)
		}
		clock.Advance(time.Second)
	}
	if d.dialled != 1 {
		t.Errorf("dialled %d times for three questions", d.dialled)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if _, err := client.Millis(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := client.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// TestClientErrors answers the first question wrongly in many ways: it fails, and the next is asked on a new
// connection.
func TestClientErrors(t *testing.T) {
	for _, test := range []struct{ name, answer string }{
		{"closed at once", ""},
		{"cut", "14750"},
		{"garbage", "noon\n"},
		{"two answers", "1\n2\n"},
		{"too long", "11111111111111111111111111"},
		{"time with zeros", "007\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var first sync.Once
			server := Server{Clock: clockwork.NewFakeClockAt(begin)}
			d := &dialer{serve: func(conn net.Conn) {
				bad := false
				first.Do(func() { bad = true })
				if !bad {
					server.ServeConn(context.Background(), conn)
					return
				}
				io.ReadFull(conn, make([]byte, len(request)))
				io.WriteString(conn, test.answer)
				conn.Close()
			}}
			client := d.client(clockwork.NewFakeClock())
			defer client.Close()
			if got, err := client.Millis(t.Context()); err == nil {
				t.Errorf("first question: %d", got)
			}
			got, err := client.Millis(t.Context())
			if err != nil || got != begin.UnixMilli() || d.dialled != 2 {
				t.Errorf("second question: %d, %v, dialled %d times", got, err, d.dialled)
			}
		})
	}
}

func TestClientCannotDial(t *testing.T) {
	refusal := errors.New("refused")
	d := &dialer{err: refusal}
	_, err := d.client(clockwork.NewFakeClock()).Millis(t.Context())
	if !errors.Is(err, refusal) || err.Error() != "timeserver: asking 10.0.0.9:9999: refused" {
		t.Errorf("error %v", err)
	}
}

// TestClientTimeout: an answer that does not come ends the question after the timeout, on the client's clock; when it
// comes later it is not taken for the answer to the next.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		silent := true
		server := Server{Clock: clockwork.NewFakeClockAt(begin)}
		d := &dialer{serve: func(conn net.Conn) {
			if !silent {
				server.ServeConn(context.Background(), conn)
				return
			}
			silent = false
			io.ReadFull(conn, make([]byte, len(request)))
			<-release
			io.WriteString(conn, "1\n")
			conn.Close()
		}}
		clock := clockwork.NewFakeClock()
		client := d.client(clock)
		defer client.Close()
		result := make(chan error, 1)
		go func() { _, err := client.Millis(context.Background()); result <- err }()
		synctest.Wait()
		clock.Advance(2*time.Second - 1)
		synctest.Wait()
		select {
		case err := <-result:
			t.Fatalf("ended early: %v", err)
		default:
		}
		clock.Advance(1)
		if err := <-result; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		close(release)
		if got, err := client.Millis(context.Background()); err != nil || got != begin.UnixMilli() {
			t.Errorf("next question: %d, %v", got, err)
		}
	})
}

// TestClientCancelled ends contexts of a question that waits for its answer, and of one that waits for its turn.
func TestClientCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialer{serve: func(conn net.Conn) { io.Copy(io.Discard, conn) }}
		client := d.client(clockwork.NewFakeClock())
		defer client.Close()
		asking, stopAsking := context.WithCancel(context.Background())
		waiting, stopWaiting := context.WithCancel(context.Background())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := client.Millis(asking); first <- err }()
		synctest.Wait()
		go func() { _, err := client.Millis(waiting); second <- err }()
		synctest.Wait()
		stopWaiting()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for its turn: %v", err)
		}
		stopAsking()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting for the answer: %v", err)
		}
		if _, err := client.Millis(asking); !errors.Is(err, context.Canceled) || d.dialled != 1 {
			t.Errorf("with an ended context: %v, dialled %d times", err, d.dialled)
		}
	})
}

// TestServe runs the service on loopback with several clients, and ends it by its context.
func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	var started sync.WaitGroup
	started.Add(3)
	server := Server{Clock: clockwork.NewFakeClockAt(begin), Go: func(f func()) { started.Done(); go f() }}
	go func() { served <- server.Serve(ctx, listener) }()
	var clients []*Client
	for range 3 {
		client := NewClient(ClientOptions{
			Address: listener.Addr().String(), Dial: (&net.Dialer{}).DialContext, Clock: clockwork.NewRealClock(),
		})
		defer client.Close()
		clients = append(clients, client)
		if got, err := client.Millis(ctx); err != nil || got != begin.UnixMilli() {
			t.Errorf("%d, %v", got, err)
		}
	}
	started.Wait()
	cancel()
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
	if _, err := clients[0].Millis(t.Context()); err == nil {
		t.Error("a connection outlived the service")
	}
}

// TestServeListenerFails: an error of the listener ends the service with that error.
func TestServeListenerFails(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	server := Server{Clock: clockwork.NewFakeClock()}
	if err := server.Serve(t.Context(), listener); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
}

func TestServeConnEndsOnGarbage(t *testing.T) {
	ours, theirs := net.Pipe()
	server := Server{Clock: clockwork.NewFakeClockAt(begin)}
	go server.ServeConn(t.Context(), theirs)
	go io.WriteString(ours, "TIME\nQUIT\n")
	got, err := io.ReadAll(ours)
	if err != nil || string(got) != "1475068172329\n" {
		t.Errorf("answers %q, %v", got, err)
	}
}

func BenchmarkMillis(b *testing.B) {
	clock := clockwork.NewRealClock()
	server := Server{Clock: clock}
	d := &dialer{serve: func(conn net.Conn) { server.ServeConn(context.Background(), conn) }}
	client := d.client(clock)
	defer client.Close()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Millis(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := Server{Clock: clockwork.NewFakeClockAt(time.UnixMilli(1475068172329))}
	go server.Serve(ctx, listener)

	client := NewClient(ClientOptions{
		Address: listener.Addr().String(),
		Dial:    (&net.Dialer{}).DialContext,
		Clock:   clockwork.NewRealClock(),
	})
	defer client.Close()
	fmt.Println(client.Millis(ctx))
	// Output: 1475068172329 <nil>
}
