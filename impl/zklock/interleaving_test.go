package zklock

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/go-zookeeper/zk"
)

// TestInterleavings plays scripts in which every message between a handle and the server moves only when the script
// says so. Each script is a world of its own, with one server and one clock. Sessions last 10 s.
//
//	new NAME IMPL [KNOB=VALUE]   a handle on a connection of its own
//	share NAME OTHER             another owner's handle on OTHER's object and connection
//	call NAME lock|try|try-for DURATION|unlock|held|state
//	step NAME [N]     deliver the events, execute the oldest waiting request and deliver its answer, N times
//	run NAME          step until the call has returned or nothing waits any more
//	execute NAME      execute the oldest waiting request; its answer stays on the way
//	answer NAME       deliver what is on the way up to the next answer
//	event NAME        deliver the next event
//	drop NAME         break the connection: what waits is never executed, what is on the way is lost
//	reconnect NAME    find the session again, or begin a new one where it has expired
//	cut NAME          nothing of NAME is heard any more, and it is not told
//	heal NAME         end that
//	expire NAME       the server ends the session
//	cancel NAME       end the context of the call
//	advance DURATION  time passes
//	make PATH         somebody makes a node; likewise remove PATH, touch PATH
//	create PREFIX ID of NAME   a late creation by NAME's session
//	counter PATH N    the number of the next sequential child
//	show              what is on the server
//
// A line "A> children /job" is a request of A that waits to be executed; "A: children /job -> []" was answered.
func TestInterleavings(t *testing.T) {
	datadriven.Walk(t, "testdata/interleavings", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlay(t)
			defer p.close()
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				out, err := p.command(d)
				if err != nil {
					d.Fatalf(t, "%v", err)
				}
				return out
			})
		})
	})
}

func (p *play) command(d *datadriven.TestData) (string, error) {
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
		p.output.WriteString(p.server.render())
		return nil
	case "advance":
		d, err := time.ParseDuration(args[0])
		p.pass(d)
		return err
	case "new":
		return p.create(args[0], args[1], args[2:])
	case "share":
		return p.share(args[0], args[1])
	case "make", "create", "remove", "touch", "counter":
		return p.meddle(command, args)
	}
	pl := p.players[args[0]]
	if pl == nil {
		return fmt.Errorf("%w: %s", errUnknown, args[0])
	}
	switch command {
	case "call":
		return p.call(pl, args[1:])
	case "cancel":
		pl.cancel()
		return nil
	case "run":
		return p.step(pl, 1000)
	case "step":
		n := 1
		if len(args) > 1 {
			n, _ = strconv.Atoi(args[1])
		}
		return p.step(pl, n)
	}
	return pl.link.move(command)
}

// meddle is what a third party does.
func (p *play) meddle(command string, args []string) (err error) {
	path := args[0]
	switch command {
	case "make":
		_, err = p.server.create(path, "", 0, 0)
	case "create":
		owner := p.players[args[3]].link.session.Load()
		id := fmt.Sprintf("%032s", args[1])
		_, err = p.server.create(path, id, zk.FlagEphemeralSequential, owner)
	case "remove":
		err = p.server.delete(path)
	case "touch":
		err = p.server.set(path, "touched")
	case "counter":
		n, _ := strconv.Atoi(args[1])
		p.server.nodes[path].counter = int32(n)
	}
	for _, l := range p.links {
		l.fetchEvents()
	}
	return err
}

func (l *link) move(command string) error {
	switch command {
	case "execute":
		m, err := l.execute()
		if err == nil {
			l.note("%s is executed", m.text)
		}
		return err
	case "answer", "event":
		for len(l.way) > 0 {
			answer := l.way[0].answer != nil
			if answer && command == "event" {
				break
			}
			l.arrive()
			if answer || command == "event" {
				return nil
			}
		}
		return fmt.Errorf("no %s is on the way to %s", command, l.name)
	case "drop":
		l.disconnect()
	case "reconnect":
		l.reconnect()
		l.fetchEvents()
	case "cut":
		l.cut = true
	case "heal":
		l.cut = false
	case "expire":
		l.p.server.expire(l.session.Load())
		for _, other := range l.p.links {
			other.fetchEvents()
		}
	default:
		return fmt.Errorf("no such command: %s", command)
	}
	return nil
}

func (p *play) step(pl *player, n int) error {
	for range n {
		waiting := pl.link.pending()
		if p.collect(pl); len(waiting) == 0 {
			break
		}
		if _, err := pl.link.execute(); err != nil {
			return err
		}
		for len(pl.link.way) > 0 {
			pl.link.arrive()
		}
		for _, l := range p.links {
			l.fetchEvents()
		}
	}
	return nil
}

// report prints what returned, what the locks logged, and what waits.
func (p *play) report() {
	for _, pl := range p.order {
		p.collect(pl)
	}
	for _, l := range p.links {
		for _, m := range l.pending() {
			fmt.Fprintf(&p.output, "%s> %s\n", l.name, m.text)
		}
		for _, i := range l.way {
			if i.answer == nil {
				fmt.Fprintf(&p.output, "%s< event %s\n", l.name, describe(i.event))
			} else {
				fmt.Fprintf(&p.output, "%s< answer to %s\n", l.name, i.answer.text)
			}
		}
	}
}

func (p *play) collect(pl *player) {
	pl.logging.Lock()
	for _, text := range pl.dropped {
		fmt.Fprintf(&p.output, "%s: drops %s\n", pl.name, text)
	}
	pl.dropped = nil
	pl.logging.Unlock()
	select {
	case result := <-pl.result:
		fmt.Fprintf(&p.output, "%s: %s = %s\n", pl.name, pl.calling, strings.ReplaceAll(result, "\n", " "))
		pl.calling = ""
	default:
	}
}
