package faults

import (
	"fmt"
	"strings"
	"time"
)

// When says when a fault strikes: at the first of its triggers that occurs. It is never empty in a valid fault.
type When []Trigger

// String writes the alternatives, joined by "or".
func (w When) String() string {
	parts := make([]string, len(w))
	for i, trigger := range w {
		parts[i] = trigger.String()
	}
	return strings.Join(parts, " or ")
}

// Trigger is one moment of a run, given by true time or by what it means.
type Trigger struct {
	Moment Moment
	// At is, for AtTime, true time since the start of the run; for AtDeadline, how long after the deadline, negative for
	// before it.
	At time.Duration

	Node NodeRef // the client whose requests or leases are counted; empty for AtTime
	// Command is the server command that is waited for, in upper case, or AnyCommand. Compare without regard to case.
	Command string
	// Previous is, for BetweenRequests, the command that this client sent last to the same server, or AnyCommand.
	Previous string
	// Nth counts the requests or leases that fit, from 1; it is 0 for AtTime.
	Nth int64
}

// Moment says what a Trigger waits for.
type Moment int

// The moments that a Trigger can name.
const (
	// AtTime is an instant of true time. At an instant, a fault that picks one message takes the first request that the
	// client sends over the link from then on, or the reply to it.
	AtTime Moment = iota
	// BeforeRequest is when the n-th such request leaves the client: the fault strikes first.
	BeforeRequest
	// AfterExecution is when the server has executed the n-th such request and the reply has not left it.
	AfterExecution
	// BetweenRequests is when the client sends Command while the last thing that it sent to the same server was
	// Previous; the n-th such pair is meant. The fault strikes before Command leaves.
	BetweenRequests
	// AtDeadline is when the n-th lease of the client comes to its end, or so long before or after. A lease that is given
	// up or moved before that moment does not count.
	AtDeadline
)

// IsInstant says that the moment is an instant of its own, not one in the life of a request.
func (m Moment) IsInstant() bool { return m == AtTime || m == AtDeadline }

// AnyCommand stands for every command.
const AnyCommand = "*"

// String writes the trigger, such as "at 2s" or "on c1 between GET and GETSET #2".
func (t Trigger) String() string { return triggerText(t, t) }

// triggerText writes a trigger whose numbers reach from those of low to those of high.
func triggerText(low, high Trigger) string {
	if low.Moment == AtTime {
		if low.At == 0 && high.At == 0 {
			return "at start"
		}
		return "at " + instant.text(int64(low.At), int64(high.At))
	}
	var text string
	switch low.Moment {
	case BeforeRequest:
		text = fmt.Sprintf("on %s before %s", low.Node, low.Command)
	case AfterExecution:
		text = fmt.Sprintf("on %s after %s", low.Node, low.Command)
	case BetweenRequests:
		text = fmt.Sprintf("on %s between %s and %s", low.Node, low.Previous, low.Command)
	case AtDeadline:
		text = fmt.Sprintf("at deadline of %s", low.Node)
		if low.At != 0 || high.At != 0 {
			text += " " + shift.text(int64(low.At), int64(high.At))
		}
	default:
		return fmt.Sprintf("Moment(%d)", int(low.Moment))
	}
	if low.Nth == 1 && high.Nth == 1 {
		return text
	}
	return text + " " + ordinal.text(low.Nth, high.Nth)
}

// maxAlternatives bounds how many triggers one fault may have.
const maxAlternatives = 8

// when reads the alternatives and appends them to both ends of the template.
func (p *parser) when(t *Template) error {
	for {
		start := p.token()
		low, high, err := p.trigger()
		if err != nil {
			return err
		}
		if err := p.addressable(start, t.low, low); err != nil {
			return err
		}
		t.low.When = append(t.low.When, low)
		t.high.When = append(t.high.When, high)
		if _, more := p.accept("or"); !more {
			return nil
		}
		if len(t.low.When) == maxAlternatives {
			return p.errorAt(p.token(), fmt.Sprintf("more than %d alternatives", maxAlternatives))
		}
	}
}

// trigger reads one moment. It returns it twice: with every number at its least, and at its greatest.
func (p *parser) trigger() (low, high Trigger, err error) {
	preposition, ok := p.accept("at", "on")
	switch {
	case !ok:
		return low, high, p.expected("")
	case preposition == "on":
		return p.requestTrigger()
	}
	if _, ok := p.accept("start"); ok {
		return low, high, nil
	}
	if _, ok := p.accept("deadline"); ok {
		return p.deadlineTrigger()
	}
	from, to, err := p.span(instant)
	low.At, high.At = time.Duration(from), time.Duration(to)
	return low, high, err
}

// deadlineUsage shows how a trigger by the end of a lease is written.
const deadlineUsage = "at deadline of NODE [+-DURATION] [#N]"

// deadlineTrigger reads what follows "at deadline".
func (p *parser) deadlineTrigger() (low, high Trigger, err error) {
	p.usage = deadlineUsage
	if _, ok := p.accept("of"); !ok {
		return low, high, p.expected("")
	}
	start := p.token()
	low.Moment = AtDeadline
	if low.Node, err = p.node(); err != nil {
		return low, high, err
	}
	if low.Node.IsRole() && low.Node != Holder {
		return low, high, p.errorAt(start, fmt.Sprintf("%s has no lease: name a machine or %s", low.Node, Holder))
	}
	high = low
	if text := p.token().text; strings.HasPrefix(text, "+") || strings.HasPrefix(text, "-") {
		from, to, err := p.span(shift)
		if err != nil {
			return low, high, err
		}
		low.At, high.At = time.Duration(from), time.Duration(to)
	} else {
		p.note("+1ms")
	}
	low.Nth, high.Nth, err = p.nth()
	return low, high, err
}

// nth reads a number such as "#2", which may be left out.
func (p *parser) nth() (low, high int64, err error) {
	if strings.HasPrefix(p.token().text, "#") {
		return p.span(ordinal)
	}
	p.note("#2")
	return 1, 1, nil
}

// requestUsage shows how a trigger by meaning is written.
const requestUsage = "on NODE before|after COMMAND [#N], or on NODE between COMMAND and COMMAND [#N]"

// requestTrigger reads what follows "on".
func (p *parser) requestTrigger() (low, high Trigger, err error) {
	p.usage = requestUsage
	var t Trigger
	if t.Node, err = p.node(); err != nil {
		return low, high, err
	}
	moment, ok := p.accept("before", "after", "between")
	switch {
	case !ok:
		return low, high, p.expected("")
	case moment == "before":
		t.Moment = BeforeRequest
	case moment == "after":
		t.Moment = AfterExecution
	default:
		t.Moment = BetweenRequests
		if t.Previous, err = p.command(); err != nil {
			return low, high, err
		}
		if _, ok := p.accept("and"); !ok {
			return low, high, p.expected("")
		}
	}
	if t.Command, err = p.command(); err != nil {
		return low, high, err
	}
	low, high = t, t
	low.Nth, high.Nth, err = p.nth()
	return low, high, err
}

// addressable refuses a trigger that cannot name the message that the fault picks.
//
// Such a fault strikes the message that its trigger is about. So the trigger has to count the requests of the
// link's client, and a request cannot be struck any more once the server has executed it.
func (p *parser) addressable(start token, f Fault, t Trigger) error {
	if t.Moment.IsInstant() || !f.Kind.StrikesRequest() && !f.Kind.StrikesReply() {
		return nil
	}
	message := ""
	switch {
	case t.Node != f.Link.From:
		message = fmt.Sprintf("this names a message of %s, but the fault strikes one of %s: write \"on %s ...\"",
			t.Node, f.Link, f.Link.From)
	case t.Moment == AfterExecution && f.Kind.StrikesRequest():
		message = "\"after\" is too late for the request, it was executed by then: " +
			"write \"before\", or strike the reply"
	default:
		return nil
	}
	p.usage = "" // how it is written is not what is wrong
	return p.errorAt(start, message)
}
