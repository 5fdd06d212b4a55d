package redis

import (
	"slices"
	"strings"
)

// transaction is what a connection has queued since MULTI.
type transaction struct {
	queue   []queuedCommand
	spoiled bool // a request was refused while queueing, so that EXEC will not run
}

type queuedCommand struct {
	cmd  *command
	args []string
}

// runsInsideMulti are the commands that are executed at once where others are queued.
var runsInsideMulti = map[string]bool{
	"exec": true, "discard": true, "multi": true, "watch": true, "quit": true, "reset": true,
}

// queue keeps a request for EXEC. The store's own transactions are not used: they would bypass the commands that
// this package answers itself, and they check syntax at a time when Redis does not.
func (c *Conn) queue(cmd *command, args []string) {
	if cmd.is(flagNoMulti) {
		c.refuse("ERR Command not allowed inside a transaction")
		return
	}
	c.transaction.queue = append(c.transaction.queue, queuedCommand{cmd, slices.Clone(args)})
	c.writeStatus("QUEUED")
}

func multi(c *Conn, _ []string) {
	if c.transaction != nil {
		c.writeError("ERR MULTI calls can not be nested")
		return
	}
	c.transaction = &transaction{}
	c.writeOK()
}

func discard(c *Conn, _ []string) {
	if c.transaction == nil {
		c.writeError("ERR DISCARD without MULTI")
		return
	}
	c.transaction = nil
	c.unwatch()
	c.writeOK()
}

func exec(c *Conn, _ []string) {
	t := c.transaction
	switch {
	case t == nil:
		c.writeError("ERR EXEC without MULTI")
		return
	case t.spoiled:
		c.transaction = nil
		c.unwatch()
		c.writeError("EXECABORT Transaction discarded because of previous errors.")
		return
	}
	c.transaction = nil
	changed := c.watchedChanged()
	c.unwatch()
	if changed {
		c.writeNullArray()
		return
	}
	c.executing = true
	c.writeArray(len(t.queue))
	for _, queued := range t.queue {
		start := len(c.out)
		c.perform(queued.cmd, queued.args)
		c.observe(queued.args, start)
	}
	c.executing = false
}

// abort answers an EXEC that is wrong by its form: the transaction is over.
func (c *Conn) abort(refusal string) {
	c.transaction = nil
	c.unwatch()
	c.writeError("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(refusal, "ERR "))
}

func watch(c *Conn, args []string) {
	if c.transaction != nil {
		c.writeError("ERR WATCH inside MULTI is not allowed")
		return
	}
	for _, key := range args[1:] {
		if watched := (keyOf{c.db, key}); !slices.Contains(c.watched, watched) {
			c.watched = append(c.watched, watched)
			c.watchInStore(watched)
		}
	}
	c.writeOK()
}

// watchInStore makes the store remember the version that a key has now.
func (c *Conn) watchInStore(key keyOf) {
	selected := c.db
	c.db = key.db
	c.silently([]string{"WATCH", key.key})
	c.db = selected
}

func unwatch(c *Conn, _ []string) {
	c.unwatch()
	c.writeOK()
}

func (c *Conn) unwatch() {
	if len(c.watched) > 0 {
		c.silently([]string{"UNWATCH"})
	}
	c.watched, c.touched = nil, false
}

// watchedChanged tells whether a watched key was changed since WATCH. The store tells only by the outcome of an
// EXEC, so it gets an empty one.
func (c *Conn) watchedChanged() bool {
	if len(c.watched) == 0 {
		return false
	}
	c.silently([]string{"MULTI"})
	reply := c.silently([]string{"EXEC"})
	return c.touched || reply == "*-1\r\n" || reply == "_\r\n"
}

// silently lets the store answer and keeps the reply from the client.
func (c *Conn) silently(args []string) string {
	start := len(c.out)
	c.dispatch(args)
	reply := string(c.out[start:])
	c.out = c.out[:start]
	return reply
}

// touchWatched marks the transactions that watch a key of a database that is about to be emptied, if the key exists:
// the store does not count that as a change.
func (s *Server) touchWatched(db int) {
	for _, c := range s.conns {
		for _, watched := range c.watched {
			if watched.db == db && s.db(db).Exists(watched.key) {
				c.touched = true
			}
		}
	}
}

// swapWatched exchanges two databases for those who watch their keys: a key counts as changed if it exists in either.
// The store exchanges the versions of keys with the databases, so that what it remembers must be made anew.
func (s *Server) swapWatched(one, two int, swap func()) {
	for _, c := range s.conns {
		changed := c.watchedChanged() // makes the store forget
		for _, watched := range c.watched {
			affected := watched.db == one || watched.db == two
			changed = changed || affected && (s.db(one).Exists(watched.key) || s.db(two).Exists(watched.key))
		}
		c.touched = changed
	}
	swap()
	for _, c := range s.conns {
		for _, watched := range c.watched {
			c.watchInStore(watched)
		}
	}
}
