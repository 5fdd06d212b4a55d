package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-sim/lockstep/sim"
)

// TestInjector runs the scripts in testdata/injector. In a small world, a machine "server" executes requests and
// answers with their number, clients c1 and c2 send them, and every message takes 1 ms. The lines of a script:
//
//	FAULT                   a fault of the plan, as text
//	> CLIENT T COMMAND      the client sends a request when its own clock has run for so long; it waits for the reply
//	> CLIENT' T COMMAND     the same by a second program of that client, over a connection of its own
//	> CLIENT* T NAME        a timer of the client's library fires then
//	> T holder|waiter|next NAME  from here on NAME plays the role; "-" = nobody does
//	> T idle NAME           the program of NAME has nothing to do that could be cancelled
//	> T lease NAME T        the server's lease of NAME ends then
//	> T gone NAME           NAME has no lease any more
//	> T clocks              all clocks that do not show true time, wall/monotonic
//	> T heal                everything heals
//
// LISTEN is a request after which the client hears of every PUBLISH. FailScript is answered by a server whose every
// request is a script that writes once. A restarted client goes on with the requests that are still to come. What is
// printed is what happened, with true time in milliseconds, and how often each fault struck. Write the results anew
// with -rewrite.
func TestInjector(t *testing.T) {
	datadriven.Walk(t, "testdata/injector", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			s := &injectorScript{t: t, roles: map[NodeRef]string{}, failing: map[uint64]func() bool{}}
			if err := s.parse(d.Input); err != nil {
				d.Fatalf(t, "%v", err)
			}
			return s.run()
		})
	})
}

// injectorScript is one script and the world that it runs in.
type injectorScript struct {
	t        *testing.T
	plan     Plan
	requests []scriptedRequest
	acts     []scriptedAct
	world    *sim.World
	injector *Injector
	executed int
	zero     time.Time // what all clocks show at the start
	roles    map[NodeRef]string
	ears     []*sim.ServiceConn     // of who listens
	failing  map[uint64]func() bool // by connection
	log      strings.Builder
}

type scriptedRequest struct {
	program string // c1, c2, c1', c2'
	at      time.Duration
	command string
}

type scriptedAct struct {
	at    time.Duration
	words []string
}

func (s *injectorScript) parse(input string) error {
	var plan strings.Builder
	for line := range strings.SplitSeq(input, "\n") {
		rest, isScript := strings.CutPrefix(line, "> ")
		if !isScript {
			fmt.Fprintln(&plan, line)
			continue
		}
		words := strings.Fields(rest)
		if !strings.HasPrefix(words[0], "c") {
			at, err := time.ParseDuration(words[0])
			if err != nil {
				return err
			}
			s.acts = append(s.acts, scriptedAct{at, words[1:]})
			continue
		}
		at, err := time.ParseDuration(words[1])
		if err != nil {
			return err
		}
		s.requests = append(s.requests, scriptedRequest{words[0], at, words[2]})
	}
	var err error
	if s.plan, err = ParsePlan(plan.String()); err != nil {
		return err
	}
	return Validate(s.plan, []string{"server", "c1", "c2"})
}

func (s *injectorScript) say(format string, args ...any) {
	ms := s.world.Now().Round(time.Millisecond).Milliseconds()
	fmt.Fprintf(&s.log, "%6d  %s\n", ms, fmt.Sprintf(format, args...))
}

func (s *injectorScript) run() string {
	result := sim.Run(s.t, sim.Config{
		Seed: 1, Latency: sim.Fixed(time.Millisecond),
		Taps: []sim.Tap{func(point sim.Point, m *sim.Message) { s.injector.Tap(point, m) }},
	}, s.play)
	if result.Err != nil || len(result.Leaks) > 0 {
		s.t.Errorf("the world ended with %v, and left %v behind", result.Err, result.Leaks)
	}
	fmt.Fprintf(&s.log, "strikes %v\n", s.injector.Strikes())
	return s.log.String()
}

func (s *injectorScript) play(w *sim.World) {
	s.world = w
	w.NewNode(sim.NodeConfig{Name: "server", Service: countingService{s}})
	for _, name := range []string{"c1", "c2"} {
		w.NewNode(sim.NodeConfig{Name: name, OnRestart: func(p *sim.Process) {
			s.say("%s is back", name)
			s.start(p)
		}})
	}
	s.zero = w.Node("server").Wall().Round(0)
	s.injector = NewInjector(w, s.plan, InjectorOptions{
		Role: func(role NodeRef) string { return s.roles[role] },
		Act: func(machine string, fault Fault) bool {
			s.say("%s is asked to %v", machine, fault.Kind)
			return s.roles["idle"] != machine
		},
		FailScript: func(server string, conn uint64, n int64, strike func() bool) {
			s.say("%s will fail a script at write %d", server, n)
			s.failing[conn] = strike
		},
		BeforeRestart: func(machine string, fault Fault) {
			s.say("%s is about to come back as %v", machine, fault.Identity)
		},
		Struck: func(index int, fault Fault, machine string) {
			s.say("fault %d strikes %s", index+1, strings.TrimSpace(machine+" "+fault.Kind.String()))
		},
	})
	for _, act := range s.acts {
		w.At(act.at, func() { s.act(act.words) })
	}
	w.At(0, func() {
		for _, name := range []string{"c1", "c2"} {
			s.start(w.Node(name).Process())
		}
	})
	w.RunUntil(time.Minute, nil)
}

// start runs the programs of a client.
func (s *injectorScript) start(p *sim.Process) {
	for _, r := range s.requests {
		if r.program == p.Node().Name()+"*" && r.at >= s.world.Now() {
			p.LibraryClock().AfterFunc(r.at-s.world.Now(), func() { s.report(p, 2, r.program, "timer", r.command) })
		}
	}
	for lane, suffix := range []string{"", "'"} {
		var mine []scriptedRequest
		for _, r := range s.requests {
			if r.program == p.Node().Name()+suffix && r.at >= s.world.Now() {
				mine = append(mine, r)
			}
		}
		if len(mine) > 0 {
			p.Go("program"+suffix, func() { s.program(p, uint64(lane), mine) })
		}
	}
}

func (s *injectorScript) program(p *sim.Process, lane uint64, requests []scriptedRequest) {
	client := p.NewDirectClient(sim.DirectConfig{Address: "server"})
	epoch := p.Clock().Now().Add(-s.world.Now())
	for _, r := range requests {
		if wait := r.at - p.Clock().Since(epoch); wait > 0 {
			p.Clock().Sleep(wait)
		}
		if r.command == "LISTEN" {
			_, feed, err := client.Feed(p.Context(), r.command)
			for err == nil {
				var event any
				if event, err = feed.Next(); err == nil {
					s.report(p, lane, r.program, "hears", event)
				}
			}
			return
		}
		reply, err := client.Do(p.Context(), r.command)
		if err != nil {
			reply = err
		}
		s.report(p, lane, r.program, r.command+" ->", reply)
	}
}

// report says on the engine's goroutine what a program was told.
func (s *injectorScript) report(p *sim.Process, lane uint64, program, what string, told any) {
	p.Do(lane, func() { s.say("%s: %s %v", program, what, told) })
}

func (s *injectorScript) act(words []string) {
	switch words[0] {
	case "heal":
		s.say("heal")
		s.injector.Heal()
	case "lease":
		at, err := time.ParseDuration(words[2])
		if err != nil {
			s.t.Fatal(err)
		}
		s.injector.Lease("server", words[1], at)
	case "gone":
		s.injector.LeaseGone("server", words[1])
	case "clocks":
		var shown []string
		for _, n := range s.world.Nodes() {
			wall := n.Wall().Round(0).Sub(s.zero) - s.world.Now()
			monotonic := n.Monotonic() - s.world.Now()
			if wall != 0 || monotonic != 0 {
				shown = append(shown, fmt.Sprintf("%s %+d/%+d ms", n.Name(), wall.Milliseconds(), monotonic.Milliseconds()))
			}
		}
		s.say("clocks off: %s", strings.Join(shown, ", "))
	default:
		s.roles[NodeRef(words[0])] = strings.TrimPrefix(words[1], "-")
	}
}

// countingService answers each request with the number of requests that it has executed.
type countingService struct{ *injectorScript }

func (c countingService) Accept(conn *sim.ServiceConn) sim.Session {
	return countingSession{c.injectorScript, conn}
}

func (c countingService) Describe([]byte) []string { return nil }

func (c countingService) Restart(empty bool) {
	if empty {
		c.executed = 0
	}
	c.say("server is back, empty %v", empty)
}

type countingSession struct {
	*injectorScript
	conn *sim.ServiceConn
}

func (c countingSession) Command(args []string) (any, []byte, bool) {
	c.executed++
	reply := fmt.Sprint("#", c.executed)
	c.say("server executes %s of %s", args[0], c.conn.Client().Name())
	if strike := c.failing[c.conn.ID()]; strike != nil && strike() {
		delete(c.failing, c.conn.ID())
		reply = "failed"
	}
	switch args[0] {
	case "LISTEN":
		c.ears = append(c.ears, c.conn)
	case "PUBLISH":
		for _, ear := range c.ears {
			ear.Push("event "+reply, []byte("event "+reply))
		}
	}
	return reply, []byte(reply), false
}

func (c countingSession) Bytes([]byte) {}
func (c countingSession) Closed()      {}
