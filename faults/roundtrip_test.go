package faults

import (
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// roundTrips is how many random plans TestPlanRoundTrip tries. The long run is
//
//	go test ./faults -run TestPlanRoundTrip -faults.roundtrips 1000000 -timeout 1h
var roundTrips = flag.Int("faults.roundtrips", 20_000, "how many random plans are written and read back")

// checkTimes is rapid.Check with its number of checks set for this test alone, unless the user set it.
func checkTimes(t *testing.T, times int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if checks.Value.String() == checks.DefValue {
		if testing.Short() {
			times = min(times, 1000)
		}
		if err := checks.Value.Set(strconv.Itoa(times)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = checks.Value.Set(checks.DefValue) }()
	}
	rapid.Check(t, property)
}

// TestRoundTrip writes random faults of every kind and reads them back.
func TestRoundTrip(t *testing.T) {
	checkTimes(t, 20_000, func(t *rapid.T) {
		fault := drawFault(t)
		text := fault.String()
		back, err := Parse(text)
		if err != nil {
			t.Fatalf("%q does not parse: %v", text, err)
		}
		if !back.Equal(fault) {
			t.Fatalf("%q parses to another fault:\n got %#v\nwant %#v", text, back, fault)
		}
	})
}

// TestPlanRoundTrip writes random plans and reads them back.
func TestPlanRoundTrip(t *testing.T) {
	checkTimes(t, *roundTrips, func(t *rapid.T) {
		plan := Plan(rapid.SliceOfN(rapid.Custom(drawFault), 0, 6).Draw(t, "plan"))
		back, err := ParsePlan(plan.String())
		if err != nil {
			t.Fatalf("%v in\n%s", err, plan)
		}
		if !equalPlans(back, plan) {
			t.Fatalf("got\n%swant\n%s", back, plan)
		}
	})
}

func equalPlans(a, b Plan) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}

// TestTemplateRoundTrip widens random faults to templates, writes and reads them, and draws from what was read: the
// fault has to be a valid one that lies between the ends.
func TestTemplateRoundTrip(t *testing.T) {
	checkTimes(t, 20_000, func(t *rapid.T) {
		template := drawTemplate(t)
		back, err := ParseTemplate(template.String())
		if err != nil {
			t.Fatalf("%q does not parse: %v", template, err)
		}
		if !back.Equal(template) {
			t.Fatalf("%q parses to another template:\n got %#v\nwant %#v", template, back, template)
		}
		fault, in := back.Draw(rapidStream{t})
		if !in {
			if back.Odds() == (Odds{}) {
				t.Fatalf("%q has no odds but drew nothing", template)
			}
			return
		}
		if err := fault.Check(); err != nil {
			t.Fatalf("%q drew an invalid fault: %v", template, err)
		}
		low, high := template.Low(), template.High()
		lows, highs := values(&low), values(&high)
		for i, drawn := range values(&fault) {
			if *drawn.number < *lows[i].number || *drawn.number > *highs[i].number {
				t.Fatalf("%q drew %q: number %d is not in its range", template, fault, i)
			}
		}
	})
}

// rapidStream lets rapid choose what a template draws, so that a failure shrinks.
type rapidStream struct{ t *rapid.T }

func (s rapidStream) Between(low, high int64) int64 {
	return rapid.Int64Range(low, high).Draw(s.t, "draw")
}

var (
	nodeNames = rapid.OneOf(rapid.SampledFrom([]string{
		"c1", "redis", "holder", "waiter", "next", "at", "or", "on",
	}), names)
	names        = rapid.StringMatching(`[A-Za-z][A-Za-z0-9_.]{0,8}`)
	commandNames = rapid.OneOf(rapid.SampledFrom([]string{"*", "GETSET", "AND", "OR", "-", "/"}),
		rapid.StringMatching(`[A-Z0-9/-]{1,8}`))
)

func drawNode(t *rapid.T, label string) NodeRef {
	ref, _ := nodeRef(nodeNames.Draw(t, label))
	return ref
}

// drawNumber draws a value of a quantity: often a round one, often an end of its range.
func drawNumber(t *rapid.T, label string, q quantity) int64 {
	unit := rapid.SampledFrom([]int64{1, 1e3, 1e6, 1e9, 60e9, 3600e9}).Draw(t, label+" unit")
	if !q.duration {
		unit = 1
	}
	low, high := q.least/unit, q.most/unit
	if low*unit < q.least {
		low++
	}
	return unit * rapid.Int64Range(low, high).Draw(t, label)
}

// drawFault makes a valid fault without help from the grammar, so that each can tell on the other.
func drawFault(t *rapid.T) Fault {
	f := Fault{Kind: rapid.SampledFrom(Kinds()).Draw(t, "kind")}
	switch f.Kind {
	case Slow, Cut, LoseRequest, LoseReply, DelayRequest, DelayReply, DelayEvent, LoseEvent, RepeatEvent, FailScript:
		f.Link = drawLink(t, f.Kind == Slow || f.Kind == Cut)
	default:
		f.Node = drawNode(t, "node")
	}
	switch f.Kind {
	case Crash, LoseRequest, LoseReply, Cut:
		f.Manner = rapid.SampledFrom([]Manner{Reset, Silent}).Draw(t, "manner")
	case Restart:
		f.Empty = rapid.Bool().Draw(t, "empty")
		if !f.Empty {
			f.Identity = rapid.SampledFrom([]Identity{SameIdentity, NewIdentity}).Draw(t, "identity")
		}
	case PresetCounter, AddPath, RemovePath:
		f.Path = rapid.StringMatching(`[!"$-~][!-~]{0,20}`).Draw(t, "path")
	case CancelCall:
		f.Timeout = rapid.Bool().Draw(t, "timeout")
	}
	f.List = f.Kind == AddPath && rapid.Bool().Draw(t, "list")
	for i, value := range values(&f) {
		if quantities := usedBy(f.Kind); quantities[i] != nil {
			*value.number = drawNumber(t, "number", *quantities[i])
		}
	}
	for range rapid.IntRange(1, maxAlternatives).Draw(t, "alternatives") {
		f.When = append(f.When, drawTrigger(t, f))
	}
	return f
}

// usedBy tells which of the numbers By, Drift, For and Count a kind uses, in the order of values.
func usedBy(kind Kind) [4]*quantity {
	switch kind {
	case Pause, Cut, Down, StarveTimers, ReorderTimers:
		return [4]*quantity{nil, nil, &length}
	case Slow:
		return [4]*quantity{&length, nil, &length}
	case DelayRequest, DelayReply, DelayEvent, RepeatEvent, RollBack:
		return [4]*quantity{&length}
	case ClockStep, ClockOffset:
		return [4]*quantity{&shift}
	case ClockJitter:
		return [4]*quantity{&spread}
	case ClockUnit:
		return [4]*quantity{&unit}
	case ClockDrift:
		return [4]*quantity{nil, &rate}
	case PresetCounter:
		return [4]*quantity{3: &count}
	case FailScript:
		return [4]*quantity{3: &ordinal}
	default:
		return [4]*quantity{}
	}
}

func drawLink(t *rapid.T, bothAllowed bool) Link {
	link := Link{From: drawNode(t, "from"), To: drawNode(t, "to")}
	if link.From == link.To {
		link.To += "x"
	}
	link.Both = bothAllowed && rapid.Bool().Draw(t, "both")
	return link
}

func drawTrigger(t *rapid.T, f Fault) Trigger {
	moments := []Moment{AtTime, AtDeadline, BeforeRequest, BetweenRequests, AfterExecution}
	if f.Kind.StrikesRequest() {
		moments = moments[:4]
	}
	trigger := Trigger{Moment: rapid.SampledFrom(moments).Draw(t, "moment")}
	if trigger.Moment == AtTime {
		if !rapid.Bool().Draw(t, "at start") {
			trigger.At = time.Duration(drawNumber(t, "at", instant))
		}
		return trigger
	}
	trigger.Node = drawNode(t, "on")
	if trigger.Moment == AtDeadline {
		if trigger.Node.IsRole() {
			trigger.Node = Holder
		}
		trigger.At = time.Duration(drawNumber(t, "at", shift))
		trigger.Nth = rapid.Int64Range(1, ordinal.most).Draw(t, "nth")
		return trigger
	}
	if f.Kind.StrikesRequest() || f.Kind.StrikesReply() {
		trigger.Node = f.Link.From
	}
	if trigger.Moment == BetweenRequests {
		trigger.Previous = commandNames.Draw(t, "previous")
	}
	trigger.Command = commandNames.Draw(t, "command")
	trigger.Nth = rapid.OneOf(rapid.Just(int64(1)), rapid.Int64Range(1, ordinal.most)).Draw(t, "nth")
	return trigger
}

// drawTemplate widens the numbers of a fault that are in use.
func drawTemplate(t *rapid.T) Template {
	template := Fixed(drawFault(t))
	quantities := usedBy(template.low.Kind)
	numbers := values(&template.high)
	for i := range quantities {
		if quantities[i] != nil {
			widen(t, numbers[i].number, *quantities[i])
		}
	}
	for i, trigger := range template.high.When {
		at, nth := numbers[4+2*i].number, numbers[5+2*i].number
		switch trigger.Moment {
		case AtTime:
			widen(t, at, instant)
		case AtDeadline:
			widen(t, at, shift)
			widen(t, nth, ordinal)
		default:
			widen(t, nth, ordinal)
		}
	}
	if rapid.Bool().Draw(t, "maybe") {
		template.odds.Total = rapid.Int64Range(1, maxOdds).Draw(t, "total")
		template.odds.Wins = rapid.Int64Range(1, template.odds.Total).Draw(t, "wins")
	}
	return template
}

func widen(t *rapid.T, number *int64, q quantity) {
	if rapid.Bool().Draw(t, "is range") {
		*number = rapid.Int64Range(*number, q.most).Draw(t, "end")
	}
}

// TestCheckRefusesFieldsThatTheKindDoesNotUse takes valid faults, sets a field that their kind does not use, and
// expects Check to say so.
func TestCheckRefusesFieldsThatTheKindDoesNotUse(t *testing.T) {
	checkTimes(t, 2000, func(t *rapid.T) {
		fault := drawFault(t)
		if err := fault.Check(); err != nil {
			t.Fatalf("a valid fault: %v", err)
		}
		broken := fault.clone()
		used := usedBy(fault.Kind)
		var spare []func()
		for i, value := range values(&broken)[:4] {
			if used[i] == nil {
				spare = append(spare, func() { *value.number = 7 })
			}
		}
		if fault.Kind != Restart {
			spare = append(spare, func() { broken.Empty = true }, func() { broken.Identity = NewIdentity })
		}
		if fault.Kind != CancelCall {
			spare = append(spare, func() { broken.Timeout = true })
		}
		if fault.Kind != AddPath {
			spare = append(spare, func() { broken.List = true })
		}
		if fault.Node == "" {
			spare = append(spare, func() { broken.Node = "c1" })
		} else {
			spare = append(spare, func() { broken.Link.To = "c1" })
		}
		spare = append(spare, func() { broken.When = nil })
		rapid.SampledFrom(spare).Draw(t, "field")()
		if broken.Check() == nil {
			t.Fatalf("%s of %+v passes Check", fmt.Sprint(broken), broken)
		}
	})
}
