package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
)

// The pauses between two tries of "until answered". There is none before the second.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// client is one client machine at work: it runs its program and records what it believes.
type client struct {
	run     *run
	node    *sim.Node
	process *sim.Process
	number  int // process number in the history, unique per incarnation
	owner   impl.Owner
	program Program
	stream  *sim.Stream
	redises []redisLink // to the Redis machines, in their order; threads that share them have none
	store   *sim.DirectClient
	zk      *zk.Conn // to ZooKeeper; the threads of a machine share it
	session *zklock.Session
	lock    impl.Lock
	machine int              // place among the client machines
	thread  *strategy.Thread // decides how long it waits; nil = as drawn

	// Engine's: dead once the machine has crashed, finished once the program has ended.
	dead, finished bool

	depth    int       // levels that it believes to hold
	deadline time.Time // of the hold, on its own clock; zero = none
	lost     <-chan struct{}
	isLost   bool

	threaded bool                 // its machine has several threads
	under    atomic.Pointer[call] // the call to the lock that it is in, where faults end calls
}

// errStop ends a program: the machine has crashed or the run is over.
var errStop = errors.New("stop")

// newClient makes a thread on one incarnation of a client machine; before are its elder threads. Nothing is sent yet.
func (r *run) newClient(node *sim.Node, program string, owner impl.Owner, before []*client) (*client, error) {
	p := node.Process()
	c := &client{
		run: r, node: node, process: p, owner: owner, number: r.processes, program: r.scenario.Programs[program],
		stream: r.world.Stream("workload/" + program), machine: slices.Index(r.world.Nodes(), node),
	}
	r.processes++
	if r.schedule != nil {
		c.thread = r.schedule.Thread(program)
	}
	c.store = p.NewDirectClient(sim.DirectConfig{Address: storeMachine})
	if len(before) > 0 {
		if c.share(before[0]) {
			return c, nil
		}
	}
	environment := impl.Environment{
		Clock: p.LibraryClock(), Dial: p.Dial, TimeServer: r.timeServerAddress(), Random: r.randomness(program),
		Go: func(f func()) { p.Go("lock", f) },
	}
	if err := c.connectTo(&environment, before); err != nil {
		return nil, err
	}
	var err error
	c.lock, err = r.entry.New(environment, impl.Settings{
		Name: r.scenario.Lock, Owner: owner, Lease: r.scenario.Lease, Knobs: r.knobs(node.Name()),
	})
	return c, err
}

// randomness is where the lock of one thread takes its unique tokens from.
func (r *run) randomness(program string) *sim.Stream {
	if r.scenario.SharedRandom {
		return sim.NewStream(r.setup.Seed, "random/shared")
	}
	return r.world.Stream("random/" + program)
}

// knobs are the settings of the lock on one machine.
func (r *run) knobs(machine string) map[string]string {
	knobs := maps.Clone(r.expectation.Knobs)
	if differ := r.scenario.Differ[machine]; differ != nil {
		if knobs == nil {
			knobs = map[string]string{}
		}
		maps.Copy(knobs, differ)
	}
	return knobs
}

// connectTo puts the client's way to the server into its environment.
func (c *client) connectTo(environment *impl.Environment, before []*client) (err error) {
	if c.run.scenario.Server == redisMachine {
		for _, machine := range c.run.scenario.servers() {
			link := c.linkTo(machine)
			c.redises = append(c.redises, link)
			environment.Redises = append(environment.Redises, link.redis)
		}
		if len(c.redises) == 1 {
			environment.Redis = c.redises[0].redis
		}
		return nil
	}
	if len(before) > 0 {
		c.zk, c.session = before[0].zk, before[0].session
	} else if err := c.dialZooKeeper(); err != nil {
		return err
	}
	environment.ZooKeeper = settledZooKeeper{Conn: c.zk, client: c}
	environment.SessionEvents = c.session.Events()
	return nil
}

// poolSize is more connections than a client ever has: where it has to wait for one, go-redis takes a timer from a pool
// that all runs of the process share.
const poolSize = 1000

// wireOptions set up go-redis so that it does nothing by itself: no greeting beyond HELLO, one protocol, no pauses
// drawn from a generator of the process, and no resending beyond what the scenario asks for. Time-outs are those of
// the direct transport.
func wireOptions(p *sim.Process, machine string, retries int) *goredis.Options {
	if retries == 0 {
		retries = -1
	}
	return &goredis.Options{
		Addr: "127.0.0.1:6379", Protocol: 2, DisableIdentity: true, MaxRetries: retries, PoolSize: poolSize,
		MinRetryBackoff: -1, MaxRetryBackoff: -1,
		ReadTimeout: 2 * time.Second, WriteTimeout: 2 * time.Second, DialTimeout: 2 * time.Second, DialerRetries: 1,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			if err := p.Context().Err(); err != nil {
				return nil, err // a dial would end the library's goroutine, and whoever waits for it would wait for ever
			}
			return p.Dial(ctx, network, machine+":6379")
		},
		MaintNotificationsConfig: noMaintenance(),
	}
}

// quiet silences go-redis, which logs what goes wrong with its connections: here that is what is asked for.
var quiet = sync.OnceFunc(func() { goredis.SetLogger(silence{}) })

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// connect opens the connections before the run begins.
func (c *client) connect(first bool) {
	ctx := c.process.Context()
	for _, link := range c.redises {
		link.connect(ctx)
	}
	if first && c.zk != nil {
		_, _, _ = c.zk.Exists("/")
	}
	_ = c.store.Connect(ctx)
}

// main runs the program.
func (c *client) main() {
	for round := 0; c.program.Rounds == 0 || round < c.program.Rounds; round++ {
		began := c.run.world.Now()
		if began >= c.run.scenario.Until || c.steps(c.program.Steps) != nil {
			break
		}
		if c.run.world.Now() == began {
			c.process.Clock().Sleep(time.Millisecond) // a round that takes no time would go on for ever within one instant
		}
	}
	c.do(func() { c.run.finished(c) })
}

// do hands f to the engine's goroutine, in this client's order.
func (c *client) do(f func()) {
	c.process.Do(uint64(c.number)<<1|1, func() {
		if !c.dead {
			f()
		}
	})
}

func (c *client) stopped() bool { return c.process.Context().Err() != nil }

func (c *client) steps(steps []Step) error {
	for i := 0; i < len(steps); {
		step := steps[i]
		i++
		if c.stopped() {
			return errStop
		}
		switch step.Verb {
		case Wait:
			c.wait(step.For)
		case Work:
			c.work(c.workFor(step.For))
		case Write:
			c.write()
		case Nest:
			c.nest(c.stream.Between(step.Levels[0], step.Levels[1]), step.For)
		case Unlock:
			c.unlock(step.Retry)
		default:
			if !c.acquire(step) {
				i = step.skipTo
			}
		}
	}
	return nil
}

// wait does nothing for a while.
func (c *client) wait(allowed sim.Range) {
	drawn := c.stream.Duration(allowed)
	if c.thread == nil {
		c.process.Clock().Sleep(drawn)
		return
	}
	c.thread.Wait(allowed, drawn, c.process.Clock().Sleep)
}

// workFor is how long it works.
func (c *client) workFor(allowed sim.Range) time.Duration {
	drawn := c.stream.Duration(allowed)
	if c.thread == nil {
		return drawn
	}
	return c.thread.Work(allowed, drawn)
}

// nest enters levels deeper and leaves them again, as the published test does.
func (c *client) nest(levels int64, wait sim.Range) {
	if levels == 0 || c.stopped() || !c.acquire(Step{Verb: Lock, For: wait, Timed: wait != sim.Range{}}) {
		return
	}
	c.nest(levels-1, wait)
	c.unlock(false)
}

// acquire runs a lock or try step and tells whether the client now believes to hold one level more.
func (c *client) acquire(step Step) bool {
	held := false
	c.insist(step.Retry, func() (known bool) {
		var err error
		held, err = c.attempt(step)
		return err == nil
	})
	return held
}

// insist makes a try, and with again further ones until the outcome is known or the machine stops. Pauses between them
// grow, so that a server that is away for long is not asked a thousand times.
func (c *client) insist(again bool, try func() (known bool)) {
	for pause := time.Duration(0); !try() && again && !c.stopped(); pause = min(max(2*pause, firstPause), longestPause) {
		c.process.Clock().Sleep(pause)
	}
}

func (c *client) attempt(step Step) (bool, error) {
	wait := time.Duration(0)
	f := checker.TryAcquire
	if step.Verb == Lock && !step.Timed {
		f = checker.Acquire
	} else if step.Verb == Lock {
		wait = c.stream.Duration(step.For)
	}
	c.record(checker.Event{Type: checker.Invoke, F: f, Wait: max(wait, 0)}, func() { c.run.recorder.waits(c, true) })
	held, err := c.call(step, f, wait)
	if c.stopped() {
		return false, errStop
	}
	e := checker.Event{Type: checker.OK, F: f}
	switch {
	case err != nil:
		e.Type, e.Error = checker.Info, oneLineText(err)
	case !held:
		e.Type = checker.Fail
	default:
		c.entered(&e)
	}
	deadline := c.deadline
	c.record(e, func() {
		c.run.recorder.waits(c, false)
		if held {
			c.run.recorder.hold(c, deadline)
		}
	})
	c.settled(err)
	return held, err
}

// settled lets things settle after an error of the lock: one that is part of the client library returns what that said
// at once, see settledZooKeeper.
func (c *client) settled(err error) {
	if err != nil && c.zk != nil && !c.stopped() {
		c.settle(callSettles)
	}
}

// call runs the lock's own method.
func (c *client) call(step Step, f string, wait time.Duration) (bool, error) {
	ctx, end := c.begin()
	defer end()
	switch {
	case f == checker.Acquire:
		err := c.lock.Lock(ctx)
		return err == nil, err
	case step.Timed:
		return c.lock.TryLockFor(ctx, wait)
	default:
		return c.lock.TryLock(ctx)
	}
}

// entered takes note of a level that was won, and of what the lock says of the hold.
func (c *client) entered(e *checker.Event) {
	c.depth++
	c.isLost = false
	e.Count = int64(c.depth)
	if fenced, ok := c.lock.(impl.Fenced); ok {
		e.Token = fenced.Token()
	}
	if lossy, ok := c.lock.(impl.Lossy); ok {
		c.lost = lossy.Lost()
	}
	e.Deadline = c.readDeadline()
}

// readDeadline asks the lock until when the hold is good and returns that in true time, 0 = it does not say.
func (c *client) readDeadline() time.Duration {
	leased, ok := c.lock.(impl.Leased)
	if !ok {
		return 0
	}
	c.deadline = leased.Deadline()
	if c.deadline.IsZero() {
		return 0
	}
	return c.node.TrueTime(c.process.Clock().Until(c.deadline))
}

// renewed records a deadline that the lock has moved by itself.
func (c *client) renewed() {
	leased, ok := c.lock.(impl.Leased)
	if !ok || c.depth == 0 || c.deadline.Equal(leased.Deadline()) || leased.Deadline().IsZero() {
		return
	}
	e := checker.Event{Type: checker.Info, F: checker.Renew, Deadline: c.readDeadline()}
	deadline := c.deadline
	c.record(e, func() { c.run.recorder.hold(c, deadline) })
}

// believes tells whether the client may still rely on its hold: it looks at its clock and at the loss signal.
func (c *client) believes() bool {
	select {
	case <-c.lost:
		if !c.isLost {
			c.isLost = true
			c.record(checker.Event{Type: checker.Info, F: checker.Lost}, func() { c.run.recorder.letGo(c) })
		}
	default:
	}
	c.renewed()
	return !c.isLost && (c.deadline.IsZero() || c.process.Clock().Until(c.deadline) > 0)
}

// lookAhead is how long before its deadline a client looks whether the lock has moved it.
const lookAhead = time.Millisecond

// work passes time inside the section, but no longer than the hold is believed to last.
func (c *client) work(span time.Duration) {
	clock := c.process.Clock()
	end := clock.Now().Add(span)
	for !c.stopped() && c.believes() {
		rest := clock.Until(end)
		if rest <= 0 {
			return
		}
		if !c.deadline.IsZero() {
			untilDeadline := clock.Until(c.deadline)
			if untilDeadline > lookAhead {
				untilDeadline -= lookAhead
			}
			rest = min(rest, untilDeadline)
		}
		timer := clock.NewTimer(rest)
		// ranked: the loss is looked for again by believes
		select {
		case <-timer.Chan():
		case <-c.lost:
			timer.Stop()
		}
	}
}

// write sends one write to the resource, if the client still believes to hold.
func (c *client) write() {
	if !c.believes() {
		return
	}
	token := int64(0)
	if fenced, ok := c.lock.(impl.Fenced); ok {
		token = fenced.Token()
	}
	c.record(checker.Event{Type: checker.Invoke, F: checker.Write, Key: storeMachine, Token: token}, nil)
	reply, err := c.store.Do(c.process.Context(), "WRITE", strconv.Itoa(c.number), token)
	if c.stopped() {
		return
	}
	e := checker.Event{Type: checker.OK, F: checker.Write, Key: storeMachine, Token: token, Accepted: reply == "written"}
	if err != nil {
		e.Type, e.Error = checker.Info, oneLineText(err)
	} else if !e.Accepted {
		e.Type = checker.Fail
	}
	c.record(e, nil)
}

// unlock gives up one level.
func (c *client) unlock(retry bool) {
	c.depth--
	c.insist(retry, func() (known bool) {
		c.record(checker.Event{Type: checker.Invoke, F: checker.Release, Count: int64(c.depth)}, nil)
		ctx, end := c.begin()
		err := c.lock.Unlock(ctx)
		end()
		if c.stopped() {
			return false
		}
		e := checker.Event{Type: checker.OK, F: checker.Release, Count: int64(c.depth)}
		switch {
		case errors.Is(err, impl.ErrNotOwner) || errors.Is(err, impl.ErrLost):
			e.Type, e.Error = checker.Fail, oneLineText(err)
		case err != nil:
			e.Type, e.Error = checker.Info, oneLineText(err)
		}
		known = e.Type != checker.Info
		over := c.depth == 0 && (known || !retry)
		c.record(e, func() {
			if over {
				c.run.recorder.letGo(c)
			}
		})
		c.settled(err)
		return known
	})
	if c.depth == 0 {
		c.deadline, c.lost = time.Time{}, nil
	}
}

// oneLineText is the text of an error that may consist of several.
func oneLineText(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// record adds an event of this client, and runs also with it. also runs later, when this client may have gone on: what
// it needs to know of the client has to be read before.
func (c *client) record(e checker.Event, also func()) {
	e.Process, e.Node, e.Owner = c.number, c.node.Name(), c.owner.String()
	if e.Key == "" {
		e.Key = c.run.scenario.Lock
	}
	e.Clock = c.process.Clock().Now().Round(0)
	c.do(func() {
		c.run.recorder.add(e)
		if also != nil {
			also()
		}
	})
}

// owner is the identity of a client machine; generation rises when it restarts as somebody new, and is then shared with
// nobody.
func (s *Scenario) owner(number, generation int) impl.Owner {
	switch {
	case s.PrefixIdentity:
		return prefixOwner(number, generation)
	case s.SharedIdentity && generation == 0:
		number = 1
	}
	return impl.Owner{
		Machine: fmt.Sprintf("28-D2-44-0E-%02X-%02X", 0x0D+number>>8, number&0xFF),
		Process: int64(22000 + number + 1000*generation), Thread: 11,
	}
}

// prefixOwner is the identity of a client machine whose text begins with that of the client before: of one process of
// one machine, threads 1, 11, 111 and so on.
func prefixOwner(number, generation int) impl.Owner {
	owner := impl.Owner{Machine: "28-D2-44-0E-0D-01", Process: int64(22001 + 1000*generation)}
	for range number {
		owner.Thread = 10*owner.Thread + 1
	}
	return owner
}
