package faults

import (
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// Injector strikes the faults of one plan in one world. It belongs to the engine's goroutine.
type Injector struct {
	world   *sim.World
	options InjectorOptions
	armed   []*armedFault
	last    map[pair]string   // the command that a client sent last to a server
	cuts    map[*sim.Link]int // how many faults cut a link right now
	healed  bool
}

// InjectorOptions are what an Injector has to ask of the run.
type InjectorOptions struct {
	// Role tells which machine plays a role now; "" when none does, and then the fault waits for its next occasion.
	Role func(role NodeRef) string
	// BeforeRestart is told of a restart before the machine comes back, so that a client can be given its identity.
	BeforeRestart func(machine string, fault Fault)
	// Struck is told of every strike: the fault's place in the plan, and the machine that was struck ("" for a link).
	Struck func(index int, fault Fault, machine string)
}

// armedFault is a fault that has not struck, or that waits for its reply.
type armedFault struct {
	Fault
	index   int
	counts  []int64 // requests that fitted so far, for each trigger
	pending bool    // the moment has come; the next message of the link is the one
	reply   uint64  // the connection whose next reply is the one, 0 = none
	// node is the machine that was struck. A role may be another's when the fault ends.
	node    *sim.Node
	strikes int
	done    bool
}

type pair struct{ client, server string }

// NewInjector arms a plan. Faults for an instant are queued at once; the others wait for what Tap sees.
func NewInjector(world *sim.World, plan Plan, options InjectorOptions) *Injector {
	i := &Injector{world: world, options: options, last: map[pair]string{}, cuts: map[*sim.Link]int{}}
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
	if i.healed {
		return
	}
	switch point {
	case sim.PointSend:
		for _, a := range i.armed {
			if !a.done {
				i.atSend(a, m)
			}
		}
		if len(m.Args) > 0 {
			i.last[pair{m.Client().Name(), m.Server().Name()}] = m.Command()
		}
	case sim.PointReply:
		for _, a := range i.armed {
			if !a.done {
				i.atReply(a, m)
			}
		}
	}
}

// atSend looks at a request that is about to leave its client.
func (i *Injector) atSend(a *armedFault, m *sim.Message) {
	if (a.pending || a.reply != 0) && i.ofLink(a, m) {
		i.strikeMessage(a, m) // also when the connection whose reply was meant has died: then this one's is
		return
	}
	for n, trigger := range a.When {
		if trigger.Moment == BeforeRequest || trigger.Moment == BetweenRequests {
			if i.counted(a, n, m) {
				i.moment(a, m)
				return
			}
		}
	}
}

// atReply looks at a request that was executed and whose reply is about to leave.
func (i *Injector) atReply(a *armedFault, m *sim.Message) {
	if a.reply != 0 && a.reply == m.Conn() {
		i.strikeReply(a, m)
		return
	}
	for n, trigger := range a.When {
		if trigger.Moment == AfterExecution && i.counted(a, n, m) {
			i.moment(a, m)
			return
		}
	}
}

// counted counts a request if trigger n means such, and tells whether the n-th has come. It stays true afterwards: a
// fault whose role nobody plays strikes at the next request.
func (i *Injector) counted(a *armedFault, n int, m *sim.Message) bool {
	trigger := a.When[n]
	strikesMessage := a.Kind.StrikesRequest() || a.Kind.StrikesReply()
	if !i.fits(trigger, m) || strikesMessage && !i.ofLink(a, m) {
		return false
	}
	a.counts[n]++
	return a.counts[n] >= trigger.Nth
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

// moment is when one of a fault's triggers occurs; m is the message that made it occur, nil for an instant.
func (i *Injector) moment(a *armedFault, m *sim.Message) {
	if i.healed || a.done || a.pending || a.reply != 0 {
		return
	}
	if !a.Kind.StrikesRequest() && !a.Kind.StrikesReply() {
		i.strikeMachine(a)
		return
	}
	if m == nil || !i.ofLink(a, m) {
		a.pending = true
		return
	}
	i.strikeMessage(a, m)
}

// strikeMessage strikes the message that the fault means, or waits for its reply.
func (i *Injector) strikeMessage(a *armedFault, m *sim.Message) {
	a.pending = false
	switch {
	case a.Kind.StrikesReply() && m.Reply:
		i.strikeReply(a, m)
		return
	case a.Kind.StrikesReply():
		a.reply = m.Conn()
		return
	case m.Reply: // a request that has been executed cannot be struck any more; the next one is
		a.pending = true
		return
	case a.Kind == LoseRequest:
		m.Lose(a.Manner == Reset)
	case a.Kind == DelayRequest:
		m.Delay(a.By)
	}
	i.struck(a, "")
}

func (i *Injector) strikeReply(a *armedFault, m *sim.Message) {
	if a.Kind == LoseReply {
		m.Lose(a.Manner == Reset)
	} else {
		m.Delay(a.By)
	}
	a.reply = 0
	i.struck(a, "")
}

// struck ends a fault's wait and tells of it.
func (i *Injector) struck(a *armedFault, machine string) {
	a.strikes++
	a.done = true
	if i.options.Struck != nil {
		i.options.Struck(a.index, a.Fault, machine)
	}
}

// strikeMachine strikes the fault's machine or link now. A role that nobody plays lets the moment pass: the fault stays
// armed for the next one.
func (i *Injector) strikeMachine(a *armedFault) {
	if a.Kind == Slow || a.Kind == Cut {
		i.strikeLink(a)
		return
	}
	node := i.world.Node(i.resolve(a.Node))
	if node == nil {
		return
	}
	a.node = node
	i.struck(a, node.Name())
	switch a.Kind {
	case Crash:
		node.Crash(a.Manner == Silent)
	case Restart:
		i.forget(node.Name())
		if i.options.BeforeRestart != nil {
			i.options.BeforeRestart(node.Name(), a.Fault)
		}
		node.Restart(a.Empty)
	case Down:
		node.Crash(false)
		i.after(a.For, func() { i.bringBack(node) })
	case Pause:
		node.Pause()
		i.after(a.For, node.Resume)
	case ClockStep:
		node.StepClock(a.By)
	case ClockOffset:
		node.SetClockOffset(a.By)
	case ClockDrift:
		node.SetClockDrift(a.Drift)
	case ClockJitter:
		node.SetClockJitter(a.By)
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
		link.Cut(a.Manner == Reset)
		i.cuts[link]++
		i.after(a.For, func() {
			if i.cuts[link]--; i.cuts[link] == 0 {
				link.Heal()
			}
		})
	}
}

// forget drops what a machine sent last: the next incarnation has sent nothing yet.
func (i *Injector) forget(machine string) {
	for p := range i.last {
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

func (i *Injector) bringBack(node *sim.Node) {
	if node.Crashed() {
		i.forget(node.Name())
		node.Restart(false)
	}
}

// Heal ends all faults that are still going on and disarms the rest: machines resume, links carry, clocks run at their
// proper rate, machines in down come back. What has crashed stays down, and a clock that was set stays as it is set.
func (i *Injector) Heal() {
	if i.healed {
		return
	}
	i.healed = true
	for _, a := range i.armed {
		if a.node == nil {
			continue
		}
		switch a.Kind {
		case Pause:
			a.node.Resume()
		case Down:
			i.bringBack(a.node)
		case ClockDrift:
			a.node.SetClockDrift(0)
		case ClockJitter:
			a.node.SetClockJitter(0)
		}
	}
	i.world.HealLinks()
}
