package redis

import (
	"slices"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Conn is one client's connection. It is used either with Command (the direct transport) or with Bytes (the wire
// transport), not with both.
type Conn struct {
	server   *Server
	id       uint64
	clientID int64 // as CLIENT ID tells it
	port     Port
	peer     *server.Peer // what the store knows of the connection: its database and what it watches
	peerDB   int

	out     []byte // replies that were not sent yet
	input   requestParser
	queued  [][]string // direct commands that arrived while the connection waited
	pushed  [][]byte   // messages for a direct subscriber that were not sent yet
	direct  bool
	isDirty bool
	closing bool // to be closed once out is sent
	gone    bool

	db       int
	resp3    bool
	name     string
	scripted bool // executes for a script

	transaction *transaction // between MULTI and EXEC
	executing   bool         // inside EXEC
	watched     []keyOf
	touched     bool // a watched key was changed by a command that the store does not count

	waiting       *waiter // a blocking command that found nothing
	subscriptions subscriptions
	failure       *scriptFailure // of the next script that gets so far
}

// database returns the selected database.
func (c *Conn) database() *miniredis.RedisDB { return c.server.db(c.db) }

// Command executes one request of the direct transport and returns the reply, decoded and as bytes. The bytes are
// valid until the next call. later means that the connection waits and that the reply comes through Port.Reply.
// The caller may use the slice of arguments again.
func (c *Conn) Command(args []string) (reply any, raw []byte, later bool) {
	switch {
	case c.gone:
		return ReplyError("ERR connection closed"), nil, false
	case len(args) == 0:
		return ReplyError("ERR empty command"), []byte("-ERR empty command\r\n"), false
	}
	c.direct = true
	if c.waiting != nil {
		c.queued = append(c.queued, slices.Clone(args))
		return nil, nil, true
	}
	c.out = c.out[:0]
	c.server.tick()
	c.execute(args)
	if c.waiting == nil {
		raw = c.out
	}
	if c.server.busy() {
		// Others may go on, but none of them writes into this buffer.
		c.out = nil
		c.server.settle()
		c.out = raw
	}
	if raw == nil {
		return nil, nil, true
	}
	return decode(raw), raw, false
}

// decode turns a reply of this server into a value.
func decode(raw []byte) any {
	value, _, err := decodeReply(raw)
	if err != nil {
		return ReplyError("ERR " + err.Error())
	}
	return value
}

// Bytes takes what arrived over the wire transport. All replies to one call go out as one segment.
func (c *Conn) Bytes(p []byte) {
	if c.gone || c.closing {
		return
	}
	c.server.tick()
	c.input.feed(p)
	c.serveInput()
	c.server.settle()
}

// serveInput executes the complete requests that have arrived, until one of them has to wait.
func (c *Conn) serveInput() {
	for c.waiting == nil && !c.closing {
		args, err := c.input.next()
		if err != nil {
			c.writeError("ERR Protocol error: " + err.Error())
			c.closing = true
			break
		}
		if args == nil {
			break
		}
		c.execute(args)
	}
	if len(c.out) > 0 || c.closing {
		c.markDirty()
	}
}

// Closed tells that the connection is gone.
func (c *Conn) Closed() {
	if c.gone {
		return
	}
	c.gone = true
	c.server.forget(c)
	c.server.settle()
}

// forget removes all traces of a connection.
func (s *Server) forget(c *Conn) {
	if i := slices.Index(s.conns, c); i >= 0 {
		s.conns = slices.Delete(s.conns, i, i+1)
	}
	if c.waiting != nil {
		s.unblock(c.waiting)
	}
	s.topics.dropAll(c)
	c.transaction = nil
}

// execute carries out one request and appends its reply, unless the connection has to wait for it.
func (c *Conn) execute(args []string) {
	start := len(c.out)
	c.server.executed++
	cmd, refusal := lookup(args)
	switch {
	case cmd == nil:
		c.refuse(refusal)
	case !cmd.arityFits(len(args)) && cmd.name == "exec":
		c.abort(wrongArity(cmd))
	case !cmd.arityFits(len(args)):
		c.refuse(wrongArity(cmd))
	case c.transaction != nil && !runsInsideMulti[cmd.name]:
		c.queue(cmd, args)
		return
	case c.subscriptions.count() > 0 && !c.resp3 && !allowedWhileSubscribed[cmd.name]:
		c.writeError("ERR Can't execute '" + cmd.name + "': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / " +
			"RESET are allowed in this context")
	default:
		c.perform(cmd, args)
	}
	if c.waiting == nil {
		c.observe(args, start)
	}
	c.server.serveReady() // before the next command of a pipeline, which must not find what others waited for
}

// perform runs a command whose number of arguments is right.
func (c *Conn) perform(cmd *command, args []string) {
	if j := c.server.journal; j != nil && cmd.is(flagWrite) {
		j.add(c.server.config.Now(), c.db, args)
	}
	cmd.run(c, args)
	if cmd.is(flagWrite) && len(c.server.blocked) > 0 {
		c.server.collectReady()
	}
}

// refuse answers a request that is wrong by its form. Inside MULTI it spoils the transaction.
func (c *Conn) refuse(text string) {
	if c.transaction != nil {
		c.transaction.spoiled = true
	}
	c.writeError(text)
}

// observe tells the hook of a command whose reply begins at start.
func (c *Conn) observe(args []string, start int) {
	hook := c.server.config.OnCommand
	if hook == nil {
		return
	}
	id := c.id
	if c.scripted {
		id = c.server.scripts.caller
	}
	hook(Executed{Conn: id, Args: args, Raw: c.out[start:], Nested: c.scripted || c.executing})
}

// dispatch lets the store answer a request.
func (c *Conn) dispatch(args []string) {
	s := c.server
	s.db(c.db) // the store is about to make it
	if c.peerDB != c.db {
		c.peerDB = c.db
		var ignored []byte
		s.sink.out = &ignored
		s.table.Dispatch(c.peer, []string{"SELECT", strconv.Itoa(c.db)})
		_ = s.writer.Flush()
	}
	start := len(c.out)
	c.peer.Resp3 = c.resp3
	s.sink.out = &c.out
	s.table.Dispatch(c.peer, args)
	_ = s.writer.Flush() // writes to memory
	if c.resp3 && string(c.out[start:]) == "*-1\r\n" {
		c.out = append(c.out[:start], "_\r\n"...) // the store knows no null array of RESP3
	}
}

// markDirty remembers that the connection has something to send.
func (c *Conn) markDirty() {
	if !c.isDirty {
		c.isDirty = true
		c.server.dirty = append(c.server.dirty, c)
	}
}

// busy tells whether settle has anything to do.
func (s *Server) busy() bool { return len(s.ready)+len(s.resumed)+len(s.dirty) > 0 }

// settle brings a finished command's consequences for other connections about and sends all output, one segment per
// connection, in the order in which the output arose.
func (s *Server) settle() {
	for len(s.ready)+len(s.resumed) > 0 {
		s.serveReady()
		s.resume()
	}
	for _, c := range s.dirty {
		c.isDirty = false
		c.send()
	}
	s.dirty = s.dirty[:0]
}

// resume goes on with connections that have stopped waiting.
func (s *Server) resume() {
	resumed := s.resumed
	s.resumed = nil
	for _, c := range resumed {
		if c.gone {
			continue
		}
		if !c.direct {
			c.serveInput()
			continue
		}
		for len(c.queued) > 0 && c.waiting == nil {
			args := c.queued[0]
			c.queued = c.queued[1:]
			c.out = c.out[:0]
			c.execute(args)
			c.replyLate()
		}
	}
}

// replyLate sends the reply of a direct command that had to wait.
func (c *Conn) replyLate() {
	if c.waiting == nil && !c.gone {
		c.port.Reply(decode(c.out), c.out)
	}
}

// send hands the output of a wire connection, or the messages of a direct one, to the network.
func (c *Conn) send() {
	if c.gone {
		return
	}
	if c.direct {
		for _, raw := range c.pushed {
			c.port.Push(decode(raw), raw)
		}
		c.pushed = nil
		return
	}
	if len(c.out) > 0 {
		c.port.Write(c.out)
		c.out = c.out[:0]
	}
	if c.closing {
		c.gone = true
		c.server.forget(c)
		c.port.Close()
	}
}
