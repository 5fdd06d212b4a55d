package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Errors of connections.
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
	words []string // backing of Args, when it is the message's own
	reply any

	// Args names the request: its command and arguments. For a reply it is the request that is answered. Empty when the
	// bytes are not one whole request. The slice is good for the duration of the call, its strings for ever.
	Args []string
	// Reply tells that the message travels from server to client.
	Reply bool
	// Unasked tells of a message to a client that it answers nothing: see Announcer.
	Unasked bool
	// Number counts the requests, or the replies, of one connection from 1. What opens and ends a connection has none.
	Number uint64

	delay     time.Duration
	lost      bool
	reset     bool
	vanished  bool   // see Vanish
	numbered  bool   // Args, Reply and Number are set
	asked     bool   // the taps have been asked at the point where it is
	heldSince int64  // true time at which it was held back by a pause
	cause     uint64 // entry of the trace
	scheduled scheduled
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
func (m *Message) Delay(d time.Duration) { m.delay += max(d, 0) }

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
		stream: w.Stream(linkLabel(from, to)),
	}
	w.links[key] = l
	w.order = append(w.order, l)
	return l
}

func linkLabel(from, to *Node) string { return "link/" + from.name + ">" + to.name }

// SetLatency sets the range from which each message's latency is drawn.
func (l *Link) SetLatency(r Range) { l.latency = r }

// Slow adds d to every message from now on; a negative d takes it away again.
func (l *Link) Slow(d time.Duration) {
	l.extra += d
	l.from.world.traceNode(l.from, fmt.Sprintf("link to %s slower by %v", l.to.name, d))
}

// Cut stops the link. With reset its connections are reset at both ends and new ones are refused. Without, what is
// sent is held until Heal, and nobody is told. What is on its way already still arrives. A link that is cut without
// reset can be cut with reset on top, which ends what was held.
func (l *Link) Cut(reset bool) {
	if l.cut && (l.reset || !reset) {
		return
	}
	l.cut, l.reset = true, reset
	w := l.from.world
	w.traceNode(l.from, fmt.Sprintf("link to %s cut, reset %v", l.to.name, reset))
	if !reset {
		return
	}
	for _, e := range slices.Clone(l.from.ends) {
		if e.peer.node == l.to {
			e.resetBoth()
		}
	}
	l.release()
}

// Heal ends a Cut.
func (l *Link) Heal() {
	if !l.cut {
		return
	}
	l.cut = false
	l.from.world.traceNode(l.from, fmt.Sprintf("link to %s healed", l.to.name))
	l.release()
}

// release sends what was held on its way anew.
func (l *Link) release() {
	held := l.held
	l.held = nil
	for _, m := range held {
		l.from.world.travel(l, m)
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

	// With a Scheduler: messages that were queued, the turn of the last one that was handed over and when that was, and
	// those that came up before their turn.
	turns, turn uint64
	handed      int64
	behind      []event

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

// recycle makes a delivered or lost message free for the next one. Its buffers stay.
func (w *World) recycle(m *Message) {
	*m = Message{raw: m.raw[:0], words: m.words[:0]}
	w.free = append(w.free, m)
}

// transmit sends a message from its end, if the machine and the connection can.
func (w *World) transmit(m *Message) {
	if w.mayLeave(m) {
		m.asked = false
		m.cause = w.traceMessage(KindSend, m, w.trace.current)
		w.travel(m.from.link, m)
	}
}

// mayLeave asks the taps, once, and tells whether the message leaves its machine now. If not, it was held or dropped.
func (w *World) mayLeave(m *Message) bool {
	e := m.from
	if e.process.dead.Load() {
		w.recycle(m) // unwinding code of a crashed incarnation has no effect, not even in the trace
		return false
	}
	w.identify(m)
	if !e.closed && !e.node.paused && !m.asked {
		m.asked = true
		if m.Number > 0 {
			w.tapSend(m)
		}
	}
	switch {
	case e.process.dead.Load():
		w.drop(m, "its sender crashed")
	case e.closed:
		w.drop(m, "its connection is gone")
	case e.node.paused:
		m.heldSince = w.now.Load()
		e.node.held = append(e.node.held, m)
	default:
		return true
	}
	return false
}

// identify finds out what a message says.
func (w *World) identify(m *Message) {
	if m.numbered {
		return
	}
	m.numbered = true
	c := m.from.conn
	m.Reply = m.from == &c.server
	if m.Reply {
		m.Args = c.request
		if announcer, ok := c.server.node.service.(Announcer); ok && m.kind == messageData {
			m.Unasked = announcer.Unasked(m.raw)
		}
	} else if m.kind == messageData {
		if describe := c.server.node.describe; describe != nil {
			m.words = append(m.words[:0], describe(m.raw)...)
			m.Args = m.words
		}
	}
	if messageClass(m.kind) == messageData {
		m.from.sent++
		m.Number = m.from.sent
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
	now := w.now.Load()
	latency := l.stream.Duration(l.latency)
	if w.config.Scheduler != nil && now >= 0 {
		latency = w.depart(l, m, latency, l.extra+m.delay)
	}
	latency = max(latency+l.extra+m.delay, 0)
	if now < 0 {
		latency = 0
	}
	if l.cut && l.reset {
		m.lost, m.reset = true, true
	}
	switch {
	case m.lost:
		w.lose(m)
		return
	case m.vanished:
		w.drop(m, "it vanishes")
		return
	case e.broken:
		w.drop(m, "the connection is half-open")
		return
	case l.cut:
		l.held = append(l.held, m)
		return
	}
	at := slot(now+int64(latency), l.number)
	if at <= e.arrival {
		at = slot(e.arrival+1, l.number)
	}
	e.arrival = at
	e.queued(m)
	l.sequence++
	w.queue.push(event{at: at, key: key(l.number, l.sequence), message: m})
}

// lose ends a message and its connection.
func (w *World) lose(m *Message) {
	e, reset := m.from, m.reset
	w.drop(m, "lost")
	if reset {
		e.resetBoth()
		return
	}
	e.broken, e.peer.broken = true, true
}

// resetBoth cuts both sides of a connection, as the network does when it gives up on it.
func (e *end) resetBoth() {
	e.resetNow()
	e.peer.resetNow()
}

// resetNow cuts this side of a connection. A paused machine notices when it resumes.
func (e *end) resetNow() {
	n := e.node
	if n.paused && !e.gone {
		n.deferred = append(n.deferred, event{action: func() { e.cut(e.resetError()) }})
		return
	}
	e.cut(e.resetError())
}

// drop ends a message and returns the entry of the trace that says so.
func (w *World) drop(m *Message, why string) uint64 {
	index := uint64(0)
	if w.trace.mode != Off {
		from, to := m.from.node, m.from.peer.node
		index = w.trace.add(w.now.Load(), KindDrop, from, to, m.from.conn.id, m.cause, m.sum(), dropped{m, why})
	}
	w.recycle(m)
	return index
}

// dropped is how the end of a message reads in the trace.
type dropped struct {
	message *Message
	why     string
}

func (d dropped) text() string { return d.message.text() + ": " + d.why }

// transmitControl sends a message that ends a connection, from a side that may be down already.
func (w *World) transmitControl(e *end, kind messageKind) {
	m := w.newMessage(e, kind)
	w.identify(m)
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
	if to.node.paused {
		to.node.deferred = append(to.node.deferred, e)
		return
	}
	if !to.takes(m) {
		w.refuse(m)
		return
	}
	if m.Number > 0 && !m.Reply && !m.asked && w.now.Load() >= 0 {
		m.asked = true
		w.trace.current = m.cause
		for _, tap := range w.config.Taps {
			tap(PointArrive, m)
		}
		switch {
		case m.lost:
			w.lose(m)
			return
		case to.node.paused:
			to.node.deferred = append(to.node.deferred, e)
			return
		case !to.takes(m):
			w.refuse(m)
			return
		}
	}
	w.trace.current = w.traceMessage(KindDeliver, m, m.cause)
	to.accept(m)
}

// takes tells whether a message can be handed over at this end. It cannot once its side is closed, its machine is down
// or another incarnation of what it was; nor before the connection was opened here, which never happens when whatever
// asked for it was refused.
func (e *end) takes(m *Message) bool {
	if e.process == nil {
		return m.kind == messageOpen && !e.gone && !e.node.crashed
	}
	return !e.gone && !e.node.crashed && e.process == e.node.process
}

// refuse answers a message that its machine cannot take: a running machine resets, and so does the operating system
// under a program that crashed. Only a silent crash answers nothing.
func (w *World) refuse(m *Message) {
	to := m.from.peer
	answer := m.kind != messageReset && m.kind != messageFin && !(to.node.crashed && to.node.silent)
	w.trace.current = w.drop(m, "nobody takes it")
	if answer {
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
			e.direct.wakeUp()
		} else {
			e.wire.opened()
		}
	case messageReset:
		e.cut(e.resetError())
	case messageFin:
		e.ended()
	case messageCall:
		e.execute(m)
	case messageReply:
		w.dirty.Store(true)
		e.direct.answered(m.reply)
	case messageData:
		e.take(m)
	}
	w.recycle(m)
}

// take hands bytes to this end.
func (e *end) take(m *Message) {
	if !m.Reply {
		e.conn.request = append(e.conn.request[:0], m.Args...) // a copy: the message's words are used again
	}
	switch {
	case e.session != nil:
		e.session.Bytes(m.raw)
	case e.wire != nil:
		e.node.world.dirty.Store(true)
		e.wire.received(m.raw)
	}
}

// execute runs a request of the direct transport on a service machine and sends the reply.
func (e *end) execute(m *Message) {
	w := e.node.world
	e.conn.request = m.Args // the client's, who writes to it when it has got the reply
	value, raw, later := e.session.Command(m.Args)
	if later || e.gone {
		return
	}
	reply := w.newMessage(e, messageReply)
	reply.reply = value
	reply.raw = append(reply.raw[:0], raw...)
	w.transmit(reply)
}

// open answers a request for a connection at the server's end.
func (e *end) open(m *Message) {
	w := e.node.world
	e.process = e.node.process
	client := m.from
	switch {
	case e.node.service != nil:
		e.session = e.node.service.Accept(&ServiceConn{e})
	case client.wire != nil && e.node.listeners[client.wire.address] != nil:
		w.dirty.Store(true)
		e.wire = newWireConn(e, client.wire.address)
		e.node.listeners[client.wire.address].push(e.wire)
	default:
		e.gone = true
		w.transmitControl(e, messageReset)
		return
	}
	e.node.ends = append(e.node.ends, e)
	w.transmit(w.newMessage(e, messageOpened))
}

// ended takes the peer's word that it will send no more. A Service hangs up in turn, as servers do.
func (e *end) ended() {
	w := e.node.world
	switch {
	case e.session != nil:
		e.session.Closed()
		e.hangUp()
	case e.direct != nil:
		e.cut(ErrReset)
	default:
		w.dirty.Store(true)
		e.wire.ended()
	}
}

// hangUp closes this side in good order: the end travels behind everything that was sent before.
func (e *end) hangUp() {
	if e.gone {
		return
	}
	w := e.node.world
	w.transmit(w.newMessage(e, messageFin))
	if !e.gone { // a Tap may have cut it
		e.gone = true
		e.forget()
	}
}

// cut ends this side of a connection now: whoever waits on it gets err.
func (e *end) cut(err error) {
	if e.gone {
		e.closed = true
		return
	}
	e.gone, e.closed = true, true
	e.node.world.dirty.Store(true)
	e.forget()
	if e.session != nil {
		e.session.Closed()
	}
	if e.wire != nil {
		e.wire.fail(err)
	}
	if e.direct != nil {
		e.direct.fail(err)
	}
	if (e.wire != nil || e.direct != nil) && !e.process.dead.Load() {
		// One event can cut several connections of a machine. Whoever waited on one does what it does about that before
		// the next one hears of it: the order of what they ask for must not be left to chance.
		synctest.Wait()
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
	if i := slices.Index(e.node.ends, e); i >= 0 {
		e.node.ends = slices.Delete(e.node.ends, i, i+1)
	}
}

// retime moves the time-outs that run on the machine's clock, after the clock changed its rate.
func (e *end) retime() {
	if d := e.deadline(); d != nil {
		d.ensure()
	}
}

// postpone moves the time-out by the span that a message waited in its paused machine: the program is taken to have
// been stopped before it wrote, and so before it began to wait for the answer.
func (e *end) postpone(span int64) {
	d, now := e.deadline(), e.node.world.now.Load()
	if d == nil || span <= 0 || d.postponedAt == now {
		return // of several messages that waited, the first has waited longest
	}
	d.postponedAt = now
	d.conn.postpone(span)
	d.ensure()
}

// deadline is the time-out of what waits at this end; nil for a Service.
func (e *end) deadline() *deadline {
	switch {
	case e.wire != nil:
		return &e.wire.deadline
	case e.direct != nil:
		return &e.direct.deadline
	}
	return nil
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
		return fmt.Errorf("%w as %q", ErrNoMachine, host)
	}
	c := &conn{}
	// Times before 0 are times of the preparation, so nothing has arrived yet means a time before all of them.
	c.client = end{conn: c, node: p.node, process: p, peer: &c.server, arrival: math.MinInt64}
	c.server = end{conn: c, node: server, peer: &c.client, arrival: math.MinInt64}
	transport(&c.client)
	w.ask(item{class: itemDial, process: p, lane: uint64(server.number), action: c.begin})
	return nil
}

// begin is the engine's part of dial.
func (c *conn) begin() {
	e := &c.client
	if e.process.dead.Load() {
		e.cut(ErrCrashed)
		return
	}
	w := e.node.world
	w.conns++
	c.id = w.conns
	e.link, c.server.link = w.Link(e.node, c.server.node), w.Link(c.server.node, e.node)
	e.node.ends = append(e.node.ends, e)
	if e.direct != nil {
		e.direct.arm()
	}
	w.transmit(w.newMessage(e, messageOpen))
}

// lane orders what the goroutines of one machine send within one instant: connection by connection.
func (e *end) lane() uint64 { return e.conn.id }
