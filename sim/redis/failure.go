package redis

import "slices"

// scriptFailure has a script fail at one of its writes.
type scriptFailure struct {
	at     int64       // the write, from 1
	strike func() bool // asked when that write comes
}

// FailScript has the first script that gets so far on a connection fail at its n-th write, counted from 1. A script
// that fails keeps what it has written: nothing is rolled back. strike is asked when the write has come; when it
// answers false, the script goes on as if nothing had been. A connection fails one script at a time: a later call
// replaces what an earlier one has asked for.
func (s *Server) FailScript(conn uint64, n int64, strike func() bool) {
	if i := slices.IndexFunc(s.conns, func(c *Conn) bool { return c.id == conn }); i >= 0 {
		s.conns[i].failure = &scriptFailure{n, strike}
	}
}

// errScriptFailed is what a write answers that is made to fail: the one way in which a script can stop midway on a real
// server is that a command of it is refused, for a reason that its author did not think of.
const errScriptFailed = "WRONGTYPE Operation against a key holding the wrong kind of value"

// fails counts a write of the running script, and tells whether it is the one that fails.
func (in *interpreter) fails() bool {
	f := in.caller.failure
	in.writes++
	if f == nil || in.writes != f.at {
		return false
	}
	in.caller.failure = nil
	return f.strike()
}
