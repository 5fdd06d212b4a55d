package sim

// Service is the program of a machine without goroutines: it answers on the engine's goroutine at the instant a
// request arrives. A Redis machine is one.
//
// Calls are never concurrent. A Service must not block, and reaches goroutines through its connections only. Its
// machine's clock is Node.Wall and Node.Monotonic.
type Service interface {
	// Accept is told of each new connection and returns what handles it.
	Accept(conn *ServiceConn) Session
	// Describe names a request for traces and faults: its command and arguments. It returns nil for bytes that are
	// not exactly one whole request; such segments are traced as raw bytes. The strings must not share memory with
	// request; the slice may be used again at the next call.
	Describe(request []byte) []string
	// Restart is told that the machine came back after a crash: with its data, or empty. All sessions are gone.
	Restart(empty bool)
}

// Announcer is a Service that also sends what nobody asked for, such as the events of watches.
type Announcer interface {
	// Unasked tells whether a segment to a client begins with such a message.
	Unasked(segment []byte) bool
}

// Session is one connection as the Service sees it.
type Session interface {
	// Command executes one request of the direct transport. The reply is decoded (a server's refusal is a value of
	// type error) and also given as the bytes that a wire client would have read; raw is only valid until the next
	// call. later means that the reply comes through ServiceConn.Reply. args is the client's slice, good until then.
	Command(args []string) (reply any, raw []byte, later bool)
	// Bytes takes what arrived over the wire transport; p is only valid during the call. Answers go through
	// ServiceConn.Write.
	Bytes(p []byte)
	// Closed tells that the connection is gone, by the peer, by a crash or by the network. It comes once.
	Closed()
}

// ServiceConn is the Service's hold on one connection.
type ServiceConn struct{ end *end }

// ID numbers the connection within its world, from 1, in the order in which connections were opened.
func (c *ServiceConn) ID() uint64 { return c.end.conn.id }

// Write sends p to the peer as one segment. p may be reused after the call. Only for the engine's goroutine.
func (c *ServiceConn) Write(p []byte) {
	if c.end.gone || len(p) == 0 {
		return
	}
	w := c.end.node.world
	m := w.newMessage(c.end, messageData)
	m.raw = append(m.raw[:0], p...)
	w.transmit(m)
}

// Reply answers the request of the direct transport for which Session.Command said later.
func (c *ServiceConn) Reply(value any, raw []byte) {
	if c.end.gone {
		return
	}
	w := c.end.node.world
	m := w.newMessage(c.end, messageReply)
	m.reply = value
	m.raw = append(m.raw[:0], raw...)
	w.transmit(m)
}

// Push sends a client of the direct transport something that it did not ask for; the client reads it from its Feed.
func (c *ServiceConn) Push(value any, raw []byte) {
	if c.end.gone {
		return
	}
	w := c.end.node.world
	m := w.newMessage(c.end, messageReply)
	m.reply, m.Unasked = value, true
	m.raw = append(m.raw[:0], raw...)
	w.transmit(m)
}

// Close ends the connection after everything written so far. Session.Closed is not called for it.
func (c *ServiceConn) Close() { c.end.hangUp() }

// Client is the machine that opened the connection.
func (c *ServiceConn) Client() *Node { return c.end.conn.client.node }
