package redislock

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/impl"
)

// TestInterleavings plays scripts in which every message between a handle and a server moves only when the script
// says so. Each script is a world of its own, with one Redis, one time server and one clock that a script advances.
//
//	new NAME IMPL [owner=MACHINE/PROCESS/THREAD] [lease=10s] [knob=NAME:VALUE] [clock=+5s] [servers=N]
//	call NAME lock|try|try-for DURATION|unlock|held|locked|state
//	step NAME [N|SERVER]   execute the oldest waiting request, N times, or the oldest to one server, or with SERVER/3 the
//	                   third to it; SERVER likewise below
//	run NAME           step until the call has returned
//	lose NAME          execute the oldest waiting request; its answer is lost
//	drop NAME          lose the oldest waiting request itself
//	execute NAME       execute the oldest waiting request and keep its answer back until "answer NAME"
//	cancel NAME        end the context of the call
//	advance DURATION   time passes everywhere
//	time-server STEP   the time server's clock alone is stepped; likewise redis STEP
//	wall NAME STEP     the wall clock of a machine is stepped
//	server NAME STEP   the clock of one of several servers, s1, s2, ..., is stepped
//	server NAME empty  it loses its data
//	hear NAME          the oldest message that was published reaches NAME; with miss it does not
//	break NAME         the subscription of NAME breaks
//	publish CHANNEL TEXT   somebody publishes
//	set KEY VALUE      somebody sets a key; likewise delete KEY
//	show               what is on the server
//
// A line "A> GET job" is a request of A that waits to be executed, with the server before it where there are several;
// "A: GET job -> nil" is one that was answered; "A< 101" is a message that waits to reach A.
func TestInterleavings(t *testing.T) {
	datadriven.Walk(t, "testdata/interleavings", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t)
			defer p.close()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := p.command(t, d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			})
		})
	})
}

// play is the world of one script.
type play struct {
	t       *testing.T
	clock   *clockwork.FakeClock
	single  *playServer
	several []*playServer
	ahead   time.Duration // of the time server's clock
	players map[string]*player
	order   []*player
	names   map[string]string // digest of a script -> its name
	output  strings.Builder
	over    atomic.Bool
}

// player is one handle and its messages.
type player struct {
	name    string
	lock    impl.Lock
	clock   *steppedClock
	mutex   sync.Mutex
	inbox   []*message // just sent, in no order yet
	waiting []*message // not executed yet
	kept    []*message // executed, not answered
	ears    []*ear     // subscriptions, in their order
	calling string
	cancel  context.CancelFunc
	result  chan string
}

// message is one request and, later, its answer.
type message struct {
	server  string
	text    string
	execute func() (any, error)
	reply   any
	err     error
	arrived chan struct{}
}

var (
	playBegin  = time.UnixMilli(100_000)
	errLost    = errors.New("connection reset")
	errUnknown = errors.New("no such player")
)

func newPlay(t *testing.T) *play {
	return &play{
		t: t, clock: clockwork.NewFakeClockAt(playBegin), single: newPlayServer(""), players: map[string]*player{},
		names: map[string]string{},
	}
}

func (p *play) close() {
	for _, pl := range p.order {
		if pl.cancel != nil {
			pl.cancel()
		}
	}
	// Whatever still waits is refused, and who asks again is ended: an ablation may go on for ever.
	p.over.Store(true)
	for range 3 {
		synctest.Wait()
		for _, pl := range p.order {
			for _, m := range append(pl.pending(), pl.kept...) {
				m.err = errLost
				close(m.arrived)
			}
			pl.waiting, pl.kept = nil, nil
			for _, e := range pl.ears {
				e.Close()
			}
		}
		p.clock.Advance(time.Minute)
	}
	for _, s := range append(p.several, p.single) {
		s.close()
	}
}

func (p *play) command(t *testing.T, d *datadriven.TestData) (string, error) {
	p.output.Reset()
	var args []string
	for _, arg := range d.CmdArgs {
		args = append(args, arg.String())
	}
	if err := p.do(d.Cmd, args); err != nil {
		return "", err
	}
	synctest.Wait()
	p.report()
	return p.output.String(), nil
}

func (p *play) do(command string, args []string) error {
	switch command {
	case "show":
		p.show()
		return nil
	case "advance", "time-server", "redis":
		return p.passTime(command, args)
	case "delete":
		return p.single.client.Del(context.Background(), args...).Err()
	case "set":
		return p.single.client.Set(context.Background(), args[0], args[1], 0).Err()
	case "publish":
		return p.single.client.Publish(context.Background(), args[0], args[1]).Err()
	case "server":
		return p.onServer(args)
	case "new":
		return p.create(args[0], args[1], args[2:])
	}
	pl := p.players[args[0]]
	if pl == nil {
		return fmt.Errorf("%w: %s", errUnknown, args[0])
	}
	switch command {
	case "call":
		return p.call(pl, args[1:])
	case "run":
		return p.step(pl, 1000, "")
	case "step":
		n, server := 1, ""
		if len(args) > 1 {
			var err error
			if n, err = strconv.Atoi(args[1]); err != nil {
				n, server = 1, args[1]
			}
		}
		return p.step(pl, n, server)
	case "hear", "miss", "break":
		return p.listen(pl, command)
	case "cancel":
		pl.cancel()
		return nil
	case "wall":
		d, err := time.ParseDuration(args[1])
		pl.clock.ahead.Add(int64(d))
		return err
	default:
		server := ""
		if len(args) > 1 {
			server = args[1]
		}
		return p.deliver(pl, command, server)
	}
}

func (p *play) passTime(command string, args []string) error {
	d, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	switch command {
	case "time-server":
		p.ahead += d
	case "redis":
		p.single.off += d
	case "advance":
		p.clock.Advance(d)
	}
	for _, s := range append(p.several, p.single) {
		s.store.SetTime(p.clock.Now().Add(s.off))
	}
	return nil
}

// create makes a handle whose messages wait for the script.
func (p *play) create(name, entryName string, options []string) error {
	locks, err := impl.NewCatalogue(Entries()...)
	if err != nil {
		return err
	}
	entry, err := locks.Lookup(entryName)
	if err != nil {
		return err
	}
	pl := &player{name: name, clock: &steppedClock{FakeClock: p.clock}, result: make(chan string, 1)}
	settings := impl.Settings{
		Name: "job", Lease: 10 * time.Second, Knobs: map[string]string{},
		Owner: impl.Owner{Machine: name, Process: 1, Thread: 1},
	}
	for _, option := range options {
		if err := p.option(pl, option, &settings); err != nil {
			return err
		}
	}
	one := gate{p, pl, p.single}
	env := impl.Environment{
		Clock: pl.clock, Redis: one, Dial: (&net.Dialer{}).DialContext, TimeServer: "unused:1",
		Random: &counter{next: uint64(len(p.order)+1) << 8}, Go: func(f func()) { go f() },
	}
	for _, s := range p.several {
		env.Redises = append(env.Redises, gate{p, pl, s})
	}
	if pl.lock, err = entry.New(env, settings); err != nil {
		return err
	}
	if published, ok := pl.lock.(*GetSet); ok {
		published.time = one
	}
	p.players[name] = pl
	p.order = append(p.order, pl)
	return p.load(pl.lock)
}

func (p *play) option(pl *player, option string, settings *impl.Settings) (err error) {
	key, value, _ := strings.Cut(option, "=")
	switch key {
	case "servers":
		var n int
		n, err = strconv.Atoi(value)
		p.addServers(n)
	case "owner":
		parts := strings.Split(value, "/")
		settings.Owner.Machine = parts[0]
		settings.Owner.Process, _ = strconv.ParseInt(parts[1], 10, 64)
		settings.Owner.Thread, err = strconv.ParseInt(parts[2], 10, 64)
	case "lease":
		settings.Lease, err = time.ParseDuration(value)
	case "knob":
		name, setting, _ := strings.Cut(value, ":")
		settings.Knobs[name] = setting
	case "clock":
		var offset time.Duration
		offset, err = time.ParseDuration(value)
		pl.clock.ahead.Store(int64(offset))
	default:
		err = fmt.Errorf("unknown option %s", option)
	}
	return err
}

// load gives the server the scripts of a lock ahead, so that each transition is one message.
func (p *play) load(lock impl.Lock) error {
	var scripts []*script
	switch lock := lock.(type) {
	case *Repaired:
		s := lock.scripts
		scripts = []*script{s.acquire, s.take, s.enter, s.lower, s.release, s.inspect}
	case *SetNX:
		scripts = []*script{lock.scripts.acquire, lock.scripts.release, lock.scripts.extend}
	case *PubSub:
		scripts = []*script{lock.scripts.acquire, lock.scripts.release, lock.scripts.extend}
		if lock.seize != nil {
			scripts = append(scripts, lock.seize)
		}
	case *Redlock:
		scripts = []*script{lock.scripts.acquire, lock.scripts.release, lock.scripts.extend}
	}
	for _, s := range scripts {
		p.names[s.sha] = strings.TrimSuffix(strings.TrimPrefix(s.name, "the "), " script")
		for _, server := range p.all() {
			if err := server.client.ScriptLoad(context.Background(), s.source).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *play) call(pl *player, args []string) error {
	if pl.calling != "" {
		return fmt.Errorf("%s is still in %s", pl.name, pl.calling)
	}
	what := args[0]
	if what == "state" {
		fmt.Fprintf(&p.output, "%s: %s\n", pl.name, state(pl))
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
	case "locked":
		yes, err = lock.(interface {
			IsLocked(context.Context) (bool, error)
		}).IsLocked(ctx)
	default:
		err = fmt.Errorf("no such call: %s", what)
	}
	if err != nil {
		return fmt.Sprintf("%v, %v", yes, err)
	}
	return strconv.FormatBool(yes)
}

// state renders what a handle says without asking anybody.
func state(pl *player) string {
	leased, ok := pl.lock.(impl.Leased)
	if !ok {
		return "says nothing"
	}
	deadline := leased.Deadline()
	if deadline.IsZero() {
		return "holds nothing"
	}
	lost := false
	select {
	case <-pl.lock.(impl.Lossy).Lost():
		lost = true
	default:
	}
	token := ""
	if fenced, ok := pl.lock.(impl.Fenced); ok {
		token = fmt.Sprintf("token %d, ", fenced.Token())
	}
	return fmt.Sprintf("%s%v left, lost %v", token, pl.clock.Until(deadline), lost)
}

// pending waits until nobody can move and returns what waits to be executed. Goroutines that were woken by the same
// instant have sent in any order; here it becomes one.
func (pl *player) pending() []*message {
	synctest.Wait()
	pl.mutex.Lock()
	defer pl.mutex.Unlock()
	slices.SortStableFunc(pl.inbox, func(a, b *message) int { return strings.Compare(a.text, b.text) })
	pl.waiting = append(pl.waiting, pl.inbox...)
	pl.inbox = nil
	return pl.waiting
}

func (p *play) step(pl *player, n int, server string) error {
	for range n {
		waiting := pl.pending()
		if p.collect(pl); len(waiting) == 0 {
			break
		}
		if err := p.deliver(pl, "answer now", server); err != nil {
			return err
		}
	}
	return nil
}

// deliver moves the oldest message of a player, of those to a server unless that is "".
func (p *play) deliver(pl *player, how, server string) error {
	if how == "answer" {
		m := pick(&pl.kept, server)
		if m == nil {
			return fmt.Errorf("no answer to %s is kept back", pl.name)
		}
		fmt.Fprintf(&p.output, "%s: %s -> %s\n", pl.name, m.text, p.render(m))
		close(m.arrived)
		return nil
	}
	pl.pending()
	m := pick(&pl.waiting, server)
	if m == nil {
		return fmt.Errorf("%s waits for nothing", pl.name)
	}
	note := ""
	if how != "drop" {
		m.reply, m.err = m.execute()
		note = p.render(m)
	}
	switch how {
	case "answer now":
		fmt.Fprintf(&p.output, "%s: %s -> %s\n", pl.name, m.text, note)
		close(m.arrived)
	case "lose":
		fmt.Fprintf(&p.output, "%s: %s -> (%s) lost\n", pl.name, m.text, note)
		m.err = errLost
		close(m.arrived)
	case "drop":
		fmt.Fprintf(&p.output, "%s: %s -> never executed\n", pl.name, m.text)
		m.err = errLost
		close(m.arrived)
	case "execute":
		fmt.Fprintf(&p.output, "%s: %s -> (%s) on its way\n", pl.name, m.text, note)
		pl.kept = append(pl.kept, m)
	default:
		return fmt.Errorf("no such command: %s", how)
	}
	return nil
}

// render puts a reply on a line.
func (p *play) render(m *message) string {
	switch {
	case m.err != nil:
		return "error " + m.err.Error()
	case m.reply == nil:
		return "nil"
	default:
		return fmt.Sprint(m.reply)
	}
}

// report prints what returned and what waits.
func (p *play) report() {
	for _, pl := range p.order {
		waiting := pl.pending()
		p.collect(pl)
		for _, m := range waiting {
			fmt.Fprintf(&p.output, "%s> %s\n", pl.name, m.text)
		}
		for _, text := range pl.heard() {
			fmt.Fprintf(&p.output, "%s< %s\n", pl.name, text)
		}
	}
}

func (p *play) collect(pl *player) {
	select {
	case result := <-pl.result:
		fmt.Fprintf(&p.output, "%s: %s = %s\n", pl.name, pl.calling, result)
		pl.calling = ""
	default:
	}
}

func (p *play) show() {
	ctx := context.Background()
	for _, s := range p.all() {
		keys := s.client.Keys(ctx, "*").Val()
		slices.Sort(keys)
		for _, key := range keys {
			fmt.Fprintf(&p.output, "%s%s = %s", s.label(), key, s.client.Get(ctx, key).Val())
			if left := s.client.PTTL(ctx, key).Val(); left > 0 {
				fmt.Fprintf(&p.output, " for %v", left)
			}
			p.output.WriteString("\n")
		}
		if len(keys) == 0 {
			p.output.WriteString(s.label() + "nothing\n")
		}
	}
}

// gate is a Redis and the time source of a player: messages wait in it until the script moves them.
type gate struct {
	p      *play
	pl     *player
	server *playServer
}

func (g gate) Do(ctx context.Context, args ...any) (any, error) {
	return g.send(ctx, g.server.label()+g.p.describe(args), func() (any, error) {
		return g.server.redis.Do(context.Background(), args...)
	})
}

func (g gate) Millis(ctx context.Context) (int64, error) {
	reply, err := g.send(ctx, "T", func() (any, error) {
		return g.p.clock.Now().Add(g.p.ahead).UnixMilli(), nil
	})
	if err != nil {
		return 0, err
	}
	return reply.(int64), nil
}

func (g gate) send(ctx context.Context, text string, execute func() (any, error)) (any, error) {
	if g.p.over.Load() {
		runtime.Goexit()
	}
	m := &message{server: g.server.name, text: text, execute: execute, arrived: make(chan struct{})}
	g.pl.mutex.Lock()
	g.pl.inbox = append(g.pl.inbox, m)
	g.pl.mutex.Unlock()
	select {
	case <-m.arrived:
		return m.reply, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// describe renders a command, scripts by their names and their two arguments that matter.
func (p *play) describe(args []any) string {
	if args[0] != "EVALSHA" {
		return strings.TrimSuffix(fmt.Sprintln(args...), "\n")
	}
	keys, _ := strconv.Atoi(args[2].(string))
	rest := args[3+keys:]
	text := fmt.Sprintf("(%s %v", p.names[args[1].(string)], strings.TrimLeft(rest[0].(string), "0"))
	if len(rest) > 3 {
		text += fmt.Sprint(" level ", rest[3])
	}
	return text + ")"
}

// counter gives ids 101, 102 and so on to the first player, 201 to the second, and shortens each pause by an eighth,
// so that a handle which waits and one of its goroutines which repeats something never wake together.
type counter struct{ next uint64 }

func (c *counter) Read(b []byte) (int, error) {
	clear(b)
	if len(b) == 16 {
		c.next++
		binary.BigEndian.PutUint64(b[8:], c.next)
	} else {
		binary.BigEndian.PutUint64(b, 1<<62)
	}
	return len(b), nil
}

var _ io.Reader = (*counter)(nil)

// steppedClock is a machine's wall clock, ahead of the clock that it runs on. It has no monotonic reading.
type steppedClock struct {
	*clockwork.FakeClock
	ahead atomic.Int64
}

func (c *steppedClock) Now() time.Time {
	return c.FakeClock.Now().Add(time.Duration(c.ahead.Load()))
}
func (c *steppedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
func (c *steppedClock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }
