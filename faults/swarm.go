package faults

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Swarm is a pool that whole plans are drawn from.
//
// Every seed switches a random subset of the kinds off, since faults hide each other: a client that crashes early
// never meets the pause that would have broken it. How often the other kinds strike, and how long the shortest of
// their faults is, are drawn from wide ranges, so that some seeds have one long fault and others a storm of short
// ones.
type Swarm struct {
	Kinds   []Kind
	Clients []string
	Servers []string // machines that clients talk to
	Horizon time.Duration
	// Lease is the scale of durations: they reach from a thousandth of it to four times as much.
	Lease time.Duration
}

// Draw makes the plan of one seed. Each kind has a stream of its own, which is asked for by its words, so that another
// kind in the pool changes no fault of the first.
func (s Swarm) Draw(stream func(kind string) Stream) Plan {
	var plan Plan
	for _, kind := range s.Kinds {
		d := drawing{Swarm: s, stream: stream(kind.String())}
		if d.oneOf(2) { // this seed goes without
			continue
		}
		d.shortest = d.wide(max(s.Lease/1000, 1), max(s.Lease, 1))
		for range d.stream.Between(1, 1<<d.stream.Between(0, mostFaults)) {
			plan = append(plan, d.fault(kind))
		}
	}
	return plan
}

// mostFaults is the binary logarithm of how many faults of one kind a seed can have.
const mostFaults = 3

// ForSwarms lists the kinds that a Swarm can draw: all but those about keys and nodes, for which it would have to know
// what a lock keeps where, and the one that makes a server forget, which no lock on one server survives.
func ForSwarms() []Kind {
	return slices.DeleteFunc(Kinds(), func(k Kind) bool {
		return k == PresetCounter || k == AddPath || k == RemovePath || k == RollBack
	})
}

// ParseKinds reads the pool of a swarm: kinds by their words, with commas between them ("pause, lose reply"), "all", or
// "all but" and kinds.
func ParseKinds(text string) ([]Kind, error) {
	words := strings.ToLower(strings.Join(strings.Fields(text), " "))
	if words == "all" {
		return ForSwarms(), nil
	}
	rest, without := strings.CutPrefix(words, "all but ")
	var named []Kind
	for word := range strings.SplitSeq(rest, ",") {
		kind, err := kindNamed(strings.TrimSpace(word))
		if err != nil {
			return nil, err
		}
		named = append(named, kind)
	}
	return slices.DeleteFunc(ForSwarms(), func(k Kind) bool { return slices.Contains(named, k) == without }), nil
}

// KindsText writes a pool as ParseKinds reads it.
func KindsText(kinds []Kind) string {
	if slices.Equal(kinds, ForSwarms()) {
		return "all"
	}
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = kind.String()
	}
	return strings.Join(names, ", ")
}

func kindNamed(word string) (Kind, error) {
	all := ForSwarms()
	names := make([]string, len(all))
	for i, kind := range all {
		if names[i] = kind.String(); names[i] == word {
			return kind, nil
		}
	}
	message := fmt.Sprintf("%q is no kind of fault that can be drawn", abbreviate(word))
	if near := nearest(word, names); near != "" {
		return 0, fmt.Errorf("%s; did you mean %q?", message, near)
	}
	return 0, fmt.Errorf("%s: want all, or of %s", message, strings.Join(names, ", "))
}

// drawing draws the faults of one kind.
type drawing struct {
	Swarm
	stream   Stream
	shortest time.Duration
}

// fault draws one fault.
func (d *drawing) fault(kind Kind) Fault {
	f := Fault{Kind: kind}
	switch kind {
	case Crash, CancelCall, ExpireSession, StarveTimers, ReorderTimers, Restart:
		f.Node = d.client()
	case Down:
		f.Node = d.server()
	case Pause, ClockStep, ClockOffset, ClockDrift, ClockJitter, ClockUnit:
		if f.Node = d.client(); d.oneOf(4) {
			f.Node = d.server()
		}
	default:
		f.Link = Link{From: d.client(), To: d.server()}
	}
	switch kind {
	case Pause, Down, Slow, Cut, StarveTimers, ReorderTimers:
		f.For = d.span()
	}
	switch kind {
	case Slow, DelayRequest, DelayReply, DelayEvent, RepeatEvent, ClockJitter:
		f.By = d.span()
	case ClockStep, ClockOffset:
		f.By = d.either(d.span())
	case ClockUnit:
		f.By = d.wide(time.Duration(unit.least), time.Duration(unit.most))
	case ClockDrift:
		f.Drift = int64(d.either(d.wide(1, time.Duration(-rate.least))))
	case FailScript:
		f.Count = d.stream.Between(1, 4)
	case CancelCall:
		f.Timeout = d.oneOf(2)
	case Restart:
		f.Identity = Identity(d.stream.Between(int64(SameIdentity), int64(NewIdentity)))
	}
	switch kind {
	case Crash, LoseRequest, LoseReply, Cut:
		f.Manner = Manner(d.stream.Between(int64(Reset), int64(Silent)))
	}
	if kind == Slow || kind == Cut {
		d.turn(&f.Link)
	}
	f.When = When{d.trigger(f)}
	return f
}

// turn makes a link of a client and its server a direction of either kind, or both.
func (d *drawing) turn(l *Link) {
	switch d.stream.Between(1, 3) {
	case 1:
		l.From, l.To = l.To, l.From
	case 2:
		l.Both = true
	}
}

// trigger draws the moment: a time, the end of a lease or a tick beside it, or a request of somebody.
func (d *drawing) trigger(f Fault) Trigger {
	switch draw := d.stream.Between(1, 6); {
	case draw <= 2:
		at := time.Duration(d.stream.Between(0, int64(max(d.Horizon, 0))))
		return Trigger{Moment: AtTime, At: readable(at)}
	case draw == 3:
		t := Trigger{Moment: AtDeadline, Node: Holder, Nth: d.nth(), At: time.Duration(d.stream.Between(-1, 1)) * tick}
		return t
	}
	t := Trigger{Moment: BeforeRequest, Node: f.Link.From, Command: AnyCommand, Nth: d.nth()}
	if !f.Kind.StrikesRequest() && d.oneOf(2) {
		t.Moment = AfterExecution
	}
	if !f.Kind.StrikesRequest() && !f.Kind.StrikesReply() && !f.Kind.StrikesEvent() {
		t.Node = d.client()
	}
	return t
}

// tick is the unit in which servers count leases.
const tick = time.Millisecond

// nth draws a place in a sequence, near its beginning more often than far from it.
func (d *drawing) nth() int64 { return d.stream.Between(1, 1<<d.stream.Between(0, 6)) }

// client draws a client, or the role of one.
func (d *drawing) client() NodeRef {
	if d.oneOf(3) || len(d.Clients) == 0 {
		return roles[d.stream.Between(0, int64(len(roles)-1))]
	}
	return NodeRef(d.Clients[d.stream.Between(0, int64(len(d.Clients)-1))])
}

func (d *drawing) server() NodeRef {
	return NodeRef(d.Servers[d.stream.Between(0, int64(len(d.Servers)-1))])
}

// span draws how long something takes.
func (d *drawing) span() time.Duration { return d.wide(d.shortest, max(4*d.Lease, d.shortest)) }

// wide draws a number of which each order of magnitude is as likely as any other.
func (d *drawing) wide(low, high time.Duration) time.Duration {
	doublings := int64(bits.Len64(uint64(high/low))) - 1
	from := low << d.stream.Between(0, doublings)
	return max(readable(time.Duration(d.stream.Between(int64(from), int64(min(2*from, high))))), low)
}

func (d *drawing) either(t time.Duration) time.Duration {
	if d.oneOf(2) {
		return -t
	}
	return t
}

func (d *drawing) oneOf(n int64) bool { return d.stream.Between(1, n) == 1 }

// readable drops digits that nobody reads.
func readable(t time.Duration) time.Duration {
	for _, unit := range []time.Duration{time.Millisecond, time.Microsecond} {
		if t >= 100*unit {
			return t.Truncate(unit)
		}
	}
	return t
}
