package redis

import (
	"slices"
	"time"
)

// journal keeps every write that was executed, with those of scripts and transactions one by one: what an append-only
// file has.
type journal struct{ entries []journalEntry }

type journalEntry struct {
	at   time.Time // by the wall clock of the machine
	db   int
	args []string
}

// KeepJournal makes RollBack possible. It is to be called while the server is empty.
func (s *Server) KeepJournal() { s.journal = &journal{} }

func (j *journal) add(at time.Time, db int, args []string) {
	j.entries = append(j.entries, journalEntry{at, db, slices.Clone(args)})
}

// RollBack restarts the server as it was so long ago: what was written since then is lost, as when a machine fails
// whose file is flushed now and then. What was written before is executed once more, each write at its time, so that
// keys expire when they would have. It tells whether there is a journal to go back by.
func (s *Server) RollBack(d time.Duration) bool {
	if s.journal == nil {
		return false
	}
	now, hook := s.config.Now, s.config.OnCommand
	lost := now().Add(-d)
	kept := slices.DeleteFunc(s.journal.entries, func(e journalEntry) bool { return e.at.After(lost) })
	s.Restart(true)
	s.journal, s.config.OnCommand = nil, nil
	c := s.newConn(0, nil)
	for _, e := range kept {
		s.config.Now = func() time.Time { return e.at }
		s.tick()
		if cmd, _ := lookup(e.args); cmd != nil {
			c.db, c.out = e.db, c.out[:0]
			c.perform(cmd, slices.Clone(e.args))
		}
	}
	s.config.Now, s.config.OnCommand = now, hook
	s.journal = &journal{kept}
	s.tick()
	return true
}
