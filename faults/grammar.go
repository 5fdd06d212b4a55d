package faults

import (
	"slices"
	"strings"
)

// form is how faults of one kind are written. Text is read and written from it, and the documentation is checked
// against it: a new kind of fault is a new line in forms.
type form struct {
	kind    Kind
	clauses []clause
}

// clause is one part of a form: a fixed word, or a value that knows how to read and write itself.
type clause struct {
	syntax   string
	word     string // set for a fixed word; then read and write are not
	optional bool   // a fixed word that may be left out; it is always written
	read     func(*parser, *Template) error
	write    func(*writer, Template)
}

// forms lists the grammar, in the order of the kinds.
var forms = []form{
	{Crash, []clause{word("crash"), node, manner, when}},
	{Restart, []clause{word("restart"), node, emptiness, identity, when}},
	{Pause, []clause{word("pause"), node, duration, when}},
	{ClockStep, []clause{word("clock"), node, word("step"), signedAmount, when}},
	{ClockOffset, []clause{word("clock"), node, word("offset"), signedAmount, whenOrStart}},
	{ClockDrift, []clause{word("clock"), node, word("drift"), drift, whenOrStart}},
	{ClockJitter, []clause{word("clock"), node, word("jitter"), amount, whenOrStart}},
	{LoseRequest, []clause{word("lose"), word("request"), optional("of"), connection, manner, when}},
	{LoseReply, []clause{word("lose"), word("reply"), optional("of"), connection, manner, when}},
	{DelayRequest, []clause{word("delay"), optional("request"), optional("of"), connection, latency, when}},
	{DelayReply, []clause{word("delay"), word("reply"), optional("of"), connection, latency, when}},
	{Slow, []clause{word("slow"), path, latency, duration, when}},
	{Cut, []clause{word("cut"), path, duration, manner, when}},
	{Down, []clause{word("down"), node, duration, when}},
	{ExpireSession, []clause{word("expire"), word("session"), optional("of"), node, when}},
	{PresetCounter, []clause{
		word("preset"), word("counter"), optional("of"), target, word("on"), node, counter, whenOrStart,
	}},
	{AddPath, []clause{word("add"), target, list, word("on"), node, whenOrStart}},
	{RemovePath, []clause{word("remove"), target, word("on"), node, when}},
	{DelayEvent, []clause{word("delay"), word("event"), optional("of"), connection, latency, when}},
	{LoseEvent, []clause{word("lose"), word("event"), optional("of"), connection, when}},
	{RepeatEvent, []clause{word("repeat"), word("event"), optional("of"), connection, interval, when}},
	{StarveTimers, []clause{word("starve"), word("timers"), optional("of"), node, duration, when}},
	{ReorderTimers, []clause{word("reorder"), word("timers"), optional("of"), node, duration, when}},
	{CancelCall, []clause{word("cancel"), word("call"), optional("of"), node, timeout, when}},
	{FailScript, []clause{word("fail"), word("script"), optional("of"), connection, write, when}},
	{RollBack, []clause{word("roll"), word("back"), node, latency, when}},
	{ClockUnit, []clause{word("clock"), node, word("unit"), counted, whenOrStart}},
}

// formOf finds the form of a kind.
func formOf(kind Kind) (form, bool) {
	for _, form := range forms {
		if form.kind == kind {
			return form, true
		}
	}
	return form{}, false
}

// syntax describes the form, such as "pause NODE for DURATION WHEN".
func (f form) syntax() string {
	parts := make([]string, len(f.clauses))
	for i, clause := range f.clauses {
		parts[i] = clause.syntax
	}
	return strings.Join(parts, " ")
}

// title returns the words that tell the form from others, such as "clock step".
func (f form) title() string {
	var words []string
	for _, clause := range f.clauses {
		if clause.word != "" && clause.word != "of" && clause.word != "on" {
			words = append(words, clause.word)
		}
	}
	return strings.Join(words, " ")
}

// writer collects the words of a line.
type writer struct{ words []string }

func (w *writer) add(words ...string) { w.words = append(w.words, words...) }

// word is a fixed word.
func word(text string) clause { return clause{syntax: text, word: text} }

// optional is a fixed word that a reader may expect and a writer may leave out.
func optional(text string) clause {
	return clause{syntax: "[" + text + "]", word: text, optional: true}
}

// number is a value that may be a range. The words of before stand before it.
func number(syntax, before string, q quantity, field func(*Fault) *int64) clause {
	prepositions := strings.Fields(before)
	return clause{
		syntax: strings.Join(append(slices.Clone(prepositions), syntax), " "),
		read: func(p *parser, t *Template) error {
			for _, preposition := range prepositions {
				if _, ok := p.accept(preposition); !ok {
					return p.expected("")
				}
			}
			low, high, err := p.span(q)
			*field(&t.low), *field(&t.high) = low, high
			return err
		},
		write: func(w *writer, t Template) {
			w.add(prepositions...)
			w.add(q.text(*field(&t.low), *field(&t.high)))
		},
	}
}

// The numbers of a fault.
var (
	duration     = number("DURATION", "for", length, forField)
	latency      = number("DURATION", "by", length, byField)
	interval     = number("DURATION", "after", length, byField)
	amount       = number("DURATION", "", spread, byField)
	counted      = number("DURATION", "", unit, byField)
	signedAmount = number("+-DURATION", "", shift, byField)
	drift        = number("+-Nppm", "", rate, driftField)
	counter      = number("N", "to", count, countField)
	write        = number("#N", "at write", ordinal, countField)
)

// target is a key or the path of a node on a server.
var target = clause{
	syntax: "PATH",
	read: func(p *parser, t *Template) (err error) {
		t.low.Path, err = p.path()
		t.high.Path = t.low.Path
		return err
	},
	write: func(w *writer, t Template) { w.add(t.low.Path) },
}

// node is the machine that is struck.
var node = clause{
	syntax: "NODE",
	read: func(p *parser, t *Template) (err error) {
		t.low.Node, err = p.node()
		t.high.Node = t.low.Node
		return err
	},
	write: func(w *writer, t Template) { w.add(string(t.low.Node)) },
}

// connection is the link whose message is struck, by client and server.
var connection = link("CLIENT>SERVER", "a client and its server such as c1>redis", false)

// path is the link that is struck as a whole, in one direction or both.
var path = link("NODE>NODE|NODE-NODE", "a direction such as c1>redis, or both such as c1-redis", true)

func link(syntax, such string, bothAllowed bool) clause {
	return clause{
		syntax: syntax,
		read: func(p *parser, t *Template) (err error) {
			t.low.Link, err = p.link(such, bothAllowed)
			t.high.Link = t.low.Link
			return err
		},
		write: func(w *writer, t Template) { w.add(t.low.Link.String()) },
	}
}

// manner is what the peers see; the default is not written.
var manner = clause{
	syntax: "[reset|silent]",
	read: func(p *parser, t *Template) error {
		if found, _ := p.accept("reset", "silent"); found == "silent" {
			t.low.Manner, t.high.Manner = Silent, Silent
		}
		return nil
	},
	write: func(w *writer, t Template) {
		if t.low.Manner != Reset {
			w.add(t.low.Manner.String())
		}
	},
}

// The choices that are made by words which are there or not.
var (
	// emptiness says that a server's data is gone.
	emptiness = choice("empty", func(f *Fault) *bool { return &f.Empty })
	// timeout says that a call is told that its time is over.
	timeout = choice("as timeout", func(f *Fault) *bool { return &f.Timeout })
	// list says that what is added is no text.
	list = choice("as list", func(f *Fault) *bool { return &f.List })
)

// choice is a property of the fault that it has when the words stand there.
func choice(text string, field func(*Fault) *bool) clause {
	words := strings.Fields(text)
	return clause{
		syntax: "[" + text + "]",
		read: func(p *parser, t *Template) error {
			if _, found := p.accept(words[0]); !found {
				return nil
			}
			for _, word := range words[1:] {
				if _, ok := p.accept(word); !ok {
					return p.expected("")
				}
			}
			*field(&t.low), *field(&t.high) = true, true
			return nil
		},
		write: func(w *writer, t Template) {
			if *field(&t.low) {
				w.add(words...)
			}
		},
	}
}

// identity says whom a client takes itself for; the default is not written. A machine is a server that has data or a
// client that has an identity, so a new identity and lost data exclude each other.
var identity = clause{
	syntax: "[as same|as new]",
	read: func(p *parser, t *Template) error {
		start := p.token()
		if _, ok := p.accept("as"); !ok {
			return nil
		}
		found, ok := p.accept("same", "new")
		switch {
		case !ok:
			return p.expected("")
		case found == "same":
			return nil
		case t.low.Empty:
			return p.errorAt(start, "\"empty\" is for servers and \"as new\" for clients: leave one out")
		}
		t.low.Identity, t.high.Identity = NewIdentity, NewIdentity
		return nil
	},
	write: func(w *writer, t Template) {
		if t.low.Identity != SameIdentity {
			w.add("as", t.low.Identity.String())
		}
	},
}

// when is the moment at which the fault strikes.
var when = clause{
	syntax: "WHEN",
	read:   func(p *parser, t *Template) error { return p.when(t) },
	write:  writeWhen,
}

// whenOrStart is a moment that may be left out: then it is the start of the run.
var whenOrStart = clause{
	syntax: "[WHEN]",
	read: func(p *parser, t *Template) error {
		if p.token().text == "" {
			t.low.When, t.high.When = When{{}}, When{{}}
			return nil
		}
		return p.when(t)
	},
	write: writeWhen,
}

func writeWhen(w *writer, t Template) {
	for i := range t.low.When {
		if i > 0 {
			w.add("or")
		}
		w.add(triggerText(t.low.When[i], t.high.When[i]))
	}
}

// value is one number inside a fault.
type value struct {
	number   *int64
	duration bool
}

// values lists all numbers of a fault, used or not, in an order that depends on nothing but len(f.When).
func values(f *Fault) []value {
	list := []value{{byField(f), true}, {driftField(f), false}, {forField(f), true}, {countField(f), false}}
	for i := range f.When {
		trigger := &f.When[i]
		list = append(list, value{(*int64)(&trigger.At), true}, value{&trigger.Nth, false})
	}
	return list
}

func byField(f *Fault) *int64 { return (*int64)(&f.By) }

func driftField(f *Fault) *int64 { return &f.Drift }

func forField(f *Fault) *int64 { return (*int64)(&f.For) }

func countField(f *Fault) *int64 { return &f.Count }
