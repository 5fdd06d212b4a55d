package sim

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Dial opens a wire connection from this incarnation to host:port, where host is a machine's name. It has the
// signature of net.Dialer.DialContext, so client libraries take it as their dialer.
func (p *Process) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var c *wireConn
	err := p.dial(address, func(e *end) {
		c = newWireConn(e, address)
		e.wire = c
	})
	if err != nil {
		return nil, opError("dial", address, err)
	}
	if err := c.await(ctx); err != nil {
		return nil, opError("dial", address, err)
	}
	return c, nil
}

// Listen waits for wire connections to host:port on this machine; host may be empty.
func (p *Process) Listen(network, address string) (net.Listener, error) {
	if err := p.alive(); err != nil {
		return nil, opError("listen", address, err)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || host != "" && host != p.node.name {
		return nil, fmt.Errorf("listen %s: want %s:PORT", address, p.node.name)
	}
	l := &Listener{process: p, address: p.node.name + ":" + port, wake: make(chan struct{}, 1)}
	w := p.node.world
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if p.node.listeners[l.address] != nil {
		return nil, fmt.Errorf("listen %s: address already in use", l.address)
	}
	if p.node.listeners == nil {
		p.node.listeners = map[string]*Listener{}
	}
	p.node.listeners[l.address] = l
	return l, nil
}

// Listener is a net.Listener of the world.
type Listener struct {
	process *Process
	address string
	wake    chan struct{}

	mutex   sync.Mutex
	waiting []*wireConn
	err     error
}

func (l *Listener) push(c *wireConn) {
	l.mutex.Lock()
	l.waiting = append(l.waiting, c)
	l.mutex.Unlock()
	signal(l.wake)
}

// Accept waits for the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		l.mutex.Lock()
		if l.err != nil {
			l.mutex.Unlock()
			signal(l.wake) // for any other goroutine that waits here
			return nil, opError("accept", l.address, l.err)
		}
		if len(l.waiting) > 0 {
			c := l.waiting[0]
			l.waiting = l.waiting[1:]
			l.mutex.Unlock()
			return c, nil
		}
		l.mutex.Unlock()
		<-l.wake
	}
}

// Close ends the listener; new connections are refused from now on.
func (l *Listener) Close() error {
	n := l.process.node
	n.world.mutex.Lock()
	if n.listeners[l.address] == l {
		delete(n.listeners, l.address)
	}
	n.world.mutex.Unlock()
	l.closeNow(net.ErrClosed)
	return nil
}

func (l *Listener) closeNow(err error) {
	l.mutex.Lock()
	if l.err == nil {
		l.err = err
	}
	l.mutex.Unlock()
	signal(l.wake)
}

// Addr is the address in the world.
func (l *Listener) Addr() net.Addr { return address(l.address) }

func (n *Node) listenerAddresses() []string {
	var all []string
	for a := range n.listeners {
		all = append(all, a)
	}
	slices.Sort(all)
	return all
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

func opError(op, where string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: address(where), Err: err}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wireConn is one side of a wire connection, a net.Conn with deadlines and half-close. Bytes wait in a buffer that the
// engine fills; a reader waits for the one-slot channel.
type wireConn struct {
	end     *end
	address string
	wake    chan struct{} // something may have changed for a reader or dialler

	mutex    sync.Mutex
	inbox    []byte
	pending  []byte // written and not yet taken by the engine
	eof      bool
	err      error // the connection is gone
	isOpen   bool
	closed   bool // by this side
	noWrite  bool // CloseWrite was called
	writable time.Time
	until    int64 // true time of the read deadline, 0 = none
	queued   int64 // the earliest time for which an event of the deadline is queued, 0 = none
	late     bool  // the read deadline has passed

	deadline deadline
}

func newWireConn(e *end, where string) *wireConn {
	c := &wireConn{end: e, address: where, wake: make(chan struct{}, 1)}
	c.deadline.conn = c
	if e == &e.conn.server {
		c.isOpen = true
	}
	return c
}

func (c *wireConn) opened() {
	c.mutex.Lock()
	c.isOpen = true
	c.mutex.Unlock()
	signal(c.wake)
}

func (c *wireConn) received(p []byte) {
	c.mutex.Lock()
	c.inbox = append(c.inbox, p...)
	c.mutex.Unlock()
	signal(c.wake)
}

func (c *wireConn) ended() {
	c.mutex.Lock()
	c.eof = true
	c.mutex.Unlock()
	signal(c.wake)
}

func (c *wireConn) fail(err error) {
	c.mutex.Lock()
	if c.err == nil {
		c.err = err
	}
	c.mutex.Unlock()
	signal(c.wake)
}

// await blocks until the peer has granted the connection.
func (c *wireConn) await(ctx context.Context) error {
	for {
		c.mutex.Lock()
		isOpen, err := c.isOpen, c.err
		c.mutex.Unlock()
		if err != nil {
			return err
		}
		if isOpen {
			return nil
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			c.Close()
			return ctx.Err()
		}
	}
}

// Read returns what has arrived, or waits for more.
func (c *wireConn) Read(p []byte) (int, error) {
	for {
		n, err := c.tryRead(p)
		if n > 0 || err != nil || len(p) == 0 {
			if err != nil {
				signal(c.wake) // for any other goroutine that waits here
				return n, c.readError(err)
			}
			return n, nil
		}
		<-c.wake
	}
}

func (c *wireConn) tryRead(p []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.late:
		return 0, os.ErrDeadlineExceeded
	case len(c.inbox) > 0:
		n := copy(p, c.inbox)
		c.inbox = append(c.inbox[:0], c.inbox[n:]...)
		return n, nil
	case c.err != nil:
		return 0, c.err
	case c.eof:
		return 0, io.EOF
	}
	return 0, nil
}

func (c *wireConn) readError(err error) error {
	if err == io.EOF {
		return err
	}
	if dead := c.end.process.alive(); dead != nil {
		err = dead
	}
	return opError("read", c.address, err)
}

// Write hands p to the network as one segment. It never waits: the network's buffer is as large as it takes.
func (c *wireConn) Write(p []byte) (int, error) {
	process := c.end.process
	if err := process.alive(); err != nil {
		return 0, opError("write", c.address, err)
	}
	c.mutex.Lock()
	err := c.err
	switch {
	case c.closed || c.noWrite:
		err = net.ErrClosed
	case !c.writable.IsZero() && !time.Now().Before(c.writable):
		err = os.ErrDeadlineExceeded
	}
	if err == nil {
		c.pending = append(c.pending, p...)
	}
	c.mutex.Unlock()
	if err != nil {
		return 0, opError("write", c.address, err)
	}
	c.queue(len(p))
	return len(p), nil
}

// endOfBytes is the length that stands for the end of what a side sends.
const endOfBytes = -1

// queue asks the engine to send the next length pending bytes as one segment, or the end.
func (c *wireConn) queue(length int) {
	e := c.end
	w := e.node.world
	w.mutex.Lock()
	w.outbox = append(w.outbox, item{node: e.node, lane: e.lane(), wire: c, length: length})
	w.wakeEngine()
	w.mutex.Unlock()
}

// send is the engine's part of queue.
func (c *wireConn) send(length int) {
	e := c.end
	w := e.node.world
	if length == endOfBytes {
		w.transmit(w.newMessage(e, messageFin))
		if c.isClosed() && !e.gone {
			e.gone = true
			e.forget()
		}
		return
	}
	m := w.newMessage(e, messageData)
	c.mutex.Lock()
	m.raw = append(m.raw[:0], c.pending[:length]...)
	c.pending = append(c.pending[:0], c.pending[length:]...)
	c.mutex.Unlock()
	w.transmit(m)
}

func (c *wireConn) isClosed() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.closed
}

// CloseWrite tells the peer that no more bytes follow; reading goes on.
func (c *wireConn) CloseWrite() error {
	c.mutex.Lock()
	again := c.noWrite || c.closed
	c.noWrite = true
	c.mutex.Unlock()
	if !again {
		c.queue(endOfBytes)
	}
	return nil
}

// Close ends the connection. What was written before still travels.
func (c *wireConn) Close() error {
	c.mutex.Lock()
	again := c.closed
	c.closed = true
	c.mutex.Unlock()
	if again {
		return opError("close", c.address, net.ErrClosed)
	}
	c.queue(endOfBytes)
	signal(c.wake)
	return nil
}

func (c *wireConn) LocalAddr() net.Addr  { return address(c.end.node.name) }
func (c *wireConn) RemoteAddr() net.Addr { return address(c.end.peer.node.name) }

// SetDeadline sets both deadlines, times of the runtime's clock as for any net.Conn.
func (c *wireConn) SetDeadline(t time.Time) error {
	c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

// SetWriteDeadline makes writes after t fail; a write never waits.
func (c *wireConn) SetWriteDeadline(t time.Time) error {
	c.mutex.Lock()
	c.writable = t
	c.mutex.Unlock()
	return nil
}

// SetReadDeadline makes reads fail from t on. The deadline is an event of the engine, not a timer of the runtime, so
// that it has its place in the order of events.
func (c *wireConn) SetReadDeadline(t time.Time) error {
	e := c.end
	var until int64
	var rest time.Duration
	if !t.IsZero() {
		rest = time.Until(t)
		until = e.node.world.sinceStart() + int64(rest)
	}
	c.mutex.Lock()
	c.late = !t.IsZero() && rest <= 0
	c.until = until
	queue := until != 0 && !c.late && (c.queued == 0 || until < c.queued)
	if queue {
		c.queued = until
	}
	late := c.late
	c.mutex.Unlock()
	if late {
		signal(c.wake)
	}
	if queue {
		e.process.Do(e.lane(), func() { c.deadline.ensure(e.node, until) })
	}
	return nil
}

func (c *wireConn) target() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.queued = c.until // the event that asks is gone; the next one, if any, is queued for this time
	return c.until
}

func (c *wireConn) timedOut() {
	c.mutex.Lock()
	c.late, c.until, c.queued = true, 0, 0
	c.mutex.Unlock()
	signal(c.wake)
}
