package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Errors of connections. Each wraps into the *net.OpError-like text of its caller.
var (
	// ErrReset: the peer or the network cut the connection. What was sent last may or may not have been executed.
	ErrReset = errors.New("connection reset by peer")
	// ErrRefused: nothing listens at the address, or its machine is down.
	ErrRefused = errors.New("connection refused")
	// ErrNoMachine: the address names no machine of the world.
	ErrNoMachine = errors.New("no such machine")
)

// messageKind says what a message is to the transport.
type messageKind uint8

const (
	messageOpen   messageKind = iota + 1 // asks for a connection
	messageOpened                        // grants it
	messageData                          // bytes, wire transport
	messageCall                          // a request, direct transport
	messageReply                         // its reply
	messageFin                           // the sender will send no more
	messageReset                         // the connection is gone
)

var messageNames = [...]string{"", "open", "opened", "data", "call", "reply", "end", "reset"}

// Message is one request or reply on its way, as a Tap sees it.
type Message struct {
	kind  messageKind
	from  *end
	raw   []byte   // data: the bytes; reply: what a wire client would read
	args  []string // call: the request
	reply any

	// Args names the request: its command and arguments. For a reply it is the request that is answered. Nil when the
	// bytes are not one whole request.
	Args []string
	// Reply tells that the message travels from server to client.
	Reply bool
	// Number counts the messages of one connection and direction, from 1.
	Number uint64

	delay  time.Duration
	lost   bool
	reset  bool
	tapped bool
	cause  uint64
}

// From is the machine that sent the message.
func (m *Message) From() *Node { return m.from.node }

// To is the machine that it goes to.
func (m *Message) To() *Node { return m.from.peer.node }

// Client is the machine that opened the connection.
func (m *Message) Client() *Node { return m.from.conn.client.node }

// Server is the other one.
func (m *Message) Server() *Node { return m.from.conn.server.node }

// Conn is the connection's number.
func (m *Message) Conn() uint64 { return m.from.conn.id }

// Command is the first of Args in upper case, empty when there is none.
func (m *Message) Command() string {
	if len(m.Args) == 0 {
		return ""
	}
	return strings.ToUpper(m.Args[0])
}

// Delay makes the message travel d longer than the network would let it. Later messages of its connection wait for it.
func (m *Message) Delay(d time.Duration) { m.delay += d }

// Lose ends the message here, and with it its connection, since bytes of one connection are never missing in the
// middle. With reset both ends notice; without, the connection is half-open: whatever follows is lost as well.
func (m *Message) Lose(reset bool) { m.lost, m.reset = true, reset }

// Point is a moment in the life of a request.
type Point uint8

// The points at which a Tap is asked.
const (
	// PointSend: a request is about to leave its machine. The machine may still be paused or crashed: the request then
	// stays inside or is never sent.
	PointSend Point = iota + 1
	// PointArrive: a request is about to be executed.
	PointArrive
	// PointReply: a request has been executed and its reply is about to leave the server.
	PointReply
)

// Tap is asked at each point of each request, on the engine's goroutine. It may use Message.Delay (not at PointArrive),
// Message.Lose, and everything that bends, pauses or crashes machines. It is asked once per message and point, also
// when the message is held back by a pause.
type Tap func(point Point, m *Message)

// Link is one direction of the network between two machines.
type Link struct {
	from, to *Node
	stream   *Stream
	number   uint32 // stream number of its arrivals
	sequence uint64
	latency  Range
	extra    time.Duration
	cut      bool
	reset    bool
	held     []*Message // sent while cut without a reset; goes on when healed, as TCP would resend
}

// Link returns one direction of the network between two machines.
func (w *World) Link(from, to *Node) *Link {
	key := [2]int{from.number, to.number}
	if l := w.links[key]; l != nil {
		return l
	}
	l := &Link{
		from: from, to: to, latency: w.config.Latency, number: w.newStreamNumber(),
		stream: w.Stream("link/" + from.name + ">" + to.name),
	}
	w.links[key] = l
	w.order = append(w.order, l)
	return l
}

// SetLatency sets the range from which each message's latency is drawn.
func (l *Link) SetLatency(r Range) { l.latency = r }

// Slow adds d to every message from now on; a negative d takes it away again.
func (l *Link) Slow(d time.Duration) {
	l.extra += d
	l.from.world.traceNode(l.from, fmt.Sprintf("link to %s slower by %v", l.to.name, d))
}

// Cut stops the link. With reset its connections are reset at both ends and new ones are refused. Without, what is
// sent is held until Heal, and nobody is told.
func (l *Link) Cut(reset bool) {
	if l.cut {
		return
	}
	l.cut, l.reset = true, reset
	l.from.world.traceNode(l.from, fmt.Sprintf("link to %s cut, reset %v", l.to.name, reset))
	if !reset {
		return
	}
	for _, e := range append([]*end(nil), l.from.ends...) {
		if e.peer.node == l.to {
			e.cut(ErrReset)
			e.peer.cut(ErrReset)
		}
	}
}

// Heal ends a Cut.
func (l *Link) Heal() {
	if !l.cut {
		return
	}
	l.cut = false
	w := l.from.world
	w.traceNode(l.from, fmt.Sprintf("link to %s healed", l.to.name))
	held := l.held
	l.held = nil
	for _, m := range held {
		w.travel(l, m)
	}
}

// HealLinks ends every Cut and takes away what Slow added.
func (w *World) HealLinks() {
	for _, l := range w.order {
		l.Heal()
		if l.extra != 0 {
			l.Slow(-l.extra)
		}
	}
}

// conn is a connection; each end is one side of it.
type conn struct {
	id             uint64
	client, server end
	request        []string // the last request that was executed: what the next reply answers
}

// end is one side of a connection, on one incarnation of a machine.
type end struct {
	conn    *conn
	node    *Node
	process *Process
	peer    *end
	link    *Link // towards the peer
	sent    uint64
	arrival int64 // of the last message sent from here: the next one arrives later
	closed  bool  // cut: nothing leaves from here any more
	broken  bool  // what leaves from here gets lost: half-open
	gone    bool  // nothing is taken here any more: closed by its side, or cut
	opened  bool  // the peer has granted the connection

	session Session   // service machines
	wire    *wireConn // wire transport
	direct  *directConn
}

func (w *World) newMessage(from *end, kind messageKind) *Message {
	if last := len(w.free) - 1; last >= 0 {
		m := w.free[last]
		w.free = w.free[:last]
		m.from, m.kind = from, kind
		return m
	}
	return &Message{from: from, kind: kind}
}

// release makes a delivered or lost message free for the next one. Its buffer stays.
func (w *World) release(m *Message) {
	*m = Message{raw: m.raw[:0]}
	w.free = append(w.free, m)
}

// transmit sends a message from its end, if the machine and the connection can.
func (w *World) transmit(m *Message) {
	e := m.from
	if e.closed || e.process.dead.Load() || e.node.process != e.process {
		w.drop(m, "its sender is gone")
		return
	}
	if e.node.paused {
		e.node.held = append(e.node.held, m)
		return
	}
	if !m.tapped {
		w.identify(m)
		m.tapped = true
		if m.kind == messageCall || m.kind == messageData || m.kind == messageReply {
			w.tapSend(m)
			if e.process.dead.Load() {
				w.drop(m, "its sender crashed")
				return
			}
			if e.node.paused {
				e.node.held = append(e.node.held, m)
				return
			}
		}
	}
	e.sent++
	m.Number = e.sent
	m.cause = w.traceMessage(KindSend, m, w.trace.current)
	w.travel(e.link, m)
}

// identify finds out what a message says.
func (w *World) identify(m *Message) {
	c := m.from.conn
	m.Reply = m.from == &c.server
	switch {
	case m.kind == messageCall:
		m.Args = m.args
	case m.kind == messageData && !m.Reply:
		if describe := c.server.node.describe; describe != nil {
			m.Args = describe(m.raw)
		}
	case m.Reply:
		m.Args = c.request
	}
}

func (w *World) tapSend(m *Message) {
	if w.now.Load() < 0 {
		return
	}
	point := PointSend
	if m.Reply {
		point = PointReply
	}
	for _, tap := range w.config.Taps {
		tap(point, m)
	}
}

// travel gives a message its time of arrival. The latency is drawn for every message, also for one that gets lost, so
// that a loss moves no later draw.
func (w *World) travel(l *Link, m *Message) {
	e := m.from
	latency := l.stream.Duration(l.latency) + l.extra + m.delay
	if w.now.Load() < 0 {
		latency = 0
	}
	if l.cut && l.reset {
		m.lost, m.reset = true, true
	}
	switch {
	case m.lost:
		w.lose(m)
		return
	case e.broken:
		w.drop(m, "the connection is half-open")
		return
	case l.cut:
		l.held = append(l.held, m)
		return
	}
	at := slot(w.now.Load()+int64(latency), l.number)
	if at <= e.arrival {
		at = slot(e.arrival+1, l.number)
	}
	e.arrival = at
	l.sequence++
	w.queue.push(event{at: at, key: uint64(l.number)<<40 | l.sequence, message: m})
}

// lose ends a message and its connection.
func (w *World) lose(m *Message) {
	e, reset := m.from, m.reset
	w.drop(m, "lost")
	if reset {
		e.cut(ErrReset)
		e.peer.cut(ErrReset)
		return
	}
	e.broken, e.peer.broken = true, true
}

func (w *World) drop(m *Message, why string) {
	w.trace.add(w.now.Load(), KindDrop, m.from.node, m.from.peer.node, m.from.conn.id, m.cause, m.sum(),
		plain(m.text()+": "+why))
	w.release(m)
}

// transmitControl sends a message that ends a connection, from a side that may be down already.
func (w *World) transmitControl(e *end, kind messageKind) {
	m := w.newMessage(e, kind)
	m.tapped = true
	m.cause = w.traceMessage(KindSend, m, w.trace.current)
	w.travel(e.link, m)
}

func (w *World) traceMessage(kind Kind, m *Message, cause uint64) uint64 {
	if w.trace.mode == Off {
		return 0
	}
	return w.trace.add(w.now.Load(), kind, m.from.node, m.from.peer.node, m.from.conn.id, cause, m.sum(), m)
}

// sum covers what a message says, equal over both transports.
func (m *Message) sum() uint64 {
	h := uint64(messageClass(m.kind))
	if !m.Reply && len(m.Args) > 0 {
		return mix(h ^ hashStrings(m.Args))
	}
	return mix(h ^ xxhash.Sum64(m.raw))
}

// messageClass is the kind without the transport: a call is data from the client, a reply data from the server.
func messageClass(kind messageKind) messageKind {
	if kind == messageCall || kind == messageReply {
		return messageData
	}
	return kind
}

func (m *Message) text() string {
	switch {
	case messageClass(m.kind) != messageData:
		return messageNames[m.kind]
	case !m.Reply && len(m.Args) > 0:
		return strings.Join(m.Args, " ")
	default:
		return fmt.Sprintf("%q", m.raw)
	}
}

// arrive delivers a message, unless its machine or connection cannot take it.
func (w *World) arrive(e event) {
	m := e.message
	to := m.from.peer
	if to.node.crashed || to.gone || to.process != nil && to.process != to.node.process {
		w.refuse(m)
		return
	}
	if to.node.paused {
		to.node.deferred = append(to.node.deferred, e)
		return
	}
	if !m.Reply && (m.kind == messageCall || m.kind == messageData) && !w.tapArrive(m) {
		if to.node.paused {
			to.node.deferred = append(to.node.deferred, e)
		}
		return
	}
	w.trace.current = w.traceMessage(KindDeliver, m, m.cause)
	to.accept(m)
}

// tapArrive asks the taps before a request is executed. It is false when the request is not to be executed now.
func (w *World) tapArrive(m *Message) bool {
	to := m.from.peer
	if w.now.Load() < 0 {
		return true
	}
	for _, tap := range w.config.Taps {
		tap(PointArrive, m)
	}
	if m.lost {
		w.lose(m)
		return false
	}
	if to.node.crashed || to.gone {
		w.refuse(m)
		return false
	}
	return !to.node.paused
}

// refuse answers a message that its machine cannot take: a running machine resets, and so does the operating system
// under a program that crashed. Only a silent crash answers nothing.
func (w *World) refuse(m *Message) {
	to := m.from.peer
	silent := to.node.crashed && to.node.silent
	w.drop(m, "nobody there")
	if !silent && m.kind != messageReset && m.kind != messageFin {
		w.transmitControl(to, messageReset)
	}
}

// accept hands a message to this end of its connection.
func (e *end) accept(m *Message) {
	w := e.node.world
	switch m.kind {
	case messageOpen:
		e.open(m)
	case messageOpened:
		w.dirty.Store(true)
		e.opened = true
		if e.direct != nil {
			e.direct.opened()
		} else {
			e.wire.opened()
		}
	case messageReset:
		e.cut(e.resetError())
	case messageFin:
		e.ended()
	case messageCall:
		e.execute(m)
		return
	case messageReply:
		w.dirty.Store(true)
		if e.direct != nil {
			e.direct.answered(m.reply)
		}
	case messageData:
		if !m.Reply && len(m.Args) > 0 {
			e.conn.request = m.Args
		}
		if e.session != nil {
			e.session.Bytes(m.raw)
			break
		}
		w.dirty.Store(true)
		e.wire.received(m.raw)
	}
	w.release(m)
}

// execute runs a request of the direct transport on a service machine and sends the reply.
func (e *end) execute(m *Message) {
	w := e.node.world
	e.conn.request = m.args
	value, raw, later := e.session.Command(m.args)
	if !later {
		reply := w.newMessage(e, messageReply)
		reply.reply = value
		reply.raw = append(reply.raw[:0], raw...)
		w.transmit(reply)
	}
	w.release(m)
}

// open answers a request for a connection at the server's end.
func (e *end) open(m *Message) {
	w := e.node.world
	e.process = e.node.process
	switch {
	case e.node.service != nil:
		e.session = e.node.service.Accept(&ServiceConn{e})
	case m.from.wire != nil && e.node.listener(m.from.wire.address) != nil:
		w.dirty.Store(true)
		e.wire = newWireConn(e, m.from.wire.address)
		e.node.listener(m.from.wire.address).push(e.wire)
	default:
		w.transmitControl(e, messageReset)
		return
	}
	e.node.ends = append(e.node.ends, e)
	w.transmit(w.newMessage(e, messageOpened))
}

// ended takes the peer's word that it will send no more.
func (e *end) ended() {
	w := e.node.world
	switch {
	case e.session != nil:
		e.session.Closed()
		e.gone = true
		e.forget()
	case e.direct != nil:
		e.cut(ErrReset)
	default:
		w.dirty.Store(true)
		e.wire.ended()
	}
}

// cut ends this side of a connection now: whoever waits on it gets err.
func (e *end) cut(err error) {
	if e.gone {
		return
	}
	e.gone, e.closed = true, true
	e.node.world.dirty.Store(true)
	if e.session != nil {
		e.session.Closed()
	}
	if e.wire != nil {
		e.wire.fail(err)
	}
	if e.direct != nil {
		e.direct.fail(err)
	}
	if !errors.Is(err, ErrCrashed) && !errors.Is(err, errWorldOver) {
		e.forget()
	}
}

// resetError is what a reset means here: before the connection was granted it is a refusal.
func (e *end) resetError() error {
	if e.opened || e == &e.conn.server {
		return ErrReset
	}
	return ErrRefused
}

// forget takes the end out of its machine's list.
func (e *end) forget() {
	for i, other := range e.node.ends {
		if other == e {
			e.node.ends = append(e.node.ends[:i], e.node.ends[i+1:]...)
			return
		}
	}
}

// dial queues the opening of a connection from a client's goroutine. address is host:port or just a machine's name.
func (p *Process) dial(address string, transport func(*end)) error {
	if err := p.alive(); err != nil {
		return err
	}
	w := p.node.world
	host, _, _ := strings.Cut(address, ":")
	server := w.names[host]
	if server == nil {
		return fmt.Errorf("dial %s: %w", address, ErrNoMachine)
	}
	c := &conn{}
	c.client = end{conn: c, node: p.node, process: p, peer: &c.server}
	c.server = end{conn: c, node: server, peer: &c.client}
	transport(&c.client)
	p.Do(0, func() {
		w.conns++
		c.id = w.conns
		c.client.link, c.server.link = w.Link(p.node, server), w.Link(server, p.node)
		p.node.ends = append(p.node.ends, &c.client)
		w.transmit(w.newMessage(&c.client, messageOpen))
	})
	return nil
}

// lane orders what the goroutines of one machine send within one instant: connection by connection.
func (e *end) lane() uint64 { return e.conn.id << 1 }
