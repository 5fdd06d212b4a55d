package zklock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

const playLease = 10 * time.Second

// play is the world of one script or one seed: a server, a clock, and players whose messages move only when told so.
type play struct {
	t       *testing.T
	clock   *clockwork.FakeClock
	server  *server
	players map[string]*player
	order   []*player
	links   []*link
	output  strings.Builder
	over    atomic.Bool
}

// link is one client connection: an impl.ZooKeeper whose requests wait in it.
type link struct {
	p        *play
	name     string
	session  atomic.Int64
	last     int64 // session that was given out last
	cut      bool  // requests wait, nothing is heard of it
	down     bool  // the client knows that there is no connection
	states   chan zk.Event
	mutex    sync.Mutex
	inbox    []*message           // just sent, in no order yet
	watchers map[string][]watcher // by path
	waiting  []*message           // not executed yet
	way      []item               // on the way to the client
}

type watcher struct {
	exist bool // set by exists on a node that was not there
	ch    chan zk.Event
}

// message is one request and, later, its answer.
type message struct {
	text    string
	execute func(now int64) // with the session of its execution
	render  func() string
	err     error
	arrive  func() // on the client, before the caller
	arrived chan struct{}
}

// item is what a server sends: the answer to a message, or an event.
type item struct {
	answer *message
	event  zk.Event
}

// player is one handle on a link.
type player struct {
	name    string
	lock    impl.Lock
	link    *link
	calling string
	cancel  context.CancelFunc
	result  chan string
	dropped []string // errors that the lock logged
	logging sync.Mutex
}

var playBegin = time.UnixMilli(100_000)

func newPlay(t *testing.T) *play {
	return &play{t: t, clock: clockwork.NewFakeClockAt(playBegin), server: newServer(), players: map[string]*player{}}
}

// close ends whatever goes on: contexts end, requests fail, connections are closed.
func (p *play) close() {
	for _, pl := range p.order {
		if pl.cancel != nil {
			pl.cancel()
		}
	}
	p.over.Store(true)
	for range 3 {
		synctest.Wait()
		for _, l := range p.links {
			for _, m := range l.pending() {
				l.fail(m, zk.ErrConnectionClosed)
			}
			l.waiting = nil
			for _, i := range l.way {
				if i.answer != nil {
					l.fail(i.answer, zk.ErrConnectionClosed)
				}
			}
			l.way = nil
		}
		p.clock.Advance(time.Minute)
	}
	for _, l := range p.links {
		l.invalidate(zk.ErrClosing)
		close(l.states)
	}
	synctest.Wait()
}

func (p *play) newLink(name string) *link {
	l := &link{
		p: p, name: name, last: int64(len(p.links)+1) * 100,
		states: make(chan zk.Event, 100), watchers: map[string][]watcher{},
	}
	l.openSession()
	p.links = append(p.links, l)
	return l
}

func (l *link) openSession() {
	l.last++
	l.p.server.open(l.last, l.p.clock.Now())
	l.session.Store(l.last)
	l.states <- zk.Event{Type: zk.EventSession, State: zk.StateHasSession}
}

// SessionID and the methods below make a link an impl.ZooKeeper.
func (l *link) SessionID() int64 { return l.session.Load() }

func (l *link) Create(path string, data []byte, flags int32, _ []zk.ACL) (string, error) {
	if path == "" {
		return "", zk.ErrInvalidPath
	}
	kind := [4]string{"", " ephemeral", " sequential", " ephemeral sequential"}[flags]
	if len(data) > 0 {
		kind += fmt.Sprintf(" id %s", strings.TrimLeft(string(data), "0"))
	}
	var made string
	m := &message{text: "create " + path + kind, render: func() string { return made }}
	err := l.send(m, func(session int64) { made, m.err = l.p.server.create(path, string(data), flags, session) })
	return made, err
}

func (l *link) Delete(path string, _ int32) error {
	if path == "" {
		return zk.ErrInvalidPath
	}
	m := &message{text: "delete " + path, render: func() string { return "done" }}
	return l.send(m, func(int64) { m.err = l.p.server.delete(path) })
}

func (l *link) Children(path string) ([]string, *zk.Stat, error) {
	var names []string
	m := &message{text: "children " + path, render: func() string { return fmt.Sprint(names) }}
	err := l.send(m, func(int64) {
		names = l.p.server.children(path)
		if l.p.server.nodes[path] == nil {
			m.err = zk.ErrNoNode
		}
	})
	return names, &zk.Stat{}, err
}

func (l *link) Exists(path string) (bool, *zk.Stat, error) {
	exists, stat, _, err := l.look("exists", path, false)
	return exists, stat, err
}

func (l *link) ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error) {
	return l.look("exists", path, true)
}

func (l *link) Get(path string) ([]byte, *zk.Stat, error) {
	data, stat, _, err := l.get(path, false)
	return data, stat, err
}

func (l *link) GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error) { return l.get(path, true) }

func (l *link) get(path string, watch bool) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	var data string
	exists, stat, ch, err := l.lookAnd("get", path, watch, func(n *stored) { data = n.data })
	if err == nil && !exists {
		return nil, nil, nil, zk.ErrNoNode
	}
	return []byte(data), stat, ch, err
}

func (l *link) look(what, path string, watch bool) (bool, *zk.Stat, <-chan zk.Event, error) {
	return l.lookAnd(what, path, watch, func(*stored) {})
}

// lookAnd reads a node. A watch begins on the client when the answer arrives; get sets none where no node is.
func (l *link) lookAnd(what, path string, watch bool, also func(*stored)) (bool, *zk.Stat, <-chan zk.Event, error) {
	var present bool
	var stat *zk.Stat
	var ch chan zk.Event
	m := &message{text: what + " " + path, render: func() string {
		if !present {
			return "absent"
		}
		return fmt.Sprintf("present, made at %d by %d", stat.Czxid, stat.EphemeralOwner)
	}}
	if watch {
		m.text += " and watch"
		ch = make(chan zk.Event, 1)
	}
	m.arrive = func() {
		if watch && (present || what == "exists") {
			l.watchers[path] = append(l.watchers[path], watcher{!present, ch})
		}
	}
	err := l.send(m, func(session int64) {
		n := l.p.server.nodes[path]
		stat, present = l.p.server.stat(path), n != nil
		if present {
			also(n)
		}
		if watch && (present || what == "exists") {
			l.p.server.watch(session, path)
		}
	})
	return present, stat, ch, err
}

// send puts a message where the play finds it, and waits for its answer.
func (l *link) send(m *message, execute func(session int64)) error {
	if l.p.over.Load() {
		runtime.Goexit()
	}
	m.execute, m.arrived = execute, make(chan struct{})
	l.mutex.Lock()
	l.inbox = append(l.inbox, m)
	l.mutex.Unlock()
	<-m.arrived
	return m.err
}

// pending waits until nobody can move and returns what waits to be executed. Goroutines that were woken by the same
// instant have sent in any order; here it becomes one.
func (l *link) pending() []*message {
	synctest.Wait()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	slices.SortStableFunc(l.inbox, func(a, b *message) int { return strings.Compare(a.text, b.text) })
	l.waiting = append(l.waiting, l.inbox...)
	l.inbox = nil
	return l.waiting
}

// execute lets the server execute the oldest message; what it sends then is on its way.
func (l *link) execute() (*message, error) {
	if len(l.pending()) == 0 {
		return nil, fmt.Errorf("%s waits for nothing", l.name)
	}
	m := l.waiting[0]
	l.waiting = l.waiting[1:]
	l.fetchEvents() // they were fired before
	id := l.session.Load()
	if l.p.server.sessions[id] == nil {
		m.err = zk.ErrSessionExpired
	} else {
		l.p.server.sessions[id].heard = l.p.clock.Now()
		m.execute(id)
	}
	l.way = append(l.way, item{answer: m})
	return m, nil
}

// fetchEvents puts the fired events on their way.
func (l *link) fetchEvents() {
	session := l.p.server.sessions[l.session.Load()]
	if session == nil || l.down {
		return
	}
	for _, e := range session.events {
		l.way = append(l.way, item{event: e})
	}
	session.events = nil
}

// arrive delivers the first item that is on its way.
func (l *link) arrive() {
	i := l.way[0]
	l.way = l.way[1:]
	if i.answer == nil {
		l.note("event %s", describe(i.event))
		l.notify(i.event)
		return
	}
	m := i.answer
	if m.err != nil {
		l.note("%s -> error %v", m.text, m.err)
	} else {
		l.note("%s -> %s", m.text, m.render())
		if m.arrive != nil {
			m.arrive()
		}
	}
	close(m.arrived)
	synctest.Wait()
}

func (l *link) note(format string, args ...any) {
	fmt.Fprintf(&l.p.output, "%s: %s\n", l.name, fmt.Sprintf(format, args...))
}

func describe(e zk.Event) string {
	what := map[zk.EventType]string{
		zk.EventNodeDeleted: "deleted", zk.EventNodeCreated: "created", zk.EventNodeDataChanged: "changed",
	}[e.Type]
	return what + " " + e.Path
}

// notify tells the watchers of a path, as the client library does.
func (l *link) notify(e zk.Event) {
	var rest []watcher
	for _, w := range l.watchers[e.Path] {
		if w.exist == (e.Type == zk.EventNodeCreated) || e.Type == zk.EventNodeDeleted {
			w.ch <- e
			close(w.ch)
		} else {
			rest = append(rest, w)
		}
	}
	l.watchers[e.Path] = rest
}

// invalidate ends all watches with an error.
func (l *link) invalidate(err error) {
	for _, path := range slices.Sorted(maps.Keys(l.watchers)) {
		for _, w := range l.watchers[path] {
			w.ch <- zk.Event{Type: zk.EventNotWatching, State: zk.StateDisconnected, Path: path, Err: err}
			close(w.ch)
		}
	}
	l.watchers = map[string][]watcher{}
}

func (l *link) fail(m *message, err error) {
	m.err = err
	close(m.arrived)
}

// disconnect breaks the connection: what is on the way is lost, and nobody knows of the requests.
func (l *link) disconnect() {
	pending := l.pending()
	if session := l.p.server.sessions[l.session.Load()]; session != nil {
		var kept []zk.Event
		for _, i := range l.way {
			if i.answer == nil {
				kept = append(kept, i.event)
			}
		}
		session.events = append(kept, session.events...) // told again once the watches are set again
	}
	for _, m := range pending {
		l.note("%s -> never executed", m.text)
		l.fail(m, zk.ErrConnectionClosed)
	}
	l.waiting = nil
	for _, i := range l.way {
		if i.answer != nil {
			l.note("%s -> answer lost", i.answer.text)
			l.fail(i.answer, zk.ErrConnectionClosed)
		}
	}
	l.way, l.down, l.cut = nil, true, false
	l.states <- zk.Event{Type: zk.EventSession, State: zk.StateDisconnected}
}

// reconnect finds the session again, or begins a new one where that has expired.
func (l *link) reconnect() {
	l.states <- zk.Event{Type: zk.EventSession, State: zk.StateConnecting}
	l.states <- zk.Event{Type: zk.EventSession, State: zk.StateConnected}
	l.down = false
	if session := l.p.server.sessions[l.session.Load()]; session != nil {
		session.heard = l.p.clock.Now()
		l.states <- zk.Event{Type: zk.EventSession, State: zk.StateHasSession}
		l.note("session %d goes on", l.session.Load())
		return
	}
	l.session.Store(0)
	l.states <- zk.Event{Type: zk.EventSession, State: zk.StateExpired}
	synctest.Wait()
	l.invalidate(zk.ErrSessionExpired)
	for _, m := range l.pending() {
		l.fail(m, zk.ErrSessionExpired)
	}
	l.waiting = nil
	synctest.Wait()
	l.openSession()
	l.note("session %d begins", l.session.Load())
}

// pass lets time pass. Clients that are connected are heard of all the time; sessions of others expire.
func (p *play) pass(d time.Duration) {
	synctest.Wait()
	for _, l := range p.links {
		if session := p.server.sessions[l.session.Load()]; session != nil && !l.cut && !l.down {
			session.heard = p.clock.Now().Add(d)
		}
	}
	p.clock.Advance(d)
	for _, l := range p.links {
		for id := l.last/100*100 + 1; id <= l.last; id++ {
			if session := p.server.sessions[id]; session != nil && p.clock.Since(session.heard) >= playLease {
				p.server.expire(id)
			}
		}
	}
	for _, l := range p.links {
		l.fetchEvents()
	}
}

// create makes a handle, on a link of its own or on that of another player's object.
func (p *play) create(name, entryName string, options []string) error {
	locks, err := impl.NewCatalogue(Entries()...)
	if err != nil {
		return err
	}
	entry, err := locks.Lookup(entryName)
	if err != nil {
		return err
	}
	settings := impl.Settings{
		Name: "job", Lease: playLease, Knobs: map[string]string{},
		Owner: impl.Owner{Machine: name, Process: 1, Thread: 1},
	}
	for _, option := range options {
		knob, value, _ := strings.Cut(option, "=")
		settings.Knobs[knob] = value
	}
	l := p.newLink(name)
	pl := &player{name: name, link: l, result: make(chan string, 1)}
	pl.lock, err = entry.New(impl.Environment{
		Clock: p.clock, ZooKeeper: l, SessionEvents: l.states,
		Random: &counter{next: uint64(len(p.links)) << 8}, Go: func(f func()) { go f() },
	}, settings)
	if err != nil {
		return err
	}
	if fair, ok := pl.lock.(*Fair); ok {
		fair.log = pl.log
	}
	p.players[name] = pl
	p.order = append(p.order, pl)
	return nil
}

func (pl *player) log(call string, err error) {
	pl.logging.Lock()
	defer pl.logging.Unlock()
	pl.dropped = append(pl.dropped, fmt.Sprintf("%s: %v", call, err))
}

// share makes a handle of another owner on the object of a player.
func (p *play) share(name, other string) error {
	of := p.players[other]
	if of == nil {
		return errUnknown
	}
	pl := &player{name: name, link: of.link, result: make(chan string, 1)}
	pl.lock = of.lock.(impl.Shared).For(impl.Owner{Machine: name, Process: 1, Thread: 2})
	p.players[name] = pl
	p.order = append(p.order, pl)
	return nil
}

var errUnknown = errors.New("no such player")

// call begins a call of a player.
func (p *play) call(pl *player, args []string) error {
	if pl.calling != "" {
		return fmt.Errorf("%s is still in %s", pl.name, pl.calling)
	}
	what := args[0]
	if what == "state" {
		fmt.Fprintf(&p.output, "%s: %s\n", pl.name, p.state(pl))
		return nil
	}
	var wait time.Duration
	if what == "try-for" {
		var err error
		if wait, err = time.ParseDuration(args[1]); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	pl.calling, pl.cancel = strings.Join(args, " "), cancel
	go func() {
		defer cancel()
		pl.result <- perform(ctx, pl.lock, what, wait)
	}()
	return nil
}

func perform(ctx context.Context, lock impl.Lock, what string, wait time.Duration) string {
	var yes bool
	var err error
	switch what {
	case "lock":
		err = lock.Lock(ctx)
		yes = err == nil
	case "try":
		yes, err = lock.TryLock(ctx)
	case "try-for":
		yes, err = lock.TryLockFor(ctx, wait)
	case "unlock":
		err = lock.Unlock(ctx)
		yes = err == nil
	case "held":
		yes, err = lock.(impl.Holder).Held(ctx)
	default:
		err = fmt.Errorf("no such call: %s", what)
	}
	if err != nil {
		return fmt.Sprintf("%v, %v", yes, err)
	}
	return strconv.FormatBool(yes)
}

// state renders what a handle says without asking anybody.
func (p *play) state(pl *player) string {
	leased, ok := pl.lock.(impl.Leased)
	if !ok {
		return "says nothing"
	}
	deadline := leased.Deadline()
	if deadline.IsZero() {
		return "holds nothing"
	}
	token := pl.lock.(impl.Fenced).Token()
	return fmt.Sprintf("token %d, %v left, lost %v", token, p.clock.Until(deadline), isLost(pl.lock))
}

func isLost(lock impl.Lock) bool {
	select {
	case <-lock.(impl.Lossy).Lost():
		return true
	default:
		return false
	}
}

// counter gives ids 101, 102 and so on to the first player, 201 to the second.
type counter struct{ next uint64 }

func (c *counter) Read(b []byte) (int, error) {
	clear(b)
	c.next++
	binary.BigEndian.PutUint64(b[len(b)-8:], c.next)
	return len(b), nil
}
