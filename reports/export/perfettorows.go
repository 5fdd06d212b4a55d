package export

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// eventArguments is what an event of the history says, as far as it says something.
func eventArguments(e *checker.Event) arguments {
	var about arguments
	about.number("event", e.Index)
	about.text("command", e.Command)
	about.text("value", e.Value)
	about.text("error", e.Error)
	about.text("by", e.Node)
	about.text("owner", e.Owner)
	about.number("levels", e.Count)
	about.number("token", e.Token)
	about.number("deadline_ns", int64(e.Deadline))
	if e.F == checker.Applied {
		about = append(about, argument{"accepted", e.Accepted})
	}
	about = append(about, recordArguments("before_", e.Previous)...)
	return append(about, recordArguments("now_", e.Record)...)
}

// recordArguments is what a lock's record says.
func recordArguments(when string, r *checker.Record) arguments {
	var about arguments
	if r != nil {
		about.text(when+"owner", r.Owner)
		about = append(about, argument{when + "levels", r.Count})
		about.number(when+"expires_ms", r.Expires)
		about.number(when+"clock_ms", r.Now)
	}
	return about
}

// addRows adds what happened at one instant: on servers, to machines, and to all.
func (t *tracer) addRows() {
	for i := range t.run.History.Events {
		e := &t.run.History.Events[i]
		lane := t.laneOf(e)
		on := func(title string) thread { return thread{lane: lane, title: title} }
		switch {
		case e.F == checker.RecordSet || e.F == checker.RecordGone:
			t.mark(on(recordThread), t.label(e), "record", e.Time, eventArguments(e))
		case e.F == checker.Served:
			t.mark(on(recordThread), fmt.Sprintf("call %d: %s", e.Call, e.Type), "decision", e.Time, eventArguments(e))
		case e.F == checker.Request:
			t.mark(on(recordThread), named(e.Command, e.Value), "request", e.Time, eventArguments(e))
		case e.F == checker.Applied:
			t.mark(on(writesThread), t.label(e), "write", e.Time, eventArguments(e))
		case e.F == checker.FaultApplied:
			t.mark(on(faultThread), cmp.Or(e.Command, "fault"), "fault", e.Time, eventArguments(e))
		case e.F == checker.Healed || e.F == checker.WorkloadEnd:
			t.mark(thread{lane: spacetime.None, title: faultThread}, t.label(e), "phase", e.Time, eventArguments(e))
		case !byClient(e): // a fact that is not known here
			t.mark(on(recordThread), named(e.F, e.Key), "record", e.Time, eventArguments(e))
		}
	}
	// Viewers show nothing of an event without a name.
	for i := range t.run.Page.Events {
		e := &t.run.Page.Events[i]
		switch e.Kind {
		case spacetime.Timer:
			t.mark(thread{lane: e.Lane, title: timerThread}, cmp.Or(e.Label, "timer"), "timer", e.Time, entryArguments(e))
		case spacetime.Node:
			t.mark(thread{lane: e.Lane, title: machineThread}, cmp.Or(e.Label, "machine"), "machine", e.Time, entryArguments(e))
		case spacetime.Note:
			if e.Entry != 0 {
				t.mark(thread{lane: e.Lane, title: machineThread}, cmp.Or(e.Label, "note"), "note", e.Time, entryArguments(e))
			}
		}
	}
}

// label is what the page calls an event of the history. One that it shows together with another is told in full.
func (t *tracer) label(e *checker.Event) string {
	if row, shown := t.row[e.Index]; shown && t.run.Page.Events[row].Label != "" {
		return t.run.Page.Events[row].Label
	}
	return named(e.F, e.Key)
}

func entryArguments(e *spacetime.Event) arguments {
	var about arguments
	about.text("text", e.Detail)
	if e.Entry != 0 {
		about = append(about, argument{"entry", e.Entry})
	}
	return about
}

// widest is how wide a message is drawn where there is room: it lasts no time, and could not be seen.
const widest = 20 * time.Microsecond

// addMessages adds what went over the network: a slice where it left and one where it came or was lost, and a flow from
// the one to the other. What left at the instant at which something came is drawn inside of it.
func (t *tracer) addMessages() {
	arrivals := map[int][]int{} // of each sending: the rows where it ended
	next := t.messageTimes()
	for i := range t.run.Page.Events {
		e := &t.run.Page.Events[i]
		if cause := e.Cause; e.Kind == spacetime.Deliver || e.Kind == spacetime.Drop {
			if cause != spacetime.None && t.run.Page.Events[cause].Kind == spacetime.Send {
				arrivals[cause] = append(arrivals[cause], i)
			}
		}
	}
	place := map[int]int{} // of each lane: how many messages of this instant came before
	last := map[int]time.Duration{}
	for i := range t.run.Page.Events {
		e := &t.run.Page.Events[i]
		title, isMessage := messageTitles[e.Kind]
		if !isMessage {
			continue
		}
		if at, known := last[e.Lane]; !known || at != e.Time {
			last[e.Lane], place[e.Lane] = e.Time, 0
		}
		width := min(widest, next[i]) - time.Duration(place[e.Lane])
		place[e.Lane]++
		on := thread{lane: e.Lane, title: networkThread}
		t.slice(on, title+e.Label, "message", e.Time, e.Time+max(width, 1), t.messageArguments(e))
		for _, to := range arrivals[i] {
			t.add(on, event{Name: "message", Category: "message", Phase: flowStart, At: moment(e.Time), ID: flowID(to)})
		}
		if cause := e.Cause; cause != spacetime.None && slices.Contains(arrivals[cause], i) {
			t.add(on, event{
				Name: "message", Category: "message", Phase: flowEnd, At: moment(e.Time), ID: flowID(i), Binding: "e",
			})
		}
	}
}

func flowID(row int) string { return "message-" + strconv.Itoa(row) }

// messageTitles begin the names of messages; what is lost says so itself.
var messageTitles = map[spacetime.Kind]string{
	spacetime.Send: "send ", spacetime.Deliver: "receive ", spacetime.Drop: "",
}

// messageTimes is, for each row that is a message, how long it is until the next on its lane at a later time.
func (t *tracer) messageTimes() map[int]time.Duration {
	next := map[int]time.Duration{}
	later := map[int]time.Duration{} // of each lane: the earliest time after the current one
	current := map[int]time.Duration{}
	for i, e := range slices.Backward(t.run.Page.Events) {
		if _, isMessage := messageTitles[e.Kind]; !isMessage {
			continue
		}
		if at, known := current[e.Lane]; known && at != e.Time {
			later[e.Lane] = at
		}
		current[e.Lane] = e.Time
		next[i] = widest
		if at, known := later[e.Lane]; known {
			next[i] = at - e.Time
		}
	}
	return next
}

func (t *tracer) messageArguments(e *spacetime.Event) arguments {
	var about arguments
	if e.Peer != spacetime.None {
		about.text(map[bool]string{true: "to", false: "from"}[e.Kind == spacetime.Send], t.run.Page.Lanes[e.Peer].Name)
	}
	return append(about, entryArguments(e)...)
}

// step is a change of a number at some time.
type step struct {
	at     time.Duration
	change int64
}

// addCounts adds how many believed to hold each lock, and how many waited for it.
func (t *tracer) addCounts() {
	holders, waiters := map[string][]step{}, map[string][]step{}
	var locks []string
	for _, c := range checker.Claims(t.run.History) {
		holders[c.Lock] = append(holders[c.Lock], step{c.Start, 1}, step{c.End, -1})
	}
	waiting := map[int]string{}
	for i := range t.run.History.Events {
		e := &t.run.History.Events[i]
		asks := e.F == checker.Acquire || e.F == checker.TryAcquire
		if key, waits := waiting[e.Process]; waits && (e.F == checker.Crash || asks && e.Type != checker.Invoke) {
			waiters[key] = append(waiters[key], step{e.Time, -1})
			delete(waiting, e.Process)
		}
		if asks && e.Type == checker.Invoke {
			if !slices.Contains(locks, e.Key) {
				locks = append(locks, e.Key)
			}
			waiting[e.Process] = e.Key
			waiters[e.Key] = append(waiters[e.Key], step{e.Time, 1})
		}
	}
	for _, lock := range locks {
		t.addCount("holders of "+lock, "holders", holders[lock])
		t.addCount("waiters for "+lock, "waiters", waiters[lock])
	}
}

// addCount adds one number over time, once for each time at which it changes.
func (t *tracer) addCount(name, unit string, steps []step) {
	slices.SortStableFunc(steps, func(a, b step) int { return int(min(max(a.at-b.at, -1), 1)) })
	if len(steps) == 0 || steps[0].at > 0 {
		t.count(spacetime.None, name, unit, "count", 0, 0)
	}
	now, shown := int64(0), int64(0)
	for i, s := range steps {
		now += s.change
		if last := i+1 == len(steps) || steps[i+1].at != s.at; last && now != shown {
			t.count(spacetime.None, name, unit, "count", s.at, now)
			shown = now
		}
	}
}

func (t *tracer) count(lane int, name, unit, category string, at time.Duration, value int64) {
	t.events = append(t.events, event{
		Name: name, Category: category, Phase: counter, At: moment(at), Process: pid(lane),
		Arguments: arguments{{unit, value}},
	})
}

// addClocks adds by how much the clock of each machine is ahead. The engine's trace knows best; without it there is
// only what machines have read, to the precision of their clocks.
func (t *tracer) addClocks() {
	traced := slices.ContainsFunc(t.run.Page.Events, func(e spacetime.Event) bool { return e.Entry != 0 })
	shown := map[int]time.Duration{}
	for i := range t.run.Page.Events {
		e := &t.run.Page.Events[i]
		if !e.SkewKnown || e.Lane == spacetime.None || traced != (e.Entry != 0) {
			continue
		}
		if before, known := shown[e.Lane]; known && before == e.Skew {
			continue
		}
		shown[e.Lane] = e.Skew
		t.count(e.Lane, "clock ahead of true time", "ns", "clock", e.Time, int64(e.Skew))
	}
}
