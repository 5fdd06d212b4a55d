package sim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"
)

// ErrTimeout is what a call gets when no reply came in time. Nobody knows whether it was executed.
var ErrTimeout = errors.New("i/o timeout")

// DirectClient sends requests to one Service machine over the direct transport: the same links, faults and trace as a
// wire connection, without encoding. It keeps a pool of connections as client libraries do: a call takes a free one or
// opens another. For any goroutine of its incarnation.
type DirectClient struct {
	process *Process
	address string
	timeout time.Duration

	mutex sync.Mutex
	free  []*directConn
}

// DirectConfig describes a DirectClient.
type DirectConfig struct {
	// Address is the server machine's name, with or without a port.
	Address string
	// Timeout bounds the wait for each reply, on the machine's clock; 2 s when zero, as Jedis has it.
	Timeout time.Duration
}

// NewDirectClient returns a client. It connects when it is first used; see Connect.
func (p *Process) NewDirectClient(config DirectConfig) *DirectClient {
	if config.Timeout == 0 {
		config.Timeout = 2 * time.Second
	}
	return &DirectClient{process: p, address: config.Address, timeout: config.Timeout}
}

// Connect opens a connection ahead of the first call.
func (c *DirectClient) Connect(ctx context.Context) error {
	conn, err := c.take(ctx)
	if err != nil {
		return err
	}
	c.put(conn)
	return nil
}

// Do sends one request and waits for its reply. Arguments are strings, byte slices, integers, floats and booleans,
// rendered as go-redis renders them. A reply that is an error value is returned as the error; any other error leaves
// open whether the request was executed.
func (c *DirectClient) Do(ctx context.Context, args ...any) (any, error) {
	if err := c.process.alive(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	conn, err := c.take(ctx)
	if err != nil {
		return nil, err
	}
	if conn.args, err = appendArgs(conn.args[:0], args); err != nil {
		c.put(conn)
		return nil, err
	}
	reply, err := conn.call(ctx, c.timeout)
	if err != nil {
		return nil, err
	}
	c.put(conn)
	if refusal, ok := reply.(error); ok {
		return nil, refusal
	}
	return reply, nil
}

func (c *DirectClient) take(ctx context.Context) (*directConn, error) {
	for {
		c.mutex.Lock()
		last := len(c.free) - 1
		if last < 0 {
			c.mutex.Unlock()
			return c.open(ctx)
		}
		conn := c.free[last]
		c.free = c.free[:last]
		c.mutex.Unlock()
		if !conn.failed.set() {
			return conn, nil
		}
	}
}

func (c *DirectClient) put(conn *directConn) {
	c.mutex.Lock()
	c.free = append(c.free, conn)
	c.mutex.Unlock()
}

func (c *DirectClient) open(ctx context.Context) (*directConn, error) {
	conn := &directConn{client: c, done: make(chan struct{}, 1)}
	conn.deadline.conn = conn
	err := c.process.dial(c.address, func(e *end) {
		conn.end = e
		e.direct = conn
	})
	if err != nil {
		return nil, err
	}
	c.process.Do(0, func() { conn.arm(c.timeout) })
	if err := conn.wait(ctx); err != nil {
		return nil, fmt.Errorf("dial %s: %w", c.address, err)
	}
	return conn, nil
}

// Close ends all connections that no call is using.
func (c *DirectClient) Close() {
	c.mutex.Lock()
	free := c.free
	c.free = nil
	c.mutex.Unlock()
	for _, conn := range free {
		conn.hangUp()
	}
}

// directConn is the client's side of one connection. At most one call is under way.
type directConn struct {
	client   *DirectClient
	end      *end
	args     []string
	reply    any
	failed   failure
	done     chan struct{}
	until    int64 // engine's: true time at which what is under way times out, 0 = nothing is under way
	deadline deadline
}

// failure is the first error of a connection. It is written by the engine and read by clients.
type failure struct {
	mutex sync.Mutex
	err   error
}

func (f *failure) get() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.err
}

func (f *failure) set() bool { return f.get() != nil }

func (f *failure) put(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// call sends conn.args and waits.
func (c *directConn) call(ctx context.Context, timeout time.Duration) (any, error) {
	p := c.client.process
	w := p.node.world
	w.mutex.Lock()
	w.outbox = append(w.outbox, item{node: p.node, lane: c.end.lane(), call: c})
	w.wakeEngine()
	w.mutex.Unlock()
	if err := c.wait(ctx); err != nil {
		return nil, err
	}
	reply := c.reply
	c.reply = nil
	return reply, nil
}

// begin is the engine's part of call: it sends the request.
func (c *directConn) begin() {
	w := c.client.process.node.world
	if c.end.gone {
		c.wakeUp()
		return
	}
	m := w.newMessage(c.end, messageCall)
	m.args = c.args
	c.arm(c.client.timeout)
	w.transmit(m)
}

// wait blocks until the engine has an answer, or ctx ends; then the connection is given up, since its reply may still
// come.
func (c *directConn) wait(ctx context.Context) error {
	p := c.client.process
	if done := ctx.Done(); done == nil || ctx == p.context {
		<-c.done
	} else {
		select {
		case <-c.done:
		case <-done:
			select {
			case <-c.done: // the answer came first
			default:
				c.hangUp()
				return ctx.Err()
			}
		}
	}
	if p.dead.Load() {
		return ErrCrashed
	}
	return c.failed.get()
}

// arm starts the time-out of what begins now, on the machine's clock. Engine's goroutine.
func (c *directConn) arm(timeout time.Duration) {
	n := c.client.process.node
	c.until = n.world.now.Load() + n.clock.trueSpan(int64(timeout))
	c.deadline.ensure(n, c.until)
}

func (c *directConn) target() int64 { return c.until }

func (c *directConn) wakeUp() {
	c.until = 0
	select {
	case c.done <- struct{}{}:
	default:
	}
}

func (c *directConn) opened() { c.wakeUp() }

func (c *directConn) answered(reply any) {
	c.reply = reply
	c.wakeUp()
}

func (c *directConn) fail(err error) {
	c.failed.put(err)
	c.wakeUp()
}

func (c *directConn) timedOut() {
	c.failed.put(ErrTimeout)
	c.close()
	c.wakeUp()
}

// hangUp closes the connection from a client's goroutine.
func (c *directConn) hangUp() {
	c.failed.put(ErrReset)
	c.client.process.Do(c.end.lane(), c.close)
}

// close ends the connection at this side and tells the peer, behind everything that was sent before.
func (c *directConn) close() {
	e := c.end
	if e.gone {
		return
	}
	w := e.node.world
	w.transmit(w.newMessage(e, messageFin))
	e.gone = true
	e.forget()
}

// deadline is a time-out that is moved at every call and hardly ever ends one. It keeps one event in the queue, which
// asks when it comes whether the time-out has moved on, so that a call costs no queue entry of its own.
type deadline struct {
	conn interface {
		target() int64 // true time of the time-out as it stands now, 0 = none
		timedOut()
	}
	node       *Node
	at         int64 // of the queued event, 0 = none is queued
	generation uint64
}

// ensure makes sure that an event comes no later than at.
func (d *deadline) ensure(n *Node, at int64) {
	at = slot(at, n.timers)
	if d.at != 0 && d.at <= at {
		return
	}
	d.node, d.at = n, at
	d.generation++
	n.sequence++
	n.world.queue.push(event{
		at: at, key: uint64(n.timers)<<40 | n.sequence, deadline: d, generation: d.generation,
	})
}

func (d *deadline) expire(e event) {
	if e.generation != d.generation {
		return
	}
	target := d.conn.target()
	switch {
	case target != 0 && slot(target, d.node.timers) > e.at:
		d.at = 0
		d.ensure(d.node, target)
	case target != 0 && d.node.paused:
		d.node.deferred = append(d.node.deferred, e)
	default:
		d.at = 0
		if target != 0 {
			d.node.world.dirty.Store(true)
			d.conn.timedOut()
		}
	}
}

// appendArgs renders arguments as go-redis does.
func appendArgs(words []string, args []any) ([]string, error) {
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			words = append(words, v)
		case []byte:
			words = append(words, string(v))
		case int:
			words = append(words, strconv.Itoa(v))
		case int64:
			words = append(words, strconv.FormatInt(v, 10))
		case int32:
			words = append(words, strconv.FormatInt(int64(v), 10))
		case uint64:
			words = append(words, strconv.FormatUint(v, 10))
		case float64:
			words = append(words, strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			if v {
				words = append(words, "1")
			} else {
				words = append(words, "0")
			}
		case nil:
			words = append(words, "")
		case time.Duration:
			words = append(words, strconv.FormatInt(v.Nanoseconds(), 10))
		default:
			return words, fmt.Errorf("argument %v: a %T cannot be sent; use a string, number or bool", arg, arg)
		}
	}
	return words, nil
}
