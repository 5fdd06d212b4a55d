package checker

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"

	"github.com/anishathalye/porcupine"

	"github.com/lockstep-sim/lockstep/checker/model"
)

// Bounds of a page: beyond so many operations a browser is slow and a reader lost.
const (
	mostOnPage    = 2000
	contextOnPage = 4 // holds that are shown before the violation
)

// WritePage writes Porcupine's interactive page of the piece of history around a violation, as HTML: who called what
// and when, which orders fit and where they end. The page also shows what clients believed, what ended by itself and
// which faults struck.
//
// The piece begins at a point at which the lock was surely held, a few holds before the violation, and ends with it.
// The options are those of the Check that found the violation.
func WritePage(w io.Writer, h *History, options Options, v *Violation) error {
	p, err := newPage(h, options, v.Key)
	if err != nil {
		return err
	}
	if len(v.Events) == 0 {
		return errors.New("page: the violation names no events to show")
	}
	p.violation = v
	if err := p.cut(); err != nil {
		return err
	}
	return p.write(w)
}

// WriteLockPage writes Porcupine's page of a lock whose answers fit, as WritePage does of one whose answers do not:
// from the beginning, as many operations as a page shows. It is an error when Porcupine finds no order in which they
// fit, or not within Options.PorcupineSteps.
func WriteLockPage(w io.Writer, h *History, options Options, lock string) error {
	p, err := newPage(h, options, lock)
	if err != nil {
		return err
	}
	p.begin()
	return p.write(w)
}

// page is a piece of history that is made into a page.
type page struct {
	a           *analysis
	log         *lockLog
	options     Options
	judge       *linearizer
	violation   *Violation // nil when there is none
	lock        model.Model
	start       model.State
	steps       []step
	first, last int // positions
	rows        map[int]int
}

// newPage takes the history apart. All that is asked of a lock is on its page.
func newPage(h *History, options Options, lock string) (*page, error) {
	if err := h.Validate(); err != nil {
		return nil, fmt.Errorf("page: the history is not well-formed: %w", err)
	}
	a := analyse(h)
	number, known := a.byKey[lock]
	if !known {
		return nil, fmt.Errorf("page: %q is no lock of this history", lock)
	}
	p := &page{
		a: a, log: a.locks[number], options: options.withDefaults(),
		lock: model.Lease{Exclusive: !options.Promises.Reentrant}, first: none, last: len(h.Events) - 1,
	}
	p.judge = &linearizer{a: a, explained: a.explainedRefusals()}
	p.judge.choose(&h.Header, p.options)
	return p, nil
}

// begin chooses the piece from the beginning of the history to where the page is full.
func (p *page) begin() {
	upTo := p.explored()
	if p.judge.lock == nil {
		m := p.specified()
		p.start = m.start
		upTo = func(last int) []step { return m.upTo(last).steps }
	}
	if p.steps = upTo(p.last); len(p.steps) > mostOnPage {
		p.last = sort.Search(p.last, func(last int) bool { return len(upTo(last+1)) > mostOnPage })
		p.steps = upTo(p.last)
	}
}

// explored gives the steps up to a position, for a lock that only explore knows; nil for any other.
func (p *page) explored() (upTo func(last int) []step) {
	if p.judge.lock == nil {
		return nil
	}
	words := p.a.phrase(p.log, p.judge.lock, p.judge.lease, p.judge.explained)
	p.lock, p.start = p.judge.lock, p.judge.lock.Start()
	all := words.steps()
	return func(last int) []step { return words.upTo(all, last) }
}

func (p *page) specified() *specification {
	return p.a.specify(p.log, p.judge.options, p.judge.explained)
}

// cut chooses the piece of history before the violation.
func (p *page) cut() error {
	from := p.a.positionOf(p.violation.Events[0], len(p.a.events))
	p.last = p.a.positionOf(p.violation.Events[len(p.violation.Events)-1], len(p.a.events))
	if from == none || p.last == none {
		return errors.New("page: the violation names events that are not in this history")
	}
	if upTo := p.explored(); upTo != nil {
		p.steps = upTo(p.last)
	} else {
		m := p.specified()
		cuts := m.cuts()
		k := sort.Search(len(cuts), func(i int) bool { return cuts[i].position >= from })
		for context := contextOnPage; context > 0; context-- {
			begin := m.beginning()
			if k >= context {
				begin = cuts[k-context]
			}
			part := m.between(begin, p.last)
			p.steps, p.start, p.first = part.steps, part.start, begin.position
			if len(p.steps) <= mostOnPage {
				break
			}
		}
	}
	if len(p.steps) > mostOnPage {
		return fmt.Errorf("page: there are %d operations since the lock was last surely held, and a page shows %d at most: "+
			"trim the history first", len(p.steps), mostOnPage)
	}
	return nil
}

// write hands the piece to Porcupine.
func (p *page) write(w io.Writer) error {
	p.rows = make(map[int]int)
	operations := make([]porcupine.Operation, len(p.steps))
	for i := range p.steps {
		operations[i] = p.operation(int32(i))
	}
	limit := &stepLimit{left: p.options.PorcupineSteps}
	result, info := porcupine.CheckOperationsVerbose(p.model(limit), operations, 0)
	if p.violation == nil && result != porcupine.Ok {
		if limit.exhausted {
			return fmt.Errorf("page: Porcupine finds no order of the %d operations on %s within %d steps", len(p.steps),
				p.log.key, p.options.PorcupineSteps)
		}
		return fmt.Errorf("page: Porcupine finds no order in which the %d operations on %s fit", len(p.steps), p.log.key)
	}
	info.AddAnnotations(p.annotations())
	// The page replays what was found, which must not run into the limit.
	var drawn bytes.Buffer
	if err := porcupine.Visualize(p.model(&stepLimit{left: -1}), info, &drawn); err != nil {
		return err
	}
	return steady(w, drawn.Bytes())
}

func (p *page) model(limit *stepLimit) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return p.start },
		Step: func(state, input, _ any) (bool, any) {
			if !limit.take() {
				return false, state
			}
			next, legal := model.Take(p.lock, state.(model.State), &p.steps[input.(int32)].Operation)
			return legal, next
		},
		DescribeOperation:         func(input, _ any) string { return p.describe(&p.steps[input.(int32)]) },
		DescribeState:             func(state any) string { return state.(model.State).Describe(p.a.clientName) },
		DescribeOperationMetadata: func(about any) string { return about.(string) },
	}
}

// moment renders a position as a time of the page. Between two positions there is room for what happened between two
// events: Porcupine takes equal times for concurrent.
func (p *page) moment(position int) int64 { return 2*int64(position) + 1 }

// row gives each client a row of its own, in the order in which they come up.
func (p *page) row(c int) int {
	if _, known := p.rows[c]; !known {
		p.rows[c] = len(p.rows)
	}
	return p.rows[c]
}

// operation puts one step in Porcupine's terms. What never returned ends behind everything else.
func (p *page) operation(id int32) porcupine.Operation {
	x := &p.steps[id]
	o := porcupine.Operation{Input: id, Call: p.moment(x.call), Return: p.moment(p.last) + 2 + int64(id), Metadata: ""}
	switch {
	case x.Action == model.Expire:
		o.Call-- // before the event at its position
		o.ClientId = p.row(none)
		if x.ret != none {
			o.Return = o.Call
		}
	default:
		o.ClientId = p.row(int(x.Client))
		o.Metadata = "called at " + seconds(p.a.events[x.call].Time)
		if x.ret != none {
			o.Return = p.moment(x.ret)
			o.Metadata = fmt.Sprintf("%s, answered at %s", o.Metadata, seconds(p.a.events[x.ret].Time))
		}
		if x.Token != 0 {
			o.Metadata = fmt.Sprintf("%s, token %d", o.Metadata, x.Token)
		}
	}
	return o
}

// describe renders a step in lock words.
func (p *page) describe(x *step) string {
	name := func(c int32) string { return p.a.name(int(c)) }
	if x.Action == model.Expire {
		var owners []string
		for _, c := range x.Owners {
			owners = append(owners, name(c))
		}
		if x.mayLapse() {
			return "lease of " + name(x.Client) + " may end"
		}
		return "lease of " + join(owners) + " ends"
	}
	asked, answer := p.a.operations[x.operation].f(), ""
	switch {
	case x.optional():
		answer = "?"
	case x.Action == model.Refuse:
		answer = "refused"
	case x.Action == model.Deny:
		answer = "not the owner"
	case x.Action == model.TakeOver:
		answer = "taken over"
	default:
		answer = "ok"
	}
	return fmt.Sprintf("%s: %s %s", name(x.Client), asked, answer)
}

// Colours of annotations.
const (
	claimColour   = "#cfe8cf"
	faultColour   = "#f5d6a8"
	verdictColour = "#f2b8b5"
)

// annotations adds what is no operation.
func (p *page) annotations() []porcupine.Annotation {
	var notes []porcupine.Annotation
	for i := range p.log.claims {
		if note, shown := p.claim(&p.log.claims[i]); shown {
			notes = append(notes, note)
		}
	}
	for i := max(p.first, 0); i <= p.last; i++ {
		e := &p.a.events[i]
		note := porcupine.Annotation{Start: p.moment(i), BackgroundColor: faultColour, Details: "at " + seconds(e.Time)}
		switch {
		case e.F == FaultApplied || e.F == Healed:
			note.Tag, note.Description = "faults", e.F
			if e.Command != "" {
				note.Description = e.Command
			}
		case e.F == Crash:
			note.Tag, note.Description = "faults", "crash of "+p.a.name(p.a.clientNumber(e.Process))
		case e.F == RecordGone && e.Key == p.log.key && lapsedBefore(e):
			note.Tag, note.Description = "server", "dead record removed"
			if e.Previous != nil && e.Previous.Owner != "" {
				note.Description = "dead record of " + e.Previous.Owner + " removed"
			}
		case e.F == Request && endsSession(e):
			note.Tag, note.Description = "sessions", "session of "+p.requester(e)+" ends"
			note.Details = e.Command + " " + note.Details
		default:
			continue
		}
		notes = append(notes, note)
	}
	return append(notes, p.accusation())
}

// commandExpire is the command of the request by which a server ends a session that it heard nothing of.
const commandExpire = "expire"

// endsSession tells whether a request ended a session, with all that it had made.
func endsSession(e *Event) bool {
	return (e.Command == commandCloseSession || e.Command == commandExpire) && e.Error == ""
}

// requester names whose session a request ended.
func (p *page) requester(e *Event) string {
	for _, name := range []string{e.Node, e.Owner} {
		if name != "" {
			return name
		}
	}
	return "nobody known"
}

// claim renders the time in which a client believed that it held the lock.
func (p *page) claim(c *claim) (porcupine.Annotation, bool) {
	start, end := p.place(c.start), p.place(c.end)
	if c.empty() || end < p.moment(p.first) || start > p.moment(p.last) {
		return porcupine.Annotation{}, false
	}
	if _, shown := p.rows[c.client]; !shown {
		return porcupine.Annotation{}, false
	}
	return porcupine.Annotation{
		Tag: "claims of " + p.a.name(c.client), Start: max(start, p.moment(p.first)), End: min(end, p.moment(p.last)),
		Description: "holds " + p.log.key, Details: span(c.start.time, c.end.time), BackgroundColor: claimColour,
	}, true
}

// place renders an instant as a time of the page.
func (p *page) place(x instant) int64 {
	if x.position != none {
		return p.moment(x.position)
	}
	at, _ := slices.BinarySearchFunc(p.a.events, x, func(e Event, x instant) int {
		if e.Time < x.time {
			return -1
		}
		return 1
	})
	return p.moment(at) - 1
}

// accusation renders the violation itself, or that there is none.
func (p *page) accusation() porcupine.Annotation {
	note := porcupine.Annotation{Tag: "verdict", Start: p.moment(p.last), BackgroundColor: verdictColour}
	if p.violation != nil {
		note.Description, note.Details = p.violation.Kind, p.violation.Text
		return note
	}
	note.Description, note.BackgroundColor = "fits", claimColour
	note.Details = "all operations up to here fit one lock that handles one call at a time"
	if p.last < len(p.a.events)-1 {
		note.Details += "; the history goes on, and a page shows no more"
	}
	return note
}
