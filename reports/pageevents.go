package reports

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// addEvents merges the trace and the history into the events of the page. Both tell true time. Within one instant an
// event of the history comes after what led to it and before what it led to: an answer after the message that brought
// it, a call before the message that it sends, a fact after the request that was executed.
func (m *pageMaker) addEvents() {
	w := &weaver{pageMaker: m, rowOf: make(map[uint64]int, len(m.entries)), input: map[int]int{}, latest: map[int]int{}}
	for e, h := 0, 0; e < len(m.entries) || h < len(m.events); {
		at := w.earliest(e, h)
		toE, toH := e, h
		for toE < len(m.entries) && m.entries[toE].Time == at {
			toE++
		}
		for toH < len(m.events) && m.events[toH].Time == at {
			toH++
		}
		w.instant(e, toE, h, toH)
		e, h = toE, toH
	}
}

// weaver merges trace and history, one instant after the other.
type weaver struct {
	*pageMaker
	rowOf  map[uint64]int // of each entry, by its index
	input  map[int]int    // of each lane: the row of what last came in there
	latest map[int]int    // of each lane: the last row of this instant after which a message can be sent
	record int            // the row of the last fact about the record, plus 1
}

func (w *weaver) earliest(e, h int) time.Duration {
	switch {
	case e == len(w.entries):
		return w.events[h].Time
	case h == len(w.events):
		return w.entries[e].Time
	}
	return min(w.entries[e].Time, w.events[h].Time)
}

// instant adds what happened at one instant: entries from e to toE, events from h to toH.
func (w *weaver) instant(e, toE, h, toH int) {
	clear(w.latest)
	slot := e
	for ; h < toH; h++ {
		slot = max(slot, w.slot(h, e, toE))
		for ; e < slot; e++ {
			w.addEntry(&w.entries[e])
		}
		w.addEvent(h, e, toE)
	}
	for ; e < toE; e++ {
		w.addEntry(&w.entries[e])
	}
}

// slot is the position of the entry before which an event of the history belongs.
func (w *weaver) slot(h, from, to int) int {
	event := &w.events[h]
	lane := w.laneOf(event)
	after, before := none, none
	for k := from; k < to; k++ {
		x := &w.entries[k]
		switch kind := x.KindOf(); {
		case event.F == checker.FaultApplied || event.F == checker.Healed:
			if kind == spacetime.Node {
				return k
			}
		case kind == spacetime.Send:
			if w.lane(x.From) == lane && before == none {
				before = k
			}
		case w.placeOf(x) != lane:
		case event.Process == checker.ProcessServer && kind == spacetime.Deliver && x.From != event.Node:
		default:
			after = k + 1
		}
	}
	switch {
	case after != none:
		return after
	case before != none:
		return before
	}
	return from
}

// placeOf is the lane on which an entry happened.
func (m *pageMaker) placeOf(x *spacetime.Entry) int {
	switch x.KindOf() {
	case spacetime.Deliver, spacetime.Drop:
		return m.lane(x.To)
	default:
		return m.lane(x.From)
	}
}

// laneOf is the lane on which an event of the history happened.
func (m *pageMaker) laneOf(e *checker.Event) int {
	switch {
	case e.F == checker.Applied:
		return m.lane(e.Key)
	case isFact(e) || e.F == checker.Request || e.F == checker.Served:
		return m.server
	case e.Process >= 0:
		return m.processLane(e.Process)
	case e.Node == "" && e.F == checker.FaultApplied:
		return m.sender(strings.Fields(e.Command))
	}
	return m.lane(e.Node)
}

// sender is the lane of the client whose message a fault picks, none if it is about something else.
func (m *pageMaker) sender(words []string) int {
	if kind := first(words); kind != "lose" && kind != "delay" {
		return spacetime.None
	}
	client, _ := ends(words, ">")
	return m.lane(client)
}

// add adds a row and returns its number.
func (w *weaver) add(e spacetime.Event) int {
	row := len(w.page.Events)
	w.page.Events = append(w.page.Events, e)
	switch e.Kind {
	case spacetime.Deliver, spacetime.Timer, spacetime.Node:
		w.input[e.Lane] = row
		w.latest[e.Lane] = row
	case spacetime.Call, spacetime.OK, spacetime.Refused, spacetime.Unknown, spacetime.Record, spacetime.Applied:
		if _, led := w.latest[e.Lane]; led {
			w.latest[e.Lane] = row
		}
	}
	return row
}

func (w *weaver) addEntry(x *spacetime.Entry) {
	e := spacetime.Event{
		Time: x.Time, Kind: x.KindOf(), Lane: w.placeOf(x), Peer: w.lane(x.To), Cause: spacetime.None, Entry: x.Index,
		Label: w.messageWords(x), Detail: clip(x.Text),
	}
	e.Skew, e.SkewKnown = x.Skew, e.Lane != spacetime.None
	e.Control = e.Kind <= spacetime.Drop && connection[strings.SplitN(x.Text, ":", 2)[0]]
	if row, known := w.rowOf[x.Cause]; known {
		e.Cause = row
	}
	switch e.Kind {
	case spacetime.Deliver, spacetime.Drop:
		e.Peer = w.lane(x.From)
	case spacetime.Node:
		e.Bent = strings.Contains(x.Text, "clock ")
		if last := len(w.page.Events) - 1; last >= 0 && w.page.Events[last].Kind == spacetime.Fault &&
			w.page.Events[last].Time == x.Time {
			if fault := &w.page.Events[last]; fault.Cause == spacetime.None {
				fault.Cause = e.Cause
			}
			e.Cause = last
		}
	case spacetime.Send:
		// What the machine did at this instant stands between what came in and what it sent.
		if row, known := w.latest[e.Lane]; known && e.Cause != spacetime.None && w.page.Events[e.Cause].Time == x.Time &&
			w.page.Events[e.Cause].Lane == e.Lane {
			e.Cause = max(e.Cause, row)
		}
	}
	w.rowOf[x.Index] = w.add(e)
}

// connection is what messages say that only open or end a connection.
var connection = map[string]bool{"open": true, "opened": true, "end": true, "reset": true}

// messageWords is the label of an entry.
func (m *pageMaker) messageWords(x *spacetime.Entry) string {
	text := x.Text
	if x.KindOf() == spacetime.Drop {
		return "lost: " + spacetime.Shorten(text[strings.LastIndex(text, ": ")+1:])
	}
	label, known := m.words[text]
	if !known {
		label = spacetime.Shorten(m.readable(spacetime.Words(text)))
		m.words[text] = label
	}
	return label
}

// storedRecord matches the record that the locks on Redis keep in a key, as it goes over the network.
var storedRecord = regexp.MustCompile(
	`\{"count":(\d{1,9}),"expires":(\d{1,15}),"jvmPid":(\d{1,10}),"mac":"([0-9A-F-]{17})","threadId":(\d{1,10})\}`)

// instantText matches a time in Unix milliseconds that is all that a message says.
var instantText = regexp.MustCompile(`^\s*(\d{12,14})\s*$`)

// readable puts names in the place of identities, and times of the run in the place of Unix times.
func (m *pageMaker) readable(text string) string {
	if strings.Contains(text, `"jvmPid"`) {
		return storedRecord.ReplaceAllStringFunc(text, func(match string) string {
			part := storedRecord.FindStringSubmatch(match)
			owner := part[4] + "/" + part[3] + "/" + part[5]
			expires, _ := strconv.ParseInt(part[2], 10, 64)
			return "‹" + m.c.ownerName(&checker.Record{Owner: owner}, none) + " ×" + part[1] + " " +
				m.lasts(&checker.Record{Expires: expires}, 0) + "›"
		})
	}
	if part := instantText.FindStringSubmatch(text); part != nil && m.c.clocks.known {
		unix, _ := strconv.ParseInt(part[1], 10, 64)
		return "it is " + seconds(m.c.clocks.ofMilliseconds(unix))
	}
	return text
}

// longestDetail is how many bytes of a message the page keeps.
const longestDetail = 4096

func clip(text string) string {
	if len(text) <= longestDetail {
		return text
	}
	return strings.ToValidUTF8(text[:longestDetail], "") + fmt.Sprintf("… (%d bytes in all)", len(text))
}

// addEvent adds an event of the history; the entries from next to end of this instant are still to come.
func (w *weaver) addEvent(h, next, end int) {
	e := &w.events[h]
	lane := w.laneOf(e)
	row := spacetime.Event{
		Time: e.Time, Lane: lane, Peer: spacetime.None, Cause: spacetime.None, Index: e.Index, Detail: clip(eventDetail(e)),
	}
	row.Kind, row.Label = w.eventWords(h)
	if w.fold(e, lane) {
		w.row[h] = len(w.page.Events) - 1
		return
	}
	switch {
	case e.Process >= 0 && e.F != checker.Applied:
		row.Cause = w.lastInput(lane)
	case e.F == checker.FaultApplied:
		if row.Cause = w.lastNow(e); next < end && w.entries[next].KindOf() == spacetime.Node {
			row.Cause = spacetime.None // that of the entry, which is its doing
		}
	case e.F == checker.RecordGone && e.Node == "":
		row.Cause = w.record - 1
	default:
		row.Peer = w.lane(e.Node)
		if cause := w.lastInput(lane); cause != spacetime.None && w.page.Events[cause].Time == e.Time {
			row.Cause = cause
		}
	}
	if row.SkewKnown = lane != spacetime.None; row.SkewKnown {
		row.Skew, row.SkewKnown = w.clockAt(e)
	}
	row.Bent = e.F == checker.FaultApplied && first(strings.Fields(e.Command)) == "clock"
	if cause := row.Cause; cause != spacetime.None && lane != spacetime.None && !row.Bent {
		if c := &w.page.Events[cause]; c.Time == e.Time && c.Lane == lane && c.Entry != 0 {
			row.Skew, row.SkewKnown = c.Skew, c.SkewKnown
		}
	}
	w.row[h] = w.add(row)
	if isFact(e) {
		w.record = w.row[h] + 1
	}
}

// fold puts what the history tells once more into the row that has just been added: what a server made of a request
// into that of its arrival or of the record that it changed, the end of a client into that of its machine.
func (w *weaver) fold(e *checker.Event, lane int) bool {
	last := len(w.page.Events) - 1
	if last < 0 || w.page.Events[last].Time != e.Time || w.page.Events[last].Lane != lane {
		return false
	}
	row := &w.page.Events[last]
	switch {
	case e.F == checker.Served:
		row.Detail += "\n" + servedText(e)
		return true
	case row.Index != 0:
		return false
	case e.F == checker.Request && e.Command != "event" && row.Kind == spacetime.Deliver && row.Peer == w.lane(e.Node):
	case e.F == checker.Crash && row.Kind == spacetime.Node:
	default:
		return false
	}
	row.Index = e.Index
	row.Detail += "\n" + eventDetail(e)
	return true
}

// lastInput is the last row at which something came in on a lane.
func (w *weaver) lastInput(lane int) int {
	if row, known := w.latest[lane]; known {
		return row
	}
	if row, known := w.input[lane]; known {
		return row
	}
	return spacetime.None
}

// lastNow is the last row of this instant, none if there is none: a fault strikes because of what has just happened.
func (w *weaver) lastNow(e *checker.Event) int {
	if last := len(w.page.Events) - 1; last >= 0 && w.page.Events[last].Time == e.Time {
		return last
	}
	return spacetime.None
}

// eventWords says what an event of the history is, in a few words.
func (m *pageMaker) eventWords(h int) (spacetime.Kind, string) {
	e := &m.events[h]
	kind, label := spacetime.Belief, ""
	switch e.F {
	case checker.RecordSet, checker.RecordGone:
		kind, label = spacetime.Record, m.recordLabel(h)
	case checker.Request:
		kind, label = spacetime.Note, strings.TrimSpace(e.Command+" "+e.Value+" "+e.Error)
	case checker.Served:
		kind, label = spacetime.Note, servedText(e)
	case checker.Applied:
		kind, label = spacetime.Applied, "write"+by(e.Node)+map[bool]string{true: " accepted", false: " refused"}[e.Accepted]
	case checker.FaultApplied:
		kind, label = spacetime.Fault, faultLabel(e.Command, e.Node)
	case checker.Healed:
		kind, label = spacetime.Phase, "all faults end"
	case checker.WorkloadEnd:
		kind, label = spacetime.Phase, "the workload ends"
	case checker.Lost:
		label = "is told: " + e.Key + " is lost"
	case checker.Renew:
		label = "hold extended"
	case checker.Crash:
		label = "crashed"
	default:
		kind, label = m.callLabel(e)
	}
	return kind, spacetime.Shorten(label)
}

// servedText says what the server decided.
func servedText(e *checker.Event) string {
	return fmt.Sprintf("decides call %d: %s", e.Call, map[bool]string{true: "done", false: "no"}[e.Type == checker.OK])
}

func by(node string) string {
	if node == "" {
		return ""
	}
	return " of " + node
}

func (m *pageMaker) recordLabel(h int) string {
	e := &m.events[h]
	switch {
	case e.F == checker.RecordGone && e.Command == checker.CommandExpire:
		return "record expired"
	case e.F == checker.RecordGone:
		return "record gone by " + e.Command
	case e.Record == nil:
		return "record set"
	}
	label := "‹" + m.c.ownerName(e.Record, h) + fmt.Sprintf(" ×%d", e.Record.Count)
	if e.Record.Expires != 0 {
		label += " " + m.lasts(e.Record, e.Time)
	}
	return label + "›"
}

// lasts is the end of a record's lease in few characters.
func (m *pageMaker) lasts(r *checker.Record, at time.Duration) string {
	return strings.Replace(m.c.clocks.until(r, at), "until ", "→ ", 1)
}

// callVerbs say what the operations of clients are.
var callVerbs = map[string]string{
	checker.Acquire: "lock", checker.TryAcquire: "try", checker.Release: "unlock", checker.Write: "write",
}

func (m *pageMaker) callLabel(e *checker.Event) (spacetime.Kind, string) {
	verb := callVerbs[e.F]
	if verb == "" {
		verb = e.F
	}
	what := strings.TrimSpace(verb + " " + e.Key)
	switch e.Type {
	case checker.Invoke:
		if e.Wait > 0 {
			what += " for " + seconds(e.Wait)
		}
		return spacetime.Call, what
	case checker.Fail:
		if e.F == checker.Release {
			return spacetime.Refused, what + ": not the owner"
		}
		return spacetime.Refused, what + ": refused"
	case checker.Info:
		return spacetime.Unknown, what + ": unknown, " + e.Error
	}
	switch {
	case acquires(e) && e.Count > 1:
		return spacetime.OK, fmt.Sprintf("has %s ×%d%s", e.Key, e.Count, tokenWords(e.Token))
	case acquires(e):
		return spacetime.OK, "has " + e.Key + tokenWords(e.Token)
	case e.F == checker.Write && !e.Accepted:
		return spacetime.OK, what + ": turned away"
	}
	return spacetime.OK, what + ": done"
}

// eventDetail is all that the history says of an event, one thing a line.
func eventDetail(e *checker.Event) string {
	var lines []string
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	add("what", string(e.Type)+" "+e.F)
	add("key", e.Key)
	add("command", e.Command)
	add("value", e.Value)
	add("error", e.Error)
	add("owner", e.Owner)
	if e.Count != 0 {
		add("levels", strconv.FormatInt(e.Count, 10))
	}
	if e.Token != 0 {
		add("token", strconv.FormatInt(e.Token, 10))
	}
	if e.Deadline != 0 {
		add("deadline", seconds(e.Deadline)+" of true time")
	}
	add("record before", recordDetail(e.Previous))
	add("record now", recordDetail(e.Record))
	return strings.Join(lines, "\n")
}

func recordDetail(r *checker.Record) string {
	if r == nil {
		return ""
	}
	text := fmt.Sprintf("owner %s, levels %d", r.Owner, r.Count)
	if r.Expires != 0 {
		text += fmt.Sprintf(", expires %d", r.Expires)
	}
	if r.Now != 0 {
		text += fmt.Sprintf(", its clock shows %d", r.Now)
	}
	return text
}
