package timeserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// ClientOptions say whom a Client asks and by which means.
type ClientOptions struct {
	Address string // host:port
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Clock   clockwork.Clock
	// Timeout bounds, on Clock, each question and each dialling; 0 means two seconds.
	Timeout time.Duration
}

// Client asks a Server for the time. It dials when first asked, keeps its connection, and after any error drops it
// and dials anew at the next question, so that an answer is never taken for that to a later question.
//
// It is safe for concurrent use; one question is in flight at a time.
type Client struct {
	options ClientOptions
	// turn holds a value while somebody asks. It is a channel since it is held across the network.
	turn   chan struct{}
	conn   net.Conn // nil until dialled and after an error; belongs to the holder of turn
	buffer [replyMax]byte
	closed atomic.Bool
}

var _ impl.TimeSource = (*Client)(nil)

// errClosed answers questions to a closed client.
var errClosed = errors.New("the client is closed")

// NewClient makes a client. It connects nothing yet.
func NewClient(options ClientOptions) *Client {
	if options.Timeout <= 0 {
		options.Timeout = 2 * time.Second
	}
	return &Client{options: options, turn: make(chan struct{}, 1)}
}

// Millis asks for the server's clock in milliseconds since the Unix epoch.
func (c *Client) Millis(ctx context.Context) (int64, error) {
	// ranked: the end of ctx wins, it is looked at first once the turn has come
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, c.explain(ctx.Err())
	}
	defer func() { <-c.turn }()
	if err := ctx.Err(); err != nil {
		return 0, c.explain(err)
	}
	if c.closed.Load() {
		return 0, c.explain(errClosed)
	}
	if err := c.connect(ctx); err != nil {
		return 0, c.explain(err)
	}
	millis, err := c.ask(ctx)
	if err != nil {
		return 0, c.explain(err)
	}
	return millis, nil
}

// Close closes the connection; a question in flight is answered first. Later questions fail.
func (c *Client) Close() error {
	c.closed.Store(true)
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	return c.drop()
}

func (c *Client) connect(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	ctx, cancel := impl.WithTimeout(ctx, c.options.Clock, c.options.Timeout)
	defer cancel()
	conn, err := c.options.Dial(ctx, "tcp", c.options.Address)
	if err != nil {
		return err
	}
	c.conn = conn
	return nil
}

// ask sends one question on the connection and reads its answer. The timer and the context end it by closing the
// connection, which survives only an exchange that neither of them, nor an error, has touched.
func (c *Client) ask(ctx context.Context) (int64, error) {
	conn := c.conn
	timer := c.options.Clock.AfterFunc(c.options.Timeout, func() { conn.Close() })
	stop := func() bool { return true }
	if ctx.Done() != nil {
		stop = context.AfterFunc(ctx, func() { conn.Close() })
	}
	millis, err := c.exchange(conn)
	inTime, wanted := timer.Stop(), stop()
	if err != nil || !inTime || !wanted {
		c.drop()
	}
	switch {
	case err == nil: // an answer that came first stands
		return millis, nil
	case !wanted:
		return 0, ctx.Err()
	case !inTime:
		return 0, fmt.Errorf("no answer within %v: %w", c.options.Timeout, context.DeadlineExceeded)
	default:
		return 0, err
	}
}

func (c *Client) exchange(conn net.Conn) (int64, error) {
	if _, err := conn.Write(requestBytes); err != nil {
		return 0, err
	}
	filled := 0
	for {
		n, err := conn.Read(c.buffer[filled:])
		filled += n
		if filled > 0 && c.buffer[filled-1] == '\n' || filled == replyMax {
			return parseAnswer(c.buffer[:filled])
		}
		if err != nil {
			return 0, err
		}
	}
}

func (c *Client) drop() error {
	if c.conn == nil {
		return nil
	}
	conn := c.conn
	c.conn = nil
	return conn.Close()
}

func (c *Client) explain(err error) error {
	return fmt.Errorf("timeserver: asking %s: %w", c.options.Address, err)
}
