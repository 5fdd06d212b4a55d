package zookeeper

import "encoding/binary"

// Conn is one connection to a Server: bytes come in through Bytes and leave through its Port, one frame at a time.
type Conn struct {
	server *Server
	port   Port
	client *Client

	buffer    []byte // what has arrived of a frame that is not complete
	connected bool   // the first frame was answered
	gone      bool
}

// Bytes takes what arrived, which may be any part of one or more frames. p is only valid during the call. What cannot
// be read as a frame or as the header of a request closes this connection.
func (c *Conn) Bytes(p []byte) {
	if len(c.buffer) > 0 {
		c.buffer = append(c.buffer, p...)
		p = c.buffer
	}
	for !c.gone {
		frame, rest, ok := c.nextFrame(p)
		if !ok {
			break
		}
		p = rest
		c.server.received++
		c.handle(frame)
	}
	if c.gone {
		c.buffer = nil
		return
	}
	c.buffer = append(c.buffer[:0], p...)
}

// nextFrame cuts off one whole frame.
func (c *Conn) nextFrame(p []byte) (frame, rest []byte, ok bool) {
	if len(p) < 4 {
		return nil, p, false
	}
	if !c.connected && c.fourLetters(p[:4]) {
		return nil, p, false
	}
	length := binary.BigEndian.Uint32(p)
	if length > maxFrame {
		c.close()
		return nil, p, false
	}
	if end := 4 + int(length); len(p) >= end {
		return p[4:end], p[end:], true
	}
	return nil, p, false
}

func (c *Conn) handle(frame []byte) {
	if !c.connected {
		c.connect(frame)
		return
	}
	s := c.server
	r := &s.request
	if !decodeRequest(frame, r) {
		c.close()
		return
	}
	p := s.state.Execute(c.client, r, s.now())
	if p == nil {
		return
	}
	if s.config.OnRequest != nil {
		s.report(c.executed(r, p))
	}
	s.deliver()
	if !p.Silent {
		s.output = appendReply(s.output[:0], p)
		c.write(s.output)
	}
	if p.Close {
		c.close()
	}
	if sweep, ok := s.state.nextSweep(); ok && (s.cancel == nil || sweep < s.due) {
		s.wind()
	}
}

// executed describes a request that was carried out.
func (c *Conn) executed(r *Request, p *Reply) Executed {
	e := Executed{Conn: c.client.Conn, Session: c.client.Session, Op: r.Op, Path: r.Path, Err: p.Err}
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		if p.Err == OK {
			e.Created = p.Path
		}
	}
	return e
}

// connect answers a connection's first frame.
func (c *Conn) connect(frame []byte) {
	var r ConnectRequest
	if !decodeConnect(frame, &r) {
		c.close()
		return
	}
	s := c.server
	reply, refused := s.state.Connect(c.client, &r, s.now())
	executed := Executed{Conn: c.client.Conn, Session: reply.Session, Op: OpConnect}
	if reply.Session == 0 {
		executed.Session, executed.Err = r.Session, SessionExpired
	}
	s.report(executed)
	s.deliver()
	if refused {
		c.close()
		return
	}
	c.connected = true
	s.output = appendConnectReply(s.output[:0], &reply, r.modern)
	c.write(s.output)
	if reply.Session == 0 {
		c.close()
		return
	}
	s.wind()
}

func (c *Conn) write(p []byte) {
	c.server.sent++
	c.port.Write(p)
}

// close ends the connection from this side.
func (c *Conn) close() {
	if c.gone {
		return
	}
	c.forget()
	c.port.Close()
}

// Closed tells that the connection is gone. Its session lives on.
func (c *Conn) Closed() {
	if !c.gone {
		c.forget()
	}
}

func (c *Conn) forget() {
	c.gone = true
	delete(c.server.conns, c.client.Conn)
	c.server.state.Disconnect(c.client)
}
