package scenarios

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/impl"
	"github.com/lockstep-sim/lockstep/impl/redislock"
	"github.com/lockstep-sim/lockstep/impl/zklock"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// Transport says how clients talk to Redis.
type Transport string

// Direct hands requests over without encoding, Wire runs unmodified go-redis over simulated connections.
const (
	Direct Transport = "direct"
	Wire   Transport = "wire"
)

// Setup is everything that a run is a function of.
type Setup struct {
	Scenario       *Scenario
	Implementation string
	Seed           uint64
	Transport      Transport
	// Plan replaces what the seed would draw, when FixedPlan is set.
	Plan      faults.Plan
	FixedPlan bool
	// Strategy decides when messages arrive and how long programs wait; "" = strategy.Uniform.
	Strategy string
	// Decisions, if not nil, replace what the strategy would decide: those of another run are made again.
	Decisions []strategy.Decision
	Trace     sim.TraceMode
	// StopAt ends the run as soon as it violates one of these properties, of those that a checker.Monitor watches. Its
	// hash and what is judged are then those of the part that was run.
	StopAt []checker.Property

	explorer *strategy.Explorer // goes through schedules and plans instead of drawing them
	// everything makes the outcome's decisions complete: those of Decisions, and what is as drawn.
	everything bool
}

// Outcome is what came of a run.
type Outcome struct {
	History    checker.History
	Judging    checker.Options // with which the verdicts came about
	Verdicts   []checker.Verdict
	Mechanisms []mechanism.Finding
	Plan       faults.Plan
	Strikes    []int // how often each fault of the plan struck
	// Decisions are the strategy's, as far as they differ from what the seed draws; nil = it makes none.
	Decisions []strategy.Decision
	// Marks counts how often the run came to where locks break, in the order of strategy.AllMarks.
	Marks  []int
	Hash   uint64
	Events uint64
	End    time.Duration // when the workload ended, in true time
	Trace  sim.Trace
	Leaks  []string
	// Stopped is the property at whose violation the run was ended; "" = it came to its end.
	Stopped checker.Property
	// Requests is when Redis executed a command of a client. What ZooKeeper executed is in the history.
	Requests []time.Duration
	Err      error // the run could not be finished
	// origins tells for each fault of a drawn plan from which template of the scenario it was drawn.
	origins []int
	// givenUp says that the run was not ended, because another has led to the same.
	givenUp bool
}

// Catalogue lists every implementation that scenarios can run.
func Catalogue() *impl.Catalogue {
	catalogue, err := impl.NewCatalogue(append(redislock.Entries(), zklock.Entries()...)...)
	if err != nil {
		panic(err) // the entries are constants
	}
	return catalogue
}

var catalogue = Catalogue()

// preparation is when machines connect before true time 0.
const preparation = time.Second

// run is one run under way.
type run struct {
	setup       Setup
	scenario    *Scenario
	entry       impl.Entry
	expectation Expectation
	world       *sim.World
	recorder    *recorder
	injector    *faults.Injector
	origins     []int              // for each fault that was drawn from a template, which one; the swarm's follow
	schedule    *strategy.Schedule // nil = messages take what is drawn
	decisions   []strategy.Decision
	marks       *strategy.Marks
	redises     []*redis.Machine   // none on ZooKeeper
	zookeeper   *zookeeper.Machine // nil on Redis
	queue       *queue             // nil on Redis
	cancels     bool               // a fault of the plan ends calls
	timeServer  *sim.Node
	clients     []*client // current incarnations, in order of machines and their threads
	processes   int
	generations map[string]int
	unfinished  int
	end         time.Duration
	failure     error
}

// Run runs a scenario once and judges what was recorded. The error tells why it could not be set up.
//
// t is only what testing/synctest asks for; new(testing.T) serves outside of tests.
func Run(t *testing.T, setup Setup) (*Outcome, error) {
	r, err := newRun(setup)
	if err != nil {
		return nil, err
	}
	if r.scenario.Server == zooKeeperMachine {
		defer seedGUIDs(setup.Seed)()
	}
	config := sim.Config{
		Seed: setup.Seed, Trace: setup.Trace, Latency: setup.Scenario.Latency, Preparation: preparation,
		RuntimeTimers: r.setup.Transport == Wire, Taps: []sim.Tap{r.tap},
	}
	if r.schedule != nil {
		config.Scheduler = r.schedule
	}
	result := sim.Run(t, config, r.play)
	outcome := &Outcome{
		History: r.recorder.history, Plan: r.setup.Plan, origins: r.origins, Marks: r.marks.Counts(),
		Hash: result.Hash, Events: result.Events, End: r.end, Trace: result.Trace, Leaks: result.Leaks, Err: result.Err,
		Stopped: r.recorder.stopped, Requests: r.recorder.requests,
	}
	if r.schedule != nil {
		outcome.Decisions, outcome.givenUp = r.decisions, r.schedule.GivenUp()
	}
	if outcome.Err == nil {
		outcome.Err = r.failure
	}
	if outcome.Err != nil || outcome.givenUp {
		return outcome, nil
	}
	outcome.Strikes = r.injector.Strikes()
	outcome.Judging = r.judging()
	outcome.Verdicts = checker.Check(&outcome.History, outcome.Judging)
	outcome.Mechanisms = mechanism.Find(&outcome.History, outcome.Verdicts)
	return outcome, nil
}

func newRun(setup Setup) (*run, error) {
	entry, err := catalogue.Lookup(setup.Implementation)
	if err != nil {
		return nil, err
	}
	if setup.Transport == "" {
		setup.Transport = Direct
	} else if _, err := ParseTransport(string(setup.Transport)); err != nil {
		return nil, err
	}
	r := &run{
		setup: setup, scenario: setup.Scenario, entry: entry,
		generations: map[string]int{}, recorder: &recorder{}, marks: strategy.NewMarks(),
	}
	if r.schedule, err = setup.schedule(); err != nil {
		return nil, err
	}
	if r.entry.Backend != r.scenario.Server {
		return nil, fmt.Errorf("%s keeps its lock on %s and scenario %s has %s", setup.Implementation, r.entry.Backend,
			r.scenario.Name, r.scenario.Server)
	}
	if r.scenario.Server == zooKeeperMachine {
		r.setup.Transport = Wire // it has no other
	}
	if r.scenario.Servers > 1 && !r.entry.Servers {
		return nil, fmt.Errorf("%s keeps its lock on one server and scenario %s has %d", setup.Implementation,
			r.scenario.Name, r.scenario.Servers)
	}
	r.expectation, _ = setup.Scenario.Expects(setup.Implementation)
	if r.entry.TimeServer && !r.scenario.TimeServer {
		return nil, fmt.Errorf("%s asks a time server and scenario %s has none", setup.Implementation, r.scenario.Name)
	}
	settings := impl.Settings{Name: r.scenario.Lock, Lease: r.scenario.Lease, Knobs: r.expectation.Knobs}
	if err := r.entry.Validate(settings); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", r.scenario.Name, err)
	}
	if !setup.FixedPlan {
		r.draw()
	}
	r.cancels = cancelsCalls(r.setup.Plan)
	return r, faults.Validate(r.setup.Plan, r.scenario.Machines())
}

// schedule makes the schedule of the run; nil where messages take what is drawn.
func (s *Setup) schedule() (*strategy.Schedule, error) {
	switch {
	case s.explorer != nil:
		return s.explorer.Schedule(), nil
	case s.everything:
		schedule := strategy.Follow(s.Decisions)
		schedule.Everything()
		return schedule, nil
	case s.Decisions != nil:
		return strategy.Follow(s.Decisions), nil
	case s.Strategy == "":
		return nil, nil
	}
	return strategy.New(s.Strategy, s.Seed), strategy.Check(s.Strategy)
}

// draw settles the scenario's faults for the seed. Each template has a stream of its own, so that what the swarm leaves
// out moves no other.
func (r *run) draw() {
	off := map[faults.Kind]bool{}
	swarm := sim.NewStream(r.setup.Seed, "swarm")
	for i, template := range r.scenario.templates(r.expectation) {
		var stream faults.Stream = sim.NewStream(r.setup.Seed, "fault/"+template.String())
		if r.setup.explorer != nil {
			stream = r.setup.explorer
		}
		fault, in := template.Draw(stream)
		if kind := template.Low().Kind; r.setup.Strategy == strategy.Swarm {
			if _, known := off[kind]; !known {
				off[kind] = swarm.Chance(1, 2)
			}
			in = in && !off[kind]
		}
		if in {
			r.setup.Plan = append(r.setup.Plan, fault)
			r.origins = append(r.origins, i)
		}
	}
	r.setup.Plan = append(r.setup.Plan, r.swarm()...)
}

func (r *run) tap(point sim.Point, m *sim.Message) {
	if r.injector != nil {
		r.injector.Tap(point, m)
	}
	if point == sim.PointArrive {
		r.marks.Request(m.Client().Name(), m.Server().Name(), m.Command(), r.world.Now())
	}
}

func (r *run) timeServerAddress() string {
	if r.timeServer == nil {
		return ""
	}
	return timeServerMachine + ":9999"
}

// play runs the world from the first machine to the last event.
func (r *run) play(w *sim.World) {
	r.world = w
	if r.schedule != nil {
		r.schedule.Enter(w, r.marks)
	}
	r.build()
	r.keepJournals()
	r.injector = faults.NewInjector(w, r.setup.Plan, faults.InjectorOptions{
		Role: r.role, BeforeRestart: r.beforeRestart, Act: r.act, FailScript: r.failScript,
		Struck: func(_ int, fault faults.Fault, machine string) { r.struck(fault, machine) },
	})
	if r.injector.FollowsLeases() {
		r.recorder.injector = r.injector
	}
	w.At(0, func() {
		for _, c := range r.clients {
			c.process.Go("program", c.main)
		}
	})
	w.At(r.scenario.Heal, func() {
		r.injector.Heal()
		r.recorder.phase(checker.Healed)
		for _, c := range r.clients {
			r.recorder.restate(c)
		}
	})
	w.RunUntil(r.scenario.Until+r.scenario.Grace, func() bool {
		return r.over() || r.unfinished == 0 && w.Now() >= r.scenario.Heal
	})
	r.recorder.lookAgain()
	r.recorder.phase(checker.WorkloadEnd)
	r.end = w.Now()
	// What is still on its way when the last program has ended arrives: a write that was sent under a hold may be
	// executed long after.
	w.RunUntil(r.scenario.Until+r.scenario.Grace, r.over)
	r.recorder.closed = true
	if r.schedule != nil {
		r.decisions = r.schedule.Decisions()
	}
	for _, machine := range r.redises {
		machine.Release()
	}
}

// over tells whether the run is to be ended before its time.
func (r *run) over() bool {
	return r.failure != nil || r.recorder.stopped != "" || r.schedule.GivenUp()
}

// struck is told of each strike, before its effect.
func (r *run) struck(fault faults.Fault, machine string) {
	r.recorder.fault(fault.String(), machine)
	switch fault.Kind {
	case faults.Crash, faults.Down:
		r.crashed(machine)
	case faults.ClockDrift:
		r.world.At(r.world.Now(), func() { // once it has taken effect
			for _, c := range r.clients {
				if c.node.Name() == machine {
					r.recorder.restate(c)
				}
			}
		})
	}
}

// build adds the machines.
func (r *run) build() {
	w, s := r.world, r.scenario
	*r.recorder = recorder{
		world: w, marks: r.marks, lock: s.Lock, clients: map[uint64]*client{}, tokens: map[string]*client{},
		holds: map[*client]time.Time{}, calls: map[int]*lockCall{}, history: checker.History{Header: r.header()},
	}
	if len(r.setup.StopAt) > 0 {
		options := r.judging()
		options.Properties = r.setup.StopAt
		r.recorder.monitor = checker.NewMonitor(&r.recorder.history, options)
	}
	if s.Server == zooKeeperMachine {
		r.addZooKeeper()
	} else {
		r.addRedises()
	}
	if s.TimeServer {
		service := &timeService{}
		r.timeServer = w.NewNode(sim.NodeConfig{Name: timeServerMachine, Service: service})
		service.node = r.timeServer
		if r.entry.TimeServer {
			r.recorder.timeServer = r.timeServer
		}
	}
	w.NewNode(sim.NodeConfig{Name: storeMachine, Service: &storeService{applied: r.recorder.applied}})
	var nodes []*sim.Node
	for i := 1; i <= s.Clients; i++ {
		nodes = append(nodes, r.addClient(i))
	}
	// Only now, since a client library may dial at once, from a goroutine of its own: the world must have all machines.
	for i, node := range nodes {
		for k, c := range r.boot(node, i+1) {
			c.process.Go("connect", func() { c.connect(k == 0) })
		}
	}
}

// addClient adds the i-th client machine.
func (r *run) addClient(i int) *sim.Node {
	return r.world.NewNode(sim.NodeConfig{Name: Client(i), OnRestart: func(p *sim.Process) {
		for _, c := range r.boot(p.Node(), i) {
			p.Go("program", c.main)
		}
	}})
}

// boot makes the threads of a client machine's new incarnation.
func (r *run) boot(node *sim.Node, i int) []*client {
	r.clients = slices.DeleteFunc(r.clients, func(c *client) bool { return c.node == node })
	owner := r.scenario.owner(i, r.generations[node.Name()])
	var threads []*client
	programs := r.scenario.threads(node.Name())
	for _, program := range programs {
		c, err := r.newClient(node, program, owner, threads)
		if err != nil {
			r.failure = err
			return nil
		}
		c.threaded = len(programs) > 1
		if r.scenario.Threads.areOwners() {
			owner.Thread++
		}
		threads = append(threads, c)
	}
	r.clients = append(r.clients, threads...)
	slices.SortStableFunc(r.clients, func(a, b *client) int { return a.machine - b.machine })
	r.unfinished += len(threads)
	return threads
}

// clientOn finds the first thread of a machine.
func (r *run) clientOn(node *sim.Node) *client {
	for _, c := range r.clients {
		if c.node == node {
			return c
		}
	}
	return nil
}

// jitter is by how much two readings of a machine's clock at one instant can differ at most.
func (r *run) jitter(machine faults.NodeRef) time.Duration {
	most := time.Duration(0)
	for _, fault := range r.setup.Plan {
		if fault.Kind == faults.ClockJitter && fault.Node == machine {
			most = max(most, 2*fault.By)
		}
	}
	return most
}

// accepted remembers whose connection it is.
func (r *run) accepted(conn uint64, from *sim.Node) { r.recorder.clients[conn] = r.clientOn(from) }

// finished is told that a client's program has ended.
func (r *run) finished(c *client) {
	c.finished = true
	r.unfinished--
}

func (r *run) header() checker.Header {
	plan := make([]string, len(r.setup.Plan))
	for i, fault := range r.setup.Plan {
		plan[i] = fault.String()
	}
	return checker.Header{
		Scenario: r.scenario.Name, Implementation: r.setup.Implementation, Seed: r.setup.Seed,
		Transport: string(r.setup.Transport), Lock: r.scenario.Lock, Resource: storeMachine, Lease: r.scenario.Lease,
		Plan: plan,
	}
}

// judging says which properties the lock can be held to.
func (r *run) judging() checker.Options {
	p := r.entry.Promises
	options := checker.Options{
		Promises: checker.Promises{
			Reentrant: p.Reentrant, Fenced: p.Fenced, Leased: p.Leased, Fair: p.Fair, LossTold: p.LossTold,
		},
		LivenessBound: r.scenario.Grace,
	}
	if len(r.redises) > 1 {
		// When a majority's lease ends is put together from the clocks of several servers, each read in milliseconds.
		options.Margin = 2 * time.Millisecond
	}
	return options
}

// beforeRestart gives a restarted client its identity.
func (r *run) beforeRestart(machine string, fault faults.Fault) {
	if fault.Identity == faults.NewIdentity {
		r.generations[machine]++
	}
	r.crashed(machine)
}

// crashed records the end of a client's incarnation.
func (r *run) crashed(machine string) {
	for _, c := range r.clients {
		if c.node.Name() != machine || c.dead {
			continue
		}
		c.dead = true
		if !c.finished {
			r.unfinished--
		}
		r.recorder.letGo(c)
		r.recorder.waits(c, false)
		r.recorder.add(checker.Event{
			Process: c.number, Node: machine, Type: checker.Info, F: checker.Crash, Key: r.scenario.Lock,
			Owner: c.owner.String(),
		})
	}
}

func noMaintenance() *maintnotifications.Config {
	return &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
}
