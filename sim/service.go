package sim

// Service is the program of a machine without goroutines: it answers on the engine's goroutine at the instant a
// request arrives. A Redis machine is one.
//
// Calls are never concurrent. A Service must not block. Its machine's clock is Node.Wall and Node.Monotonic.
type Service interface {
	// Accept is told of each new connection and returns what handles it.
	Accept(conn *ServiceConn) Session
	// Describe names a request for traces and faults: its command and arguments. It returns nil for bytes that are
	// not exactly one whole request; such segments are traced as raw bytes.
	Describe(request []byte) []string
	// Restart is told that the machine came back after a crash: with its data, or empty. All sessions are gone.
	Restart(empty bool)
}

// Session is one connection as the Service sees it.
type Session interface {
	// Command executes one request of the direct transport. The reply is decoded (a server's refusal is a value of
	// type error) and also given as the bytes that a wire client would have read; raw is only valid until the next
	// call. later means that the reply comes through ServiceConn.Reply.
	Command(args []string) (reply any, raw []byte, later bool)
	// Bytes takes what arrived over the wire transport. Answers go through ServiceConn.Write.
	Bytes(p []byte)
	// Closed tells that the connection is gone, by the peer or by the network.
	Closed()
}

// ServiceConn is the Service's hold on one connection.
type ServiceConn struct{ end *end }

// ID numbers the connection within its world, from 1, in the order in which connections were opened.
func (c *ServiceConn) ID() uint64 { return c.end.conn.id }

// Write sends p to the peer as one segment. p may be reused after the call. Only for the engine's goroutine.
func (c *ServiceConn) Write(p []byte) {
	w := c.end.node.world
	m := w.newMessage(c.end, messageData)
	m.raw = append(m.raw[:0], p...)
	w.transmit(m)
}

// Reply answers the request of the direct transport for which Session.Command said later.
func (c *ServiceConn) Reply(value any, raw []byte) {
	w := c.end.node.world
	m := w.newMessage(c.end, messageReply)
	m.reply = value
	m.raw = append(m.raw[:0], raw...)
	w.transmit(m)
}

// Close ends the connection after everything written so far.
func (c *ServiceConn) Close() {
	w := c.end.node.world
	w.transmit(w.newMessage(c.end, messageFin))
	c.end.gone = true
	c.end.forget()
}

// Client is the machine that opened the connection.
func (c *ServiceConn) Client() *Node { return c.end.conn.client.node }
