package sim

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
)

// ErrTimeout is what a call gets when no reply came in time. Nobody knows whether it was executed. As the time-out of a
// net.Conn, it is a net.Error and an os.ErrDeadlineExceeded.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string        { return "i/o timeout" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Temporary() bool      { return true }
func (timeoutError) Is(target error) bool { return target == os.ErrDeadlineExceeded }

// DirectClient sends requests to one Service machine over the direct transport: the same links, faults and trace as a
// wire connection, without encoding. It keeps a pool of connections as client libraries do: a call takes a free one or
// opens another. For any goroutine of its incarnation; goroutines that can be woken within one instant do better with a
// client each, since nothing but chance says which of them gets which connection of the pool.
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
	reply, err := conn.call(ctx)
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
		if conn.failed.get() == nil {
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
	err := c.process.dial(c.address, func(e *end) {
		conn.end = e
		conn.deadline = deadline{conn: conn, end: e}
		e.direct = conn
	})
	if err == nil {
		err = conn.wait(ctx)
	}
	if err != nil {
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
	client *DirectClient
	end    *end
	args   []string // the request under way; written by the client only
	reply  any
	failed failure
	done   chan struct{}
	feed   *Feed // takes what comes after the first reply; nil = the connection has none

	// Engine's.
	waiting  bool  // something is under way
	until    int64 // reading of the machine's monotonic clock at which that times out
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

func (f *failure) put(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.err == nil {
		f.err = err
	}
}

// call sends conn.args and waits.
func (c *directConn) call(ctx context.Context) (any, error) {
	p := c.client.process
	p.node.world.ask(item{class: itemSend, process: p, lane: c.end.lane(), call: c})
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
	m.Args = c.args
	c.arm()
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
func (c *directConn) arm() {
	n := c.client.process.node
	c.waiting = true
	c.until = n.clock.readMonotonic(n.world.now.Load()) + int64(c.client.timeout)
	c.deadline.ensure()
}

func (c *directConn) target() int64 {
	if !c.waiting {
		return never
	}
	return c.client.process.node.clock.when(c.until)
}

func (c *directConn) postpone(span int64) { c.until += span }

func (c *directConn) wakeUp() {
	c.waiting = false
	signal(c.done)
}

func (c *directConn) answered(reply any) {
	if c.feed != nil && !c.waiting {
		c.feed.pushed(reply)
		return
	}
	c.reply = reply
	c.wakeUp()
}

func (c *directConn) fail(err error) {
	c.failed.put(err)
	c.wakeUp()
	if c.feed != nil {
		signal(c.feed.wake)
	}
}

func (c *directConn) awaited() bool { return c.waiting }

func (c *directConn) timedOut() {
	c.failed.put(ErrTimeout)
	c.end.hangUp()
	c.wakeUp()
}

// hangUp closes the connection from a client's goroutine.
func (c *directConn) hangUp() {
	p := c.client.process
	c.failed.put(ErrReset)
	p.node.world.ask(item{class: itemSend, process: p, lane: c.end.lane(), action: c.end.hangUp})
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
