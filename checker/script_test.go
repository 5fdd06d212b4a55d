package checker

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// TestScripts judges histories written by hand. A script has one event a line:
//
//	TIME WHO TYPE F [KEY] [name=value ...]
//
// WHO is a machine such as c1 (its process is the number), a process of a machine such as c1/7, "server" or "fault".
// A record is OWNER:COUNT:EXPIRES:NOW. The arguments of check are the options.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "check" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			h, err := parseScript(d.Input)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			verdicts := Check(h, scriptOptions(t, d, h))
			if d.HasArg("by") {
				return render(verdicts) + rungs(verdicts)
			}
			return render(verdicts)
		})
	})
}

func scriptOptions(t *testing.T, d *datadriven.TestData, h *History) Options {
	var o Options
	for _, arg := range d.CmdArgs {
		switch arg.Key {
		case "by": // is about the output
		case "reentrant":
			o.Promises.Reentrant = true
		case "fenced":
			o.Promises.Fenced = true
		case "leased":
			o.Promises.Leased = true
		case "fair":
			o.Promises.Fair = true
		case "order-bound":
			arg.Scan(t, 0, &o.OrderBound)
		case "model":
			lock, err := model.Named(arg.Vals[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			o.Model = lock
		case "strict":
			o.Strict = true
		case "bound":
			o.LivenessBound = scriptDuration(t, d, arg.Vals[0])
		case "permits":
			arg.Scan(t, 0, &o.Promises.Permits)
		case "lease":
			h.Header.Lease = scriptDuration(t, d, arg.Vals[0])
		case "herd-bound":
			arg.Scan(t, 0, &o.HerdBound)
		case "hand-over-bound":
			o.HandOverBound = scriptDuration(t, d, arg.Vals[0])
		case "fairness-bound":
			arg.Scan(t, 0, &o.FairnessBound)
		case "overtakes":
			arg.Scan(t, 0, &o.Overtakes)
		case "max":
			arg.Scan(t, 0, &o.MaxViolations)
		case "lock":
			h.Header.Lock = arg.Vals[0]
		case "only":
			for _, v := range arg.Vals {
				o.Properties = append(o.Properties, Property(v))
			}
		default:
			d.Fatalf(t, "unknown option %q", arg.Key)
		}
	}
	return o
}

func scriptDuration(t *testing.T, d *datadriven.TestData, text string) time.Duration {
	length, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return length
}

// rungs says how linearizability was decided, as far as it was.
func rungs(verdicts []Verdict) string {
	text := ""
	for _, v := range verdicts {
		if len(v.By) > 0 {
			text += fmt.Sprintf("%s by %s\n", v.Property, strings.Join(v.By, ", "))
		}
	}
	return text
}

func render(verdicts []Verdict) string {
	var b strings.Builder
	for _, v := range verdicts {
		fmt.Fprintln(&b, v)
		for _, x := range v.Violations {
			cause := ""
			if x.Cause != "" {
				cause = fmt.Sprintf(" (%s)", x.Cause)
			}
			fmt.Fprintf(&b, "  %s %v %v%s: %s\n", x.Kind, x.Events, x.Nodes, cause, x.Text)
		}
	}
	return b.String()
}

// parseScript reads the events of a script.
func parseScript(script string) (*History, error) {
	h := &History{}
	for n, line := range strings.Split(strings.TrimSpace(script), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0][0] == '#' {
			continue
		}
		e, err := parseEvent(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		e.Index = int64(len(h.Events))
		h.Events = append(h.Events, e)
	}
	return h, nil
}

func parseEvent(fields []string) (Event, error) {
	var e Event
	if len(fields) < 4 {
		return e, fmt.Errorf("want TIME WHO TYPE F, got %q", fields)
	}
	at, err := time.ParseDuration(fields[0])
	if err != nil {
		return e, err
	}
	e.Time, e.Type, e.F = at, Type(fields[2]), fields[3]
	switch who := fields[1]; who {
	case "server":
		e.Process = ProcessServer
	case "fault":
		e.Process = ProcessFault
	default:
		node, process, split := strings.Cut(who, "/")
		if !split {
			process = strings.TrimLeft(node, "abcdefghijklmnopqrstuvwxyz")
		}
		e.Node = node
		if e.Process, err = strconv.Atoi(process); err != nil {
			return e, err
		}
	}
	for _, field := range fields[4:] {
		name, value, named := strings.Cut(field, "=")
		if !named {
			e.Key = field
			continue
		}
		if err := setField(&e, name, value); err != nil {
			return e, err
		}
	}
	return e, nil
}

func setField(e *Event, name, value string) (err error) {
	switch name {
	case "node":
		e.Node = value
	case "owner":
		e.Owner = value
	case "command":
		e.Command = value
	case "value":
		e.Value = value
	case "error":
		e.Error = value
	case "accepted":
		e.Accepted = value == "yes"
	case "token":
		e.Token, err = strconv.ParseInt(value, 10, 64)
	case "call":
		e.Call, err = strconv.ParseInt(value, 10, 64)
	case "count":
		e.Count, err = strconv.ParseInt(value, 10, 64)
	case "deadline":
		e.Deadline, err = time.ParseDuration(value)
	case "wait":
		e.Wait, err = time.ParseDuration(value)
	case "previous":
		e.Previous, err = parseRecord(value)
	case "record":
		e.Record, err = parseRecord(value)
	default:
		err = fmt.Errorf("unknown field %q", name)
	}
	return err
}

func parseRecord(text string) (*Record, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 4 {
		return nil, fmt.Errorf("record %q: want OWNER:COUNT:EXPIRES:NOW", text)
	}
	r := &Record{Owner: parts[0]}
	for i, field := range []*int64{&r.Count, &r.Expires, &r.Now} {
		n, err := strconv.ParseInt(parts[i+1], 10, 64)
		if err != nil {
			return nil, err
		}
		*field = n
	}
	return r, nil
}
