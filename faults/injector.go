package faults

import (
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Injector strikes the faults of one plan in one world. It belongs to the engine's goroutine.
//
// A fault strikes at most once, and only what is there to be struck: a role that nobody plays, or a machine that is
// down already, lets the moment pass, and the fault waits for the next occasion that its triggers name. Faults that
// overlap on one machine or link add up: it is free again when the last of them has ended.
type Injector struct {
	world   *sim.World
	options InjectorOptions
	armed   []*armedFault
	waiting int             // faults that have not struck
	last    map[pair]string // the command that a client sent last to a server
	cuts    map[*sim.Link]*cutCount
	pauses  map[*sim.Process]int // how many faults hold an incarnation still
	downs   map[*sim.Process]int // how many faults keep what ended with this incarnation away
	starved map[*sim.Process]int // how many faults hold the timers of an incarnation's lock
	conns   map[uint64]*conn
	leases  map[leaseKey]*leaseEnd
	healed  bool
}

// conn is a connection on which requests were seen. All that can break it is a fault, so the injector knows of it.
type conn struct {
	client, server string
	broken         bool // no reply to what was sent last comes over it any more
}

// InjectorOptions are what an Injector has to ask of the run.
type InjectorOptions struct {
	// Role tells which machine plays a role now; "" when none does, and then the fault waits for its next occasion.
	Role func(role NodeRef) string
	// BeforeRestart is told of a restart before the machine comes back, so that a client can be given its identity.
	BeforeRestart func(machine string, fault Fault)
	// Act carries out a fault that only the program of a machine can (see Kind.StrikesProgram), and tells whether there
	// was something to strike. machine is the fault's Node: for ExpireSession and CancelCall the client. Of a RollBack
	// it is the part that is about data; the restart follows.
	Act func(machine string, fault Fault) bool
	// FailScript has the first script that gets so far on a connection of a server fail at its n-th write. The server asks
	// strike when that comes about, and goes on as if nothing had been when the answer is false.
	FailScript func(server string, conn uint64, n int64, strike func() bool)
	// Struck is told of every strike, before its effect: the fault's place in the plan, and the machine that is struck
	// ("" for a link).
	Struck func(index int, fault Fault, machine string)
}

// armedFault is a fault that has not struck, or that waits for its message.
type armedFault struct {
	Fault
	index   int
	counts  []int64 // requests that fitted so far, for each trigger
	pending bool    // the moment has come; the next request of the link is the one
	replyTo request // the moment has come; the reply to this request is the one
	// process is the incarnation that was struck. A role may be another's when the fault ends.
	process *sim.Process
	strikes int
	done    bool
}

// request names a request on its way; conn is 0 for none.
type request struct {
	conn, number uint64
	executed     bool
}

type pair struct{ client, server string }

// cutCount is how many faults cut a link right now.
type cutCount struct{ silent, reset int }

// NewInjector arms a plan. Faults for an instant are queued at once; the others wait for what Tap sees.
func NewInjector(world *sim.World, plan Plan, options InjectorOptions) *Injector {
	i := &Injector{
		world: world, options: options, last: map[pair]string{}, cuts: map[*sim.Link]*cutCount{},
		pauses: map[*sim.Process]int{}, downs: map[*sim.Process]int{}, starved: map[*sim.Process]int{},
		conns: map[uint64]*conn{}, leases: map[leaseKey]*leaseEnd{}, waiting: len(plan),
	}
	for index, fault := range plan {
		a := &armedFault{Fault: fault, index: index, counts: make([]int64, len(fault.When))}
		i.armed = append(i.armed, a)
		for _, trigger := range fault.When {
			if trigger.Moment == AtTime {
				world.At(trigger.At, func() { i.moment(a, nil) })
			}
		}
	}
	return i
}

// Strikes tells how often each fault of the plan has struck.
func (i *Injector) Strikes() []int {
	strikes := make([]int, len(i.armed))
	for n, a := range i.armed {
		strikes[n] = a.strikes
	}
	return strikes
}

// Tap watches the requests of the world; it is a sim.Tap.
func (i *Injector) Tap(point sim.Point, m *sim.Message) {
	if i.healed || i.waiting == 0 {
		return
	}
	if point == sim.PointSend {
		i.way(m)
	}
	for _, a := range i.armed {
		if a.done {
			continue
		}
		switch point {
		case sim.PointSend:
			i.atSend(a, m)
		case sim.PointArrive:
			a.arrived(m)
		case sim.PointReply:
			i.atReply(a, m)
		}
	}
	if point == sim.PointSend && len(m.Args) > 0 {
		i.last[pair{m.Client().Name(), m.Server().Name()}] = m.Command()
	}
}

// atSend looks at a request that is about to leave its client.
func (i *Injector) atSend(a *armedFault, m *sim.Message) {
	switch {
	case a.replyTo.conn != 0 && !i.conns[a.replyTo.conn].broken:
		return
	case a.Kind.StrikesEvent() && a.pending:
		return // no request is meant
	case a.waits(): // also when the reply that was meant cannot come any more: then this request's is the one
		if i.ofLink(a, m) {
			i.strikeRequest(a, m)
		}
		return
	}
	if i.comes(a, m, BeforeRequest, BetweenRequests) {
		i.moment(a, m)
	}
}

// arrived takes note that a request is about to be executed.
func (a *armedFault) arrived(m *sim.Message) {
	if a.replyTo.conn == m.Conn() && a.replyTo.number == m.Number {
		a.replyTo.executed = true
	}
}

// atReply looks at a request that was executed and whose reply is about to leave.
func (i *Injector) atReply(a *armedFault, m *sim.Message) {
	if m.Unasked {
		if a.Kind.StrikesEvent() && a.pending && i.ofLink(a, m) {
			a.pending = false
			i.strikeEvent(a, m)
		}
		return
	}
	if a.replyTo.conn == m.Conn() && a.replyTo.executed {
		i.strikeReply(a, m)
		return
	}
	if i.comes(a, m, AfterExecution) {
		i.moment(a, m)
	}
}

// waits tells whether the moment has come for a fault that strikes a message, and the message has not.
func (a *armedFault) waits() bool { return a.pending || a.replyTo.conn != 0 }

// comes counts a request for every trigger of the given moments, and tells whether one of them has come. A trigger that
// has come stays so: a fault whose role nobody plays strikes at the next request.
func (i *Injector) comes(a *armedFault, m *sim.Message, moments ...Moment) bool {
	if a.strikesMessage() && !i.ofLink(a, m) {
		return false
	}
	come := false
	for n, trigger := range a.When {
		for _, moment := range moments {
			if trigger.Moment == moment && i.fits(trigger, m) {
				a.counts[n]++
				come = come || a.counts[n] >= trigger.Nth
			}
		}
	}
	return come
}

// fits tells whether a request, or the request of a reply, is one that the trigger counts.
func (i *Injector) fits(trigger Trigger, m *sim.Message) bool {
	client := m.Client().Name()
	if len(m.Args) == 0 || i.resolve(trigger.Node) != client || !matches(trigger.Command, m.Command()) {
		return false
	}
	return trigger.Moment != BetweenRequests || matches(trigger.Previous, i.last[pair{client, m.Server().Name()}])
}

func matches(pattern, command string) bool {
	return pattern == AnyCommand && command != "" || strings.EqualFold(pattern, command)
}

func (i *Injector) resolve(ref NodeRef) string {
	if ref.IsRole() {
		if i.options.Role == nil {
			return ""
		}
		return i.options.Role(ref)
	}
	return string(ref)
}

func (i *Injector) ofLink(a *armedFault, m *sim.Message) bool {
	return i.resolve(a.Link.From) == m.Client().Name() && i.resolve(a.Link.To) == m.Server().Name()
}

func (a *armedFault) strikesMessage() bool {
	return a.Kind.StrikesRequest() || a.Kind.StrikesReply() || a.Kind.StrikesEvent()
}

// moment is when one of a fault's triggers occurs; m is the message that made it occur, nil for an instant.
func (i *Injector) moment(a *armedFault, m *sim.Message) {
	switch {
	case i.healed || a.done || a.waits():
	case a.Kind == Slow || a.Kind == Cut:
		i.strikeLink(a)
	case a.Kind.StrikesEvent():
		a.pending = true
	case a.Kind.StrikesProgram():
		i.strikeProgram(a)
	case !a.strikesMessage():
		i.strikeMachine(a)
	case m == nil:
		a.pending = true
	case m.Reply:
		i.strikeReply(a, m)
	default:
		i.strikeRequest(a, m)
	}
}

// strikeRequest strikes the request that the fault means, or waits for its reply. A request whose client has just
// crashed, by a fault for the same moment, never leaves and cannot be struck.
func (i *Injector) strikeRequest(a *armedFault, m *sim.Message) {
	if m.Client().Crashed() {
		return
	}
	way := i.way(m)
	a.pending = false
	switch a.Kind {
	case LoseReply, DelayReply:
		a.replyTo = request{conn: m.Conn(), number: m.Number}
		if way.broken { // there is no reply to this one
			a.pending, a.replyTo = true, request{}
		}
		return
	case LoseRequest:
		way.broken = true
		m.Lose(a.Manner == Reset)
	case DelayRequest:
		m.Delay(a.By)
	case FailScript:
		i.failScript(a, m)
		return
	}
	i.struck(a, "")
}

// failScript arms the server. Whether the script gets as far as the write that fails only the server finds out.
func (i *Injector) failScript(a *armedFault, m *sim.Message) {
	i.finish(a)
	if i.options.FailScript == nil {
		return
	}
	i.options.FailScript(m.Server().Name(), m.Conn(), a.Count, func() bool {
		if !i.healed {
			i.tell(a, "")
		}
		return !i.healed
	})
}

// strikeEvent strikes a message that a server sends unasked.
func (i *Injector) strikeEvent(a *armedFault, m *sim.Message) {
	switch a.Kind {
	case DelayEvent:
		m.Delay(a.By)
	case LoseEvent:
		m.Vanish()
	case RepeatEvent:
		m.Repeat(a.By)
	}
	i.struck(a, "")
}

func (i *Injector) strikeReply(a *armedFault, m *sim.Message) {
	if m.Server().Crashed() {
		return
	}
	if a.Kind == LoseReply {
		i.way(m).broken = true
		m.Lose(a.Manner == Reset)
	} else {
		m.Delay(a.By)
	}
	a.replyTo = request{}
	i.struck(a, "")
}

// struck ends a fault's wait and tells of it.
func (i *Injector) struck(a *armedFault, machine string) {
	i.finish(a)
	i.tell(a, machine)
}

// finish ends a fault's wait.
func (i *Injector) finish(a *armedFault) {
	a.done = true
	i.waiting--
}

func (i *Injector) tell(a *armedFault, machine string) {
	a.strikes++
	if i.options.Struck != nil {
		i.options.Struck(a.index, a.Fault, machine)
	}
}

// strikeMachine strikes the fault's machine now, if there is something to strike.
func (i *Injector) strikeMachine(a *armedFault) {
	node := i.world.Node(i.resolve(a.Node))
	if node == nil || node.Crashed() && !i.strikesDead(a.Kind, node.Process()) {
		return
	}
	if a.Kind == RollBack && (i.options.Act == nil || !i.options.Act(node.Name(), a.Fault)) {
		return
	}
	a.process = node.Process()
	i.struck(a, node.Name())
	switch a.Kind {
	case Crash:
		i.forget(node.Name())
		node.Crash(a.Manner == Silent)
	case Restart:
		i.forget(node.Name())
		if i.options.BeforeRestart != nil {
			i.options.BeforeRestart(node.Name(), a.Fault)
		}
		node.Restart(a.Empty)
	case RollBack: // its program has forgotten its last writes already
		i.forget(node.Name())
		node.Restart(false)
	case Down:
		i.forget(node.Name())
		node.Crash(false)
		i.hold(i.downs, a, i.bringBack)
	case Pause:
		node.Pause()
		i.hold(i.pauses, a, resume)
	case StarveTimers, ReorderTimers:
		node.HoldTimers()
		i.hold(i.starved, a, a.releaseTimers)
	case ClockStep:
		node.StepClock(a.By)
	case ClockOffset:
		node.SetClockOffset(a.By)
	case ClockDrift:
		node.SetClockDrift(a.Drift)
	case ClockJitter:
		node.SetClockJitter(a.By)
	case ClockUnit:
		node.SetClockUnit(a.By)
	}
}

// strikeProgram has a program do what the fault says. What is there to be struck only the program knows, so it is asked
// first, and a strike that found nothing is none.
func (i *Injector) strikeProgram(a *armedFault) {
	machine := i.resolve(a.Node)
	if i.options.Act != nil && machine != "" && i.options.Act(machine, a.Fault) {
		i.struck(a, machine)
	}
}

// strikesDead tells whether a fault does anything to a machine that is down. Its clock goes on, it can be restarted,
// and a machine that is away for a while can stay away for longer. One that has crashed does not come back by being
// taken down.
func (i *Injector) strikesDead(kind Kind, process *sim.Process) bool {
	switch kind {
	case Crash, Pause, StarveTimers, ReorderTimers:
		return false
	case Down:
		return i.downs[process] > 0
	default:
		return true
	}
}

// hold keeps the machine as it is for the fault's time, and ends that with the last of the faults that do so. What
// happens to a later incarnation is not their business.
func (i *Injector) hold(holds map[*sim.Process]int, a *armedFault, end func(*sim.Process)) {
	process := a.process
	holds[process]++
	i.after(a.For, func() {
		if holds[process]--; holds[process] == 0 {
			end(process)
		}
	})
}

// resume lets an incarnation go on, if it is still there.
func resume(process *sim.Process) {
	if node := process.Node(); node.Process() == process {
		node.Resume()
	}
}

// releaseTimers lets the timers of an incarnation fire again, if it is still there.
func (a *armedFault) releaseTimers(process *sim.Process) {
	if node := process.Node(); node.Process() == process {
		node.ReleaseTimers(a.Kind == ReorderTimers)
	}
}

// bringBack restarts the machine of an incarnation that was taken down, unless it was restarted meanwhile.
func (i *Injector) bringBack(process *sim.Process) {
	if node := process.Node(); node.Process() == process && node.Crashed() {
		node.Restart(false)
	}
}

func (i *Injector) strikeLink(a *armedFault) {
	from, to := i.world.Node(i.resolve(a.Link.From)), i.world.Node(i.resolve(a.Link.To))
	if from == nil || to == nil {
		return
	}
	i.struck(a, "")
	links := []*sim.Link{i.world.Link(from, to)}
	if a.Link.Both {
		links = append(links, i.world.Link(to, from))
	}
	for _, link := range links {
		if a.Kind == Slow {
			link.Slow(a.By)
			i.after(a.For, func() { link.Slow(-a.By) })
			continue
		}
		i.cut(link, a)
	}
	if a.Kind == Cut && a.Manner == Reset {
		i.breakAll(func(c *conn) bool {
			return c.client == from.Name() && c.server == to.Name() || c.client == to.Name() && c.server == from.Name()
		})
	}
}

// cut cuts a link for the fault's time. While several faults do, it resets if one of them does.
func (i *Injector) cut(link *sim.Link, a *armedFault) {
	count := i.cuts[link]
	if count == nil {
		count = &cutCount{}
		i.cuts[link] = count
	}
	kind := &count.silent
	if a.Manner == Reset {
		kind = &count.reset
	}
	*kind++
	link.Cut(a.Manner == Reset)
	i.after(a.For, func() {
		*kind--
		switch {
		case count.reset > 0 || kind == &count.silent && count.silent > 0:
		case count.silent > 0:
			link.Heal()
			link.Cut(false)
		default:
			link.Heal()
		}
	})
}

// way is the connection of a message.
func (i *Injector) way(m *sim.Message) *conn {
	c := i.conns[m.Conn()]
	if c == nil {
		c = &conn{client: m.Client().Name(), server: m.Server().Name()}
		i.conns[m.Conn()] = c
	}
	return c
}

// breakAll takes note that connections are no more.
func (i *Injector) breakAll(which func(*conn) bool) {
	for _, c := range i.conns { // order-free: each connection is looked at by itself
		if which(c) {
			c.broken = true
		}
	}
}

// forget drops what a machine was doing when it ends: its connections are gone, and what comes after it has sent
// nothing yet.
func (i *Injector) forget(machine string) {
	i.breakAll(func(c *conn) bool { return c.client == machine || c.server == machine })
	for p := range i.last { // order-free: each entry is looked at by itself
		if p.client == machine || p.server == machine {
			delete(i.last, p)
		}
	}
}

// after ends a fault by itself, unless everything was healed before.
func (i *Injector) after(d time.Duration, f func()) {
	i.world.At(i.world.Now()+d, func() {
		if !i.healed {
			f()
		}
	})
}

// Heal ends all faults that are still going on and disarms the rest: machines resume, links carry, clocks run at their
// proper rate, machines in down come back. What has crashed stays down, and a clock that was set stays as it is set.
func (i *Injector) Heal() {
	if i.healed {
		return
	}
	i.healed = true
	for _, a := range i.armed {
		if a.process == nil {
			continue
		}
		switch a.Kind {
		case Pause:
			resume(a.process)
		case StarveTimers, ReorderTimers:
			a.releaseTimers(a.process)
		case Down:
			i.bringBack(a.process)
		case ClockDrift:
			a.process.Node().SetClockDrift(0)
		case ClockJitter:
			a.process.Node().SetClockJitter(0)
		case ClockUnit:
			a.process.Node().SetClockUnit(time.Millisecond)
		}
	}
	i.world.HealLinks()
}
