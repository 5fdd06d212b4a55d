package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// waiter is a connection whose blocking command found nothing. Nothing runs while it waits: later commands that
// create one of its keys serve it, in the order in which the waiters came, or its timer does.
type waiter struct {
	conn *Conn
	args []string // the command as it was sent
	keys []keyOf
	// kind is the type of key that can serve the waiter, "" for a waiter that only waits for time.
	kind string
	// serve tries to answer from one key. It returns false when the waiter must go on waiting.
	serve func(c *Conn, key string) bool
	// onTimeout answers when the time is over.
	onTimeout func(c *Conn)
	cancel    func() // the timer, nil without one
}

func (w *waiter) stopTimer() {
	if w.cancel != nil {
		w.cancel()
		w.cancel = nil
	}
}

func nullArray(c *Conn) { c.writeNullArray() }

// mayWait tells whether a command may block now: inside a transaction or a script it answers at once.
func (c *Conn) mayWait() bool { return !c.executing && !c.scripted }

// wait parks the connection. timeout 0 means for ever.
func (c *Conn) wait(w *waiter, timeout time.Duration) {
	s := c.server
	w.conn = c
	w.args = slices.Clone(w.args)
	c.waiting = w
	s.blocked = append(s.blocked, w)
	if timeout > 0 && s.config.After != nil {
		w.cancel = s.config.After(timeout, func() {
			w.cancel = nil
			if c.waiting != w {
				return
			}
			s.tick()
			s.finish(w, w.onTimeout)
			s.settle()
		})
	}
}

// unblock takes a waiter out of the queue.
func (s *Server) unblock(w *waiter) {
	w.stopTimer()
	w.conn.waiting = nil
	if i := slices.Index(s.blocked, w); i >= 0 {
		s.blocked = slices.Delete(s.blocked, i, i+1)
	}
}

// finish ends a wait with the given answer.
func (s *Server) finish(w *waiter, answer func(c *Conn)) {
	start := len(w.conn.out)
	answer(w.conn)
	s.finished(w, start)
}

// finished ends a wait whose answer was appended from start on.
func (s *Server) finished(w *waiter, start int) {
	c := w.conn
	s.unblock(w)
	c.observe(w.args, start)
	s.resumed = append(s.resumed, c)
	if c.direct {
		c.replyLate()
		c.out = c.out[:0]
		return
	}
	c.markDirty()
}

// collectReady notes, after a command that may have written, which keys that somebody waits for exist now. Keys
// that a transaction or a script creates one after the other are served in that order.
func (s *Server) collectReady() {
	for _, w := range s.blocked {
		for _, key := range w.keys {
			if s.db(key.db).Type(key.key) == w.kind && !slices.Contains(s.ready, key) {
				s.ready = append(s.ready, key)
			}
		}
	}
}

// serveReady answers those who wait for keys that came to be, key by key, the longest waiting first. Serving may
// create other keys, which are then ready too.
func (s *Server) serveReady() {
	for len(s.ready) > 0 {
		key := s.ready[0]
		s.ready = s.ready[1:]
		for _, w := range slices.Clone(s.blocked) {
			if s.db(key.db).Type(key.key) != w.kind || !slices.Contains(w.keys, key) || w.conn.waiting != w {
				continue
			}
			start := len(w.conn.out)
			if w.serve(w.conn, key.key) {
				s.finished(w, start)
				s.collectReady()
			}
		}
	}
	s.ready = nil
}

// keysIn names keys of the selected database.
func (c *Conn) keysIn(names []string) []keyOf {
	keys := make([]keyOf, len(names))
	for i, name := range names {
		keys[i] = keyOf{c.db, name}
	}
	return keys
}

// blockOn answers from the first of the keys that has something, or waits until one has.
func (c *Conn) blockOn(w *waiter, timeout time.Duration, whenDenied func(*Conn)) {
	db := c.database()
	for _, key := range w.keys {
		kind := db.Type(key.key)
		if kind == "" {
			continue
		}
		if kind != w.kind {
			c.writeError(errWrongType)
			return
		}
		if w.serve(c, key.key) {
			return
		}
	}
	if !c.mayWait() {
		whenDenied(c)
		return
	}
	c.wait(w, timeout)
}

// maxMillis is the longest time-out that a time.Duration can hold: 292 years.
const maxMillis = math.MaxInt64 / 1_000_000

// parseTimeout reads a time-out in seconds with a fraction. Redis rounds it up to milliseconds.
func (c *Conn) parseTimeout(text string) (timeout time.Duration, ok bool) {
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(seconds) || strings.ContainsAny(text, "xX_") {
		c.writeError("ERR timeout is not a float or out of range")
		return 0, false
	}
	millis := math.Ceil(seconds * 1000)
	if millis < 0 || millis >= math.MaxInt64 { // the conversion to an integer overflows in Redis
		c.writeError("ERR timeout is negative")
		return 0, false
	}
	return time.Duration(min(int64(millis), maxMillis)) * time.Millisecond, true
}

// parseMillis reads a time-out in whole milliseconds.
func (c *Conn) parseMillis(text string) (timeout time.Duration, ok bool) {
	millis, ok := parseInteger(text)
	switch {
	case !ok:
		c.writeError("ERR timeout is not an integer or out of range")
		return 0, false
	case millis < 0:
		c.writeError("ERR timeout is negative")
		return 0, false
	}
	return time.Duration(min(millis, maxMillis)) * time.Millisecond, true
}

// blockingPop makes BLPOP, BRPOP, BZPOPMIN and BZPOPMAX out of the command that pops one element.
func blockingPop(pop string) handler {
	kind := "list"
	if pop[0] == 'Z' {
		kind = "zset"
	}
	return func(c *Conn, args []string) {
		last := len(args) - 1
		timeout, ok := c.parseTimeout(args[last])
		if !ok {
			return
		}
		w := &waiter{args: args, kind: kind, keys: c.keysIn(args[1:last]), onTimeout: nullArray}
		w.serve = func(c *Conn, key string) bool {
			if kind == "list" {
				c.writeArray(2)
				c.writeBulk(key)
				c.dispatch([]string{pop, key})
				return true
			}
			c.writeArray(3)
			c.writeBulk(key)
			element := c.silently([]string{pop, key}) // an array of member and score
			c.out = append(c.out, strings.TrimPrefix(element, "*2\r\n")...)
			return true
		}
		c.blockOn(w, timeout, nullArray)
	}
}

func blmove(c *Conn, args []string) {
	for _, side := range args[3:5] {
		if !strings.EqualFold(side, "LEFT") && !strings.EqualFold(side, "RIGHT") {
			c.writeError(errSyntax)
			return
		}
	}
	c.blockingMove(args, args[1], args[2], args[3], args[4], args[5])
}

func brpoplpush(c *Conn, args []string) {
	c.blockingMove(args, args[1], args[2], "RIGHT", "LEFT", args[3])
}

func (c *Conn) blockingMove(args []string, source, destination, from, to, seconds string) {
	timeout, ok := c.parseTimeout(seconds)
	if !ok {
		return
	}
	w := &waiter{args: args, kind: "list", keys: c.keysIn([]string{source}), onTimeout: nullArray}
	w.serve = func(c *Conn, key string) bool {
		c.dispatch([]string{"LMOVE", key, destination, from, to})
		return true
	}
	c.blockOn(w, timeout, (*Conn).writeNull)
}

func blmpop(c *Conn, args []string) { c.blockingMultiPop(args, "list", "LMPOP") }

func bzmpop(c *Conn, args []string) { c.blockingMultiPop(args, "zset", "ZMPOP") }

// blockingMultiPop makes BLMPOP and BZMPOP: timeout numkeys key [key ...] <where> [COUNT count].
func (c *Conn) blockingMultiPop(args []string, kind, pop string) {
	timeout, ok := c.parseTimeout(args[1])
	if !ok {
		return
	}
	count, ok := parseInteger(args[2])
	if !ok || count <= 0 {
		c.writeError("ERR numkeys should be greater than 0")
		return
	}
	if count > int64(len(args)-4) {
		c.writeError(errSyntax)
		return
	}
	names, rest := args[3:3+count], slices.Clone(args[3+count:])
	w := &waiter{args: args, kind: kind, keys: c.keysIn(names), onTimeout: nullArray}
	w.serve = func(c *Conn, key string) bool {
		c.dispatch(append([]string{pop, "1", key}, rest...))
		return true
	}
	// The form of the rest is checked by the command itself, on a key that does not exist.
	if refusal := c.silently(append([]string{pop, "1", ""}, rest...)); refusal[0] == '-' {
		c.out = append(c.out, refusal...)
		return
	}
	c.blockOn(w, timeout, nullArray)
}

// xread makes XREAD and XREADGROUP. Without BLOCK they are the store's.
func xread(name string) handler {
	return func(c *Conn, args []string) {
		block, streams := -1, -1
		for i := 1; i < len(args) && streams < 0; i++ {
			switch strings.ToUpper(args[i]) {
			case "BLOCK":
				block = i
				i++
			case "STREAMS":
				streams = i
			case "COUNT":
				i++
			case "GROUP":
				i += 2
			}
		}
		if block < 0 || streams < 0 || (len(args)-streams-1)%2 != 0 {
			delegate(c, args)
			return
		}
		timeout, ok := c.parseMillis(args[block+1])
		if !ok {
			return
		}
		c.blockingRead(name, args, block, streams, timeout)
	}
}

func (c *Conn) blockingRead(name string, args []string, block, streams int, timeout time.Duration) {
	plain := slices.Concat(args[:block], args[block+2:])
	names := plain[streams-1:]
	names = names[:len(names)/2]
	ids := plain[len(plain)-len(names):]
	for i, id := range ids {
		if id == "$" && name == "xread" {
			ids[i] = c.lastEntry(names[i])
		}
	}
	read := func(c *Conn, _ string) bool {
		start := len(c.out)
		c.dispatch(slices.Clone(plain))
		if reply := string(c.out[start:]); reply == "*-1\r\n" || reply == "_\r\n" {
			c.out = c.out[:start]
			return false
		}
		return true
	}
	if read(c, "") {
		return
	}
	if !c.mayWait() {
		c.writeNullArray()
		return
	}
	w := &waiter{args: args, kind: "stream", keys: c.keysIn(names), onTimeout: nullArray, serve: read}
	c.wait(w, timeout)
}

// lastEntry returns the identity that $ stands for.
func (c *Conn) lastEntry(stream string) string {
	reply, _, _ := decodeReply([]byte(c.silently([]string{"XREVRANGE", stream, "+", "-", "COUNT", "1"})))
	if entries, ok := reply.([]any); ok && len(entries) == 1 {
		if entry, ok := entries[0].([]any); ok {
			if id, ok := entry[0].(string); ok {
				return id
			}
		}
	}
	return "0-0"
}

// wait is WAIT: there are no replicas, so that waiting for one takes until the time-out.
func wait(c *Conn, args []string) {
	replicas, ok := parseInteger(args[1])
	if !ok {
		c.writeError(errNotInteger)
		return
	}
	timeout, ok := c.parseMillis(args[2])
	if !ok {
		return
	}
	none := func(c *Conn) { c.writeInt(0) }
	if replicas <= 0 || !c.mayWait() {
		none(c)
		return
	}
	c.wait(&waiter{args: args, onTimeout: none}, timeout)
}
