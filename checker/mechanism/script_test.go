package mechanism

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-sim/lockstep/checker"
)

// TestScripts explains histories written by hand. A script has one event a line, its indices count from 1:
//
//	T CLIENT lock|unlock [count=N]                      a call
//	T CLIENT locked|refused|unlocked|denied [count=N]   its return: ok or fail
//	T CLIENT unsure [error=TEXT]                        its return: nobody knows
//	T CLIENT crash
//	T set COMMAND BY OWNER/COUNT EXPIRES [was OWNER/COUNT EXPIRES] [now N]   a fact: who wrote which record over which
//	T gone COMMAND BY was OWNER/COUNT EXPIRES [now N]                        a fact: who removed which record
//	T healed|end
//
// COMMAND@SERVER is about the record that one of several servers has.
//
// T is true time in milliseconds, and so are the readings of the clock that judges deadlines, unless "now" says what it
// shows. CLIENT is a machine, or machine/process; its owner is its name, or what owners=(c2:c1) says. BY is "-" when no
// client did it. What is printed is what every violation was explained by.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "explain" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			s := &script{owners: map[string]string{}}
			for _, arg := range d.CmdArgs {
				for _, pair := range arg.Vals {
					client, owner, _ := strings.Cut(pair, ":")
					s.owners[client] = owner
				}
			}
			for line := range strings.SplitSeq(d.Input, "\n") {
				if err := s.line(line); err != nil {
					d.Fatalf(t, "%s: %v", line, err)
				}
			}
			return s.explain(t)
		})
	})
}

// script is a history under way.
type script struct {
	owners  map[string]string
	history checker.History
}

// explain judges the history, and explains it.
func (s *script) explain(t *testing.T) string {
	if err := s.history.Validate(); err != nil {
		t.Fatal(err)
	}
	verdicts := checker.Check(&s.history, checker.Options{
		Promises: checker.Promises{Reentrant: true}, LivenessBound: time.Second,
		Properties: []checker.Property{checker.MutualExclusion, checker.Liveness},
	})
	var b strings.Builder
	findings := Find(&s.history, verdicts)
	for _, v := range verdicts {
		if v.Result != checker.Violated {
			continue
		}
		fmt.Fprintf(&b, "%s is violated\n", v.Property)
		for _, f := range findings {
			if f.Property == v.Property {
				fmt.Fprintf(&b, "  %s %s %v: %s\n", f.Mechanism.Ref, f.Mechanism.Name, f.Events, f.Text)
			}
		}
	}
	if b.Len() == 0 {
		return "no violation\n"
	}
	return b.String()
}

func (s *script) add(e checker.Event) {
	e.Index, e.Key = int64(len(s.history.Events))+1, "job"+e.Key
	s.history.Events = append(s.history.Events, e)
}

func (s *script) owner(client string) string {
	if owner := s.owners[client]; owner != "" {
		return owner
	}
	name, _, _ := strings.Cut(client, "/")
	return name
}

func (s *script) line(line string) error {
	words := strings.Fields(line)
	ms, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return err
	}
	e := checker.Event{Time: time.Duration(ms) * time.Millisecond, Type: checker.Info}
	switch words[1] {
	case "healed", "end":
		e.Process, e.F = checker.ProcessFault, words[1]
	case "set", "gone":
		return s.fact(e, ms, words[1:])
	default:
		return s.operation(e, words[1:])
	}
	s.add(e)
	return nil
}

// operations are the words for calls and returns.
var operations = map[string]struct {
	kind checker.Type
	f    string
}{
	"lock": {checker.Invoke, checker.TryAcquire}, "locked": {checker.OK, checker.TryAcquire},
	"refused": {checker.Fail, checker.TryAcquire}, "unlock": {checker.Invoke, checker.Release},
	"unlocked": {checker.OK, checker.Release}, "denied": {checker.Fail, checker.Release},
	"unsure": {checker.Info, ""}, "crash": {checker.Info, checker.Crash},
}

func (s *script) operation(e checker.Event, words []string) error {
	client := words[0]
	o, known := operations[words[1]]
	if !known {
		return fmt.Errorf("no operation %q", words[1])
	}
	node, process, split := strings.Cut(client, "/")
	if !split {
		process = strings.TrimPrefix(node, "c")
	}
	n, err := strconv.Atoi(process)
	if err != nil {
		return err
	}
	e.Process, e.Node, e.Owner, e.Type, e.F = n, node, s.owner(client), o.kind, o.f
	if o.f == "" { // what was called last
		for _, before := range slices.Backward(s.history.Events) {
			if before.Process == n {
				e.F = before.F
				break
			}
		}
	}
	for _, word := range words[2:] {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "count":
			e.Count, err = strconv.ParseInt(value, 10, 64)
		case "error":
			e.Error = value
		default:
			err = fmt.Errorf("no field %q", name)
		}
	}
	s.add(e)
	return err
}

func (s *script) fact(e checker.Event, now int64, words []string) (err error) {
	command, server, single := strings.Cut(words[1], atServer)
	e.Process, e.F, e.Command = checker.ProcessServer, checker.RecordGone, command
	if single {
		e.Key = atServer + server // of the lock that all scripts are about
	}
	if words[2] != "-" {
		e.Node, _, _ = strings.Cut(words[2], "/")
		e.Owner = s.owner(words[2])
	}
	if k := slices.Index(words, "now"); k > 0 {
		if now, err = strconv.ParseInt(words[k+1], 10, 64); err != nil {
			return err
		}
	}
	if words[0] == "set" {
		e.F = checker.RecordSet
		if e.Record, err = parseRecord(words[3], words[4], now); err != nil {
			return err
		}
		e.Count = e.Record.Count
	}
	if k := slices.Index(words, "was"); k > 0 {
		e.Previous, err = parseRecord(words[k+1], words[k+2], now)
	}
	s.add(e)
	return err
}

func parseRecord(text, expires string, now int64) (*checker.Record, error) {
	owner, count, _ := strings.Cut(text, "/")
	r := &checker.Record{Owner: owner, Now: now}
	var err error
	if r.Count, err = strconv.ParseInt(count, 10, 64); err != nil {
		return nil, err
	}
	r.Expires, err = strconv.ParseInt(expires, 10, 64)
	return r, err
}
