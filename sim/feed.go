package sim

import (
	"context"
	"fmt"
	"sync"
)

// Feed is a connection of the direct transport over which a Service goes on to send after its first reply, as a Redis
// does to a subscriber: see ServiceConn.Push. It is the direct counterpart of a wire connection that a client library
// keeps reading.
type Feed struct {
	conn *directConn

	mutex   sync.Mutex
	waiting []any // what has arrived and was not read
	wake    chan struct{}
}

// Feed opens a connection of its own, sends one request over it, and returns the reply and the feed of what follows. A
// reply that is an error value is returned as the error, without a feed.
func (c *DirectClient) Feed(ctx context.Context, args ...any) (reply any, feed *Feed, err error) {
	if err := c.process.alive(); err != nil {
		return nil, nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	conn, err := c.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	feed = &Feed{conn: conn, wake: make(chan struct{}, 1)}
	conn.feed = feed
	if conn.args, err = appendArgs(conn.args[:0], args); err == nil {
		reply, err = conn.call(ctx)
	}
	if refusal, ok := reply.(error); ok {
		err = refusal
	}
	if err != nil {
		feed.Close()
		return nil, nil, fmt.Errorf("feed from %s: %w", c.address, err)
	}
	return reply, feed, nil
}

// Next waits for the next message. An error means that the connection is over; what was on its way is lost. One
// goroutine at a time may wait.
func (f *Feed) Next() (any, error) {
	p := f.conn.client.process
	for {
		f.mutex.Lock()
		if len(f.waiting) > 0 {
			message := f.waiting[0]
			f.waiting = f.waiting[1:]
			f.mutex.Unlock()
			return message, nil
		}
		f.mutex.Unlock()
		if err := f.conn.failed.get(); err != nil {
			if dead := p.alive(); dead != nil {
				return nil, dead
			}
			return nil, err
		}
		<-f.wake
	}
}

// Close ends the connection; whoever waits for a message is told ErrReset. It may be called from any goroutine.
func (f *Feed) Close() {
	if f.conn.failed.get() == nil {
		f.conn.hangUp()
	}
	signal(f.wake)
}

// pushed takes a message that the server sent by itself. Engine's goroutine.
func (f *Feed) pushed(message any) {
	f.mutex.Lock()
	f.waiting = append(f.waiting, message)
	f.mutex.Unlock()
	signal(f.wake)
}
