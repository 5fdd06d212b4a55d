package sim

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
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
	told    told
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
		c, more, err := l.tryAccept()
		if more || err != nil {
			signal(l.wake) // for any other goroutine that waits here
		}
		if err != nil {
			return nil, opError("accept", l.address, l.told.asDead(l.process, err))
		}
		if c != nil {
			return c, nil
		}
		<-l.wake
	}
}

// tryAccept takes a connection if there is one, and tells whether there are more.
func (l *Listener) tryAccept() (c *wireConn, more bool, err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err != nil {
		return nil, false, l.err
	}
	if len(l.waiting) == 0 {
		return nil, false, nil
	}
	c = l.waiting[0]
	l.waiting = l.waiting[1:]
	return c, len(l.waiting) > 0, nil
}

// Close ends the listener; new connections are refused from now on, and those that nobody has accepted are reset.
func (l *Listener) Close() error {
	n := l.process.node
	n.world.mutex.Lock()
	if n.listeners[l.address] == l {
		delete(n.listeners, l.address)
	}
	n.world.mutex.Unlock()
	waiting := l.closeNow(net.ErrClosed)
	if waiting == nil {
		return opError("close", l.address, net.ErrClosed)
	}
	for _, c := range waiting {
		n.world.ask(item{class: itemSend, process: l.process, lane: c.end.lane(), action: c.abort})
	}
	return nil
}

// closeNow ends the listener and returns the connections that nobody has accepted; nil when it was closed before.
func (l *Listener) closeNow(err error) []*wireConn {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.err != nil {
		return nil
	}
	l.err = err
	waiting := append([]*wireConn{}, l.waiting...)
	l.waiting = nil
	signal(l.wake)
	return waiting
}

// Addr is the address in the world.
func (l *Listener) Addr() net.Addr { return address(l.address) }

// told remembers whether somebody who waits for a connection has been told of the crash, which does not count as a call
// after the crash.
type told struct{ atomic.Bool }

// asDead returns ErrCrashed in place of err in an incarnation that has crashed.
func (t *told) asDead(p *Process, err error) error {
	if !p.dead.Load() {
		return err
	}
	if t.Swap(true) {
		return p.alive()
	}
	return ErrCrashed
}

// takeListeners returns the machine's listeners by address and leaves it without any.
func (n *Node) takeListeners() []*Listener {
	n.world.mutex.Lock()
	defer n.world.mutex.Unlock()
	byAddress := func(a, b *Listener) int { return cmp.Compare(a.address, b.address) }
	all := slices.SortedFunc(maps.Values(n.listeners), byAddress)
	n.listeners = nil
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

	mutex   sync.Mutex
	inbox   []byte // inbox[taken:] has arrived and was not read
	taken   int
	pending []byte // written and not yet taken by the engine
	eof     bool
	err     error // the connection is gone
	isOpen  bool
	closed  bool // by this side
	noWrite bool // CloseWrite was called
	endSent bool // engine's: the peer was told of either
	read    timeLimit
	write   timeLimit
	late    bool // the read deadline has passed
	readers int  // goroutines that wait in Read
	told    told

	deadline deadline // of reading; engine's
}

// timeLimit is a deadline as it was set: on the machine's monotonic clock when it was computed from a reading of the
// machine's clock, else in true time, which is the runtime's.
type timeLimit struct {
	set     bool
	machine bool
	at      int64
}

// limit reads a deadline that a program gave to a connection, and tells whether it has passed.
func (p *Process) limit(t time.Time) (l timeLimit, passed bool) {
	if t.IsZero() {
		return timeLimit{}, false
	}
	w := p.node.world
	now := w.sinceStart()
	if !ofMachine(t) {
		rest := time.Until(t)
		return timeLimit{set: true, at: now + int64(rest)}, rest <= 0
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	c := &p.node.clock
	monotonic := c.readMonotonic(now)
	rest := t.Sub(instant(w.base, time.Duration(monotonic), time.Duration(c.steadyWall(now))))
	return timeLimit{set: true, machine: true, at: monotonic + int64(rest)}, rest <= 0
}

// passed tells whether a deadline has come.
func (p *Process) passed(l timeLimit) bool {
	if !l.set {
		return false
	}
	w := p.node.world
	now := w.sinceStart()
	if !l.machine {
		return now >= l.at
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return p.node.clock.readMonotonic(now) >= l.at
}

func newWireConn(e *end, where string) *wireConn {
	c := &wireConn{end: e, address: where, wake: make(chan struct{}, 1)}
	c.deadline = deadline{conn: c, end: e}
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
	if c.taken == len(c.inbox) {
		c.inbox, c.taken = c.inbox[:0], 0
	}
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
	for waited := 0; ; waited = 1 {
		n, more, err := c.tryRead(p, waited)
		if more || err != nil {
			signal(c.wake) // for any other goroutine that waits here
		}
		switch {
		case err != nil:
			return n, c.readError(err)
		case n > 0 || len(p) == 0:
			return n, nil
		}
		<-c.wake
	}
}

// tryRead takes what is there, and tells whether there is more. waited is 1 for a reader that waited before.
func (c *wireConn) tryRead(p []byte, waited int) (n int, more bool, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.readers -= waited
	switch {
	case c.closed:
		return 0, false, net.ErrClosed
	case c.late:
		return 0, false, os.ErrDeadlineExceeded
	case c.taken < len(c.inbox):
		n = copy(p, c.inbox[c.taken:])
		c.taken += n
		return n, c.taken < len(c.inbox), nil
	case c.err != nil:
		return 0, false, c.err
	case c.eof:
		return 0, false, io.EOF
	}
	if len(p) > 0 {
		c.readers++ // until it has waited
	}
	return 0, false, nil
}

func (c *wireConn) readError(err error) error {
	if err = c.told.asDead(c.end.process, err); err == io.EOF {
		return err
	}
	return opError("read", c.address, err)
}

// Write hands p to the network as one segment. It never waits: the network's buffer is as large as it takes.
func (c *wireConn) Write(p []byte) (int, error) {
	process := c.end.process
	err := process.alive()
	if err == nil {
		err = c.put(p)
	}
	if err != nil {
		return 0, opError("write", c.address, err)
	}
	if len(p) > 0 {
		c.queue(len(p))
	}
	return len(p), nil
}

func (c *wireConn) put(p []byte) error {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case c.closed || c.noWrite:
		return net.ErrClosed
	case c.err != nil:
		return c.err
	case c.end.process.passed(c.write):
		return os.ErrDeadlineExceeded
	}
	c.pending = append(c.pending, p...)
	return nil
}

// endOfBytes is the length that stands for the end of what a side sends.
const endOfBytes = -1

// queue asks the engine to send the next length pending bytes as one segment, or the end.
func (c *wireConn) queue(length int) {
	e := c.end
	e.node.world.ask(item{class: itemSend, process: e.process, lane: e.lane(), wire: c, length: length})
}

// send is the engine's part of queue.
func (c *wireConn) send(length int) {
	e := c.end
	w := e.node.world
	if length == endOfBytes {
		c.sendEnd()
		return
	}
	m := w.newMessage(e, messageData)
	c.mutex.Lock()
	m.raw = append(m.raw[:0], c.pending[:length]...)
	c.pending = append(c.pending[:0], c.pending[length:]...)
	c.mutex.Unlock()
	if e.closed {
		w.recycle(m) // a reset came first
		return
	}
	w.transmit(m)
}

// sendEnd sends the end of what this side has to say, once, also when CloseWrite was followed by Close.
func (c *wireConn) sendEnd() {
	e := c.end
	w := e.node.world
	c.mutex.Lock()
	closed, again := c.closed, c.endSent
	c.endSent = true
	c.mutex.Unlock()
	switch {
	case e.gone:
	case closed && !again:
		e.hangUp()
	case closed:
		e.gone = true
		e.forget()
	case !again:
		w.transmit(w.newMessage(e, messageFin))
	}
}

// abort cuts the connection from this side.
func (c *wireConn) abort() {
	e := c.end
	if !e.gone {
		e.cut(ErrReset)
		e.node.world.transmitControl(e, messageReset)
	}
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

// LocalAddr is the server's address at its end; at the client's, its machine and the number of the connection.
func (c *wireConn) LocalAddr() net.Addr { return c.addressOf(c.end) }

// RemoteAddr is the LocalAddr of the other end.
func (c *wireConn) RemoteAddr() net.Addr { return c.addressOf(c.end.peer) }

func (c *wireConn) addressOf(e *end) net.Addr {
	if e == &e.conn.server {
		return address(c.address)
	}
	return address(fmt.Sprintf("%s:%d", e.node.name, e.conn.id))
}

// SetDeadline sets both deadlines. A time that was computed from the machine's clock is one of that clock; any other is
// one of the runtime's clock, which shows true time (and stands still unless the world has RuntimeTimers).
func (c *wireConn) SetDeadline(t time.Time) error {
	if err := c.SetWriteDeadline(t); err != nil {
		return err
	}
	return c.SetReadDeadline(t)
}

// SetWriteDeadline makes writes after t fail; a write never waits.
func (c *wireConn) SetWriteDeadline(t time.Time) error {
	limit, _ := c.end.process.limit(t)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return opError("set", c.address, net.ErrClosed)
	}
	c.write = limit
	return nil
}

// SetReadDeadline makes reads fail from t on. The deadline is an event of the engine, not a timer of the runtime, so
// that it has its place in the order of events.
func (c *wireConn) SetReadDeadline(t time.Time) error {
	e := c.end
	limit, late := e.process.limit(t)
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.closed {
		return opError("set", c.address, net.ErrClosed)
	}
	sooner := limit.set && !late && !(c.read.set && c.read.machine == limit.machine && c.read.at <= limit.at)
	c.read, c.late = limit, late
	if late {
		c.read = timeLimit{}
		signal(c.wake)
	}
	if sooner {
		e.node.world.ask(item{class: itemSend, process: e.process, lane: e.lane(), action: c.deadline.ensure})
	}
	return nil
}

func (c *wireConn) target() int64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case !c.read.set:
		return never
	case c.read.machine:
		return c.end.node.clock.when(c.read.at)
	}
	return c.read.at
}

func (c *wireConn) postpone(span int64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.read.at += span
}

func (c *wireConn) awaited() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.readers > 0
}

func (c *wireConn) timedOut() {
	c.mutex.Lock()
	c.late, c.read = true, timeLimit{}
	c.mutex.Unlock()
	signal(c.wake)
}
