package zookeeper

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

// Embedded is a Server on real connections and a real clock: a ZooKeeper for tests inside of their own process. Only
// here are goroutines, and a lock around the Server that they share.
type Embedded struct {
	clock clockwork.Clock
	start time.Time

	mutex   sync.Mutex
	server  *Server
	lastID  uint64
	serving int // calls of Serve; without any, the server's timer is stopped
}

// EmbeddedOptions are the choices for an Embedded server.
type EmbeddedOptions struct {
	// Clock is the clock that it goes by. It is required; clockwork.NewRealClock is the usual one.
	Clock clockwork.Clock
	// Tick, Sweep and CounterSticks are the Settings.
	Tick, Sweep   time.Duration
	CounterSticks bool
	// OnRequest, when set, sees every executed request after its effect, one at a time. It must not call the server.
	OnRequest func(Executed)
}

// NewEmbedded makes a server with an empty tree. Serve lets clients in.
func NewEmbedded(options EmbeddedOptions) *Embedded {
	e := &Embedded{clock: options.Clock, start: options.Clock.Now()}
	e.server = New(Config{
		Wall: e.clock.Now, Elapsed: func() time.Duration { return e.clock.Since(e.start) }, After: e.after,
		Settings: Settings{options.Tick, options.Sweep, options.CounterSticks}, OnRequest: options.OnRequest,
	})
	return e
}

// after runs f under the lock. A timer that is stopped while it waits for the lock is stopped all the same.
func (e *Embedded) after(d time.Duration, f func()) (cancel func()) {
	cancelled := false
	timer := e.clock.AfterFunc(d, func() {
		e.mutex.Lock()
		defer e.mutex.Unlock()
		if !cancelled {
			f()
		}
	})
	return func() { // the caller holds the lock
		cancelled = true
		timer.Stop()
	}
}

// Do calls f with the server while nothing else happens to it: for tests that look inside or preset something.
func (e *Embedded) Do(f func(*Server)) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	f(e.server)
}

// Serve accepts connections until ctx ends or the listener fails. It closes the listener and all connections before it
// returns. The end of ctx is no error.
func (e *Embedded) Serve(ctx context.Context, listener net.Listener) error {
	e.count(1)
	defer e.count(-1)
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		c, err := listener.Accept()
		if err != nil {
			_ = listener.Close()
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		open.Go(func() { e.talk(ctx, c) })
	}
}

// count keeps the timer going while somebody serves.
func (e *Embedded) count(by int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.serving += by; e.serving > 0 {
		e.server.wind()
	} else {
		e.server.stopTimer()
	}
}

// talk serves one connection until either side ends it.
func (e *Embedded) talk(ctx context.Context, c net.Conn) {
	out := &outbox{wake: make(chan struct{}, 1)}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	var writer sync.WaitGroup
	writer.Go(func() { out.drain(c) })
	defer writer.Wait()

	conn := e.connect(c, out)
	buffer := make([]byte, 4096)
	for {
		n, err := c.Read(buffer)
		e.mutex.Lock()
		conn.Bytes(buffer[:n])
		gone := conn.gone
		if err != nil {
			conn.Closed()
		}
		e.mutex.Unlock()
		if err != nil {
			out.Close()
			return
		}
		if gone {
			break
		}
	}
	// The server has hung up. What it wrote is on its way; whatever the client still sends is of no interest.
	writer.Wait()
}

func (e *Embedded) connect(c net.Conn, out Port) *Conn {
	host, _, err := net.SplitHostPort(c.RemoteAddr().String())
	if err != nil {
		host = c.RemoteAddr().String()
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.lastID++
	return e.server.Connect(e.lastID, host, out)
}

// outbox is the Port of a real connection: what the server writes waits here for a goroutine of its own, so that a
// client that does not read holds up nobody else.
type outbox struct {
	wake chan struct{}

	mutex  sync.Mutex
	bytes  []byte
	closed bool
}

// maxOutbox is what a client may leave unread before it is cut off.
const maxOutbox = 64 << 20

func (o *outbox) Write(p []byte) {
	o.mutex.Lock()
	if !o.closed {
		o.bytes = append(o.bytes, p...)
	}
	if len(o.bytes) > maxOutbox {
		o.bytes, o.closed = nil, true
	}
	o.mutex.Unlock()
	o.signal()
}

func (o *outbox) Close() {
	o.mutex.Lock()
	o.closed = true
	o.mutex.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// drain sends what is in the outbox until it is closed and empty, and then closes the connection.
func (o *outbox) drain(c io.WriteCloser) {
	defer c.Close()
	var spare []byte
	for {
		o.mutex.Lock()
		bytes, closed := o.bytes, o.closed
		o.bytes = spare[:0]
		o.mutex.Unlock()
		if len(bytes) > 0 {
			if _, err := c.Write(bytes); err != nil {
				o.Close()
				return
			}
			spare = bytes
			continue
		}
		spare = bytes
		if closed {
			return
		}
		<-o.wake
	}
}
