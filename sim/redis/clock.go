package redis

import (
	"math"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// wallClock keeps the expiry of keys in absolute wall-clock milliseconds, as Redis does, on top of a store that keeps
// a remaining time per key and counts it down.
//
// The store is never told to count down by itself. Its remaining times are all relative to base, a fixed reading,
// so that
//
//	deadline = base + remaining - tick
//
// holds whatever the clock does in between, and a clock that steps back needs nothing at all. Only when the clock
// has passed the earliest deadline is the store moved forward to now, which removes what is over, and base with it.
// The tick of 1 ns makes a key live through the millisecond of its deadline: Redis asks now > deadline, the store
// asks remaining <= 0.
type wallClock struct {
	micros   int64 // the reading at the start of the current command
	millis   int64
	base     int64 // milliseconds, see above
	earliest int64 // no key's deadline is before this
	// fieldExpiry is set once a hash field was given a deadline. The store counts those down from the present, and
	// then base must follow the clock from command to command.
	fieldExpiry bool
}

const (
	tick = time.Nanosecond
	// horizon bounds deadlines in milliseconds from base, since the store counts in int64 nanoseconds: 140 years.
	horizon = 140 * 365 * 24 * 3600 * 1000
)

// tick reads the wall clock for the command to come and removes the keys that are over.
func (s *Server) tick() {
	now := s.config.Now()
	micros := now.UnixMicro()
	if micros == s.clock.micros && s.clock.millis <= s.clock.earliest {
		return
	}
	s.clock.micros = micros
	millis := now.UnixMilli()
	if millis != s.clock.millis {
		s.clock.millis = millis
		s.store.SetTime(time.UnixMilli(millis).UTC())
	}
	if millis > s.clock.earliest || s.clock.fieldExpiry {
		s.rebase()
	}
}

// startClock begins to follow a clock. The store must be empty.
func (s *Server) startClock() {
	now := s.config.Now()
	millis := now.UnixMilli()
	s.clock = wallClock{micros: now.UnixMicro(), millis: millis, base: millis, earliest: math.MaxInt64}
	s.store.SetTime(time.UnixMilli(millis).UTC())
}

// rebase moves the store's remaining times to the present and finds the earliest deadline again.
func (s *Server) rebase() {
	s.store.FastForward(time.Duration(s.clock.millis-s.clock.base) * time.Millisecond)
	s.clock.base = s.clock.millis
	s.clock.earliest = math.MaxInt64
	for _, db := range s.dbs {
		if db == nil {
			continue
		}
		for _, key := range db.Keys() {
			if deadline, expires := s.deadline(db, key); expires {
				s.clock.earliest = min(s.clock.earliest, deadline)
			}
		}
	}
}

// deadline returns the wall-clock millisecond in which a key expires.
func (s *Server) deadline(db *miniredis.RedisDB, key string) (millis int64, expires bool) {
	remaining := db.TTL(key)
	if remaining == 0 {
		return 0, false
	}
	return s.clock.base + int64((remaining-tick)/time.Millisecond), true
}

// setDeadline makes an existing key expire after the given wall-clock millisecond. A key whose deadline has passed is
// gone at once: nobody could see it again.
func (s *Server) setDeadline(db *miniredis.RedisDB, key string, millis int64) {
	if millis < s.clock.millis {
		db.Del(key)
		return
	}
	ahead := min(max(millis-s.clock.base, -horizon), horizon)
	db.SetTTL(key, time.Duration(ahead)*time.Millisecond+tick)
	s.clock.earliest = min(s.clock.earliest, s.clock.base+ahead)
}

// withFieldExpiry lets the store answer a command on the expiry of hash fields.
func withFieldExpiry(c *Conn, args []string) {
	c.server.rebase()
	c.dispatch(args)
	c.server.clock.fieldExpiry = true
}
