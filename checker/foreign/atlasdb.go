package foreign

import "github.com/lockstep-sim/lockstep/checker"

// refresh is AtlasDB's operation that asks for more time.
const refresh = "refresh"

// answered understands a return of AtlasDB's lock test, which ends nearly all calls with ok and says in the value what
// came of them: a token or nothing for lock and refresh, true or false for unlock.
//
// Its client keeps one token for each lock. A new one takes the place of the old, of whose hold nothing more is heard:
// that is where its claim ends.
func (m *importer) answered(e, call *entry) error {
	e.Key = call.Key
	hold := tenure{e.Process, e.Key}
	if e.Type != checker.OK {
		m.entries = append(m.entries, e)
		return nil
	}
	if e.value.kind != text {
		return e.fault("value: want a token, true, false or \"\", found %q", shorten(e.Value))
	}
	switch e.F {
	case checker.Acquire:
		if e.Value == "" {
			e.Type, e.Error = checker.Fail, "no token"
			break
		}
		if m.held[hold] {
			m.assume("a new token takes the place of the client's old one for the same lock, whose hold ends there")
			m.entries = append(m.entries, m.lost(e))
		}
		m.held[hold] = true
	case checker.Release:
		freed, known := e.value.truth()
		if !known {
			return e.fault("value: want true or false from unlock, found %q", shorten(e.Value))
		}
		if !freed {
			e.Type, e.Error = checker.Fail, "not held"
		}
		delete(m.held, hold)
	case refresh:
		if e.Value == "" {
			e.Type, e.Error = checker.Fail, "not held"
		}
	}
	m.entries = append(m.entries, e)
	if e.F == refresh && e.Type == checker.Fail && m.held[hold] {
		m.assume("a hold ends for its client when its refresh is refused")
		m.entries = append(m.entries, m.lost(e))
		delete(m.held, hold)
	}
	return nil
}

// lost is the end of the hold that a client had before e. The index is given later.
func (m *importer) lost(e *entry) *entry {
	return &entry{line: e.line, indexed: e.indexed, timed: e.timed, Event: checker.Event{
		Index: e.Index, Time: e.Time, Process: e.Process, Type: checker.Info, F: checker.Lost, Key: e.Key, Value: e.Value,
	}}
}
