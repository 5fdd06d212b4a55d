package redis

import (
	"math"
	"strings"
)

// This file answers the commands on keys whatever their type: their expiry, and what the store answers in an order
// or with a randomness that is not the seed's.

// expire makes EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. unit is in milliseconds.
func expire(name string, unit int64, absolute bool) handler {
	return func(c *Conn, args []string) {
		condition, refusal := parseExpireCondition(args[3:])
		if refusal != "" {
			c.writeError(refusal)
			return
		}
		when, ok := parseInteger(args[2])
		if !ok {
			c.writeError(errNotInteger)
			return
		}
		if when > math.MaxInt64/unit || when < math.MinInt64/unit {
			c.invalidExpiry(name)
			return
		}
		when *= unit
		now := c.server.clock.millis
		if !absolute {
			if when > math.MaxInt64-max(now, 0) {
				c.invalidExpiry(name)
				return
			}
			when += now
		}
		c.applyExpire(args[1], when, condition)
	}
}

func (c *Conn) applyExpire(key string, when int64, condition expireCondition) {
	db := c.database()
	if !db.Exists(key) {
		c.writeInt(0)
		return
	}
	current, expires := c.server.deadline(db, key)
	if condition.onlyNew && expires || condition.onlyOld && !expires ||
		condition.greater && (!expires || when <= current) ||
		condition.less && expires && when >= current {
		c.writeInt(0)
		return
	}
	if when <= c.server.clock.millis {
		db.Del(key)
	} else {
		c.server.setDeadline(db, key, when)
	}
	c.writeInt(1)
}

// expireCondition says when EXPIRE shall change anything.
type expireCondition struct{ onlyNew, onlyOld, greater, less bool }

func parseExpireCondition(options []string) (condition expireCondition, refusal string) {
	for _, option := range options {
		switch strings.ToUpper(option) {
		case "NX":
			condition.onlyNew = true
		case "XX":
			condition.onlyOld = true
		case "GT":
			condition.greater = true
		case "LT":
			condition.less = true
		default:
			return condition, "ERR Unsupported option " + option
		}
	}
	switch {
	case condition.onlyNew && (condition.onlyOld || condition.greater || condition.less):
		return condition, "ERR NX and XX, GT or LT options at the same time are not compatible"
	case condition.greater && condition.less:
		return condition, "ERR GT and LT options at the same time are not compatible"
	}
	return condition, ""
}

// timeLeft makes TTL, PTTL, EXPIRETIME and PEXPIRETIME.
func timeLeft(inSeconds, absolute bool) handler {
	return func(c *Conn, args []string) {
		db := c.database()
		if !db.Exists(args[1]) {
			c.writeInt(-2)
			return
		}
		millis, expires := c.server.deadline(db, args[1])
		if !expires {
			c.writeInt(-1)
			return
		}
		if !absolute {
			millis = max(millis-c.server.clock.millis, 0)
		}
		if inSeconds {
			millis = (millis + 500) / 1000
		}
		c.writeInt(millis)
	}
}

func randomKey(c *Conn, _ []string) {
	keys := c.database().Keys() // sorted
	if len(keys) == 0 {
		c.writeNull()
		return
	}
	c.writeBulk(keys[c.server.rng().IntN(len(keys))])
}

// seeded lets the store answer a command that draws at random.
func seeded(c *Conn, args []string) {
	c.server.seedStore()
	delegate(c, args)
}

// restore is RESTORE with an expiry that follows the wall clock.
func restore(c *Conn, args []string) {
	ttl, ok := parseInteger(args[2])
	switch {
	case !ok:
		c.writeError(errNotInteger)
		return
	case ttl < 0:
		c.writeError("ERR Invalid TTL value, must be >= 0")
		return
	}
	plain := []string{args[0], args[1], "0", args[3]}
	absolute := false
	for _, option := range args[4:] {
		if strings.EqualFold(option, "ABSTTL") {
			absolute = true
			continue
		}
		plain = append(plain, option)
	}
	start := len(c.out)
	c.dispatch(plain)
	if ttl == 0 || string(c.out[start:]) != "+OK\r\n" {
		return
	}
	if !absolute {
		ttl += min(c.server.clock.millis, math.MaxInt64-ttl)
	}
	c.server.setDeadline(c.database(), args[1], ttl)
}

// database reads a database number.
func (c *Conn) databaseOf(text string) (db int, ok bool) {
	n, ok := parseInteger(text)
	switch {
	case !ok:
		c.writeError(errNotInteger)
		return 0, false
	case n < 0 || n >= databases:
		c.writeError(errOutOfRange)
		return 0, false
	}
	return int(n), true
}

func selectDB(c *Conn, args []string) {
	if db, ok := c.databaseOf(args[1]); ok {
		c.db = db
		c.writeOK()
	}
}

func move(c *Conn, args []string) {
	db, ok := c.databaseOf(args[2])
	switch {
	case !ok:
	case db == c.db:
		c.writeError(errSameObjects)
	default:
		c.server.db(db)
		delegate(c, args)
	}
}

func copyKey(c *Conn, args []string) {
	for i := 3; i+1 < len(args); i++ {
		if strings.EqualFold(args[i], "DB") {
			db, ok := c.databaseOf(args[i+1])
			if !ok {
				return
			}
			c.server.db(db)
		}
	}
	delegate(c, args)
}

func swapDB(c *Conn, args []string) {
	first, ok := parseInteger(args[1])
	if !ok {
		c.writeError("ERR invalid first DB index")
		return
	}
	second, ok := parseInteger(args[2])
	if !ok {
		c.writeError("ERR invalid second DB index")
		return
	}
	if first < 0 || first >= databases || second < 0 || second >= databases {
		c.writeError(errOutOfRange)
		return
	}
	s := c.server
	one, two := int(first), int(second)
	s.db(one)
	s.db(two)
	s.swapWatched(one, two, func() {
		c.dispatch(args)
		s.dbs[one], s.dbs[two] = s.dbs[two], s.dbs[one]
	})
}

// flush makes FLUSHDB and FLUSHALL.
func flush(all bool) handler {
	return func(c *Conn, args []string) {
		if len(args) > 2 || len(args) == 2 && !strings.EqualFold(args[1], "SYNC") && !strings.EqualFold(args[1], "ASYNC") {
			c.writeError(errSyntax)
			return
		}
		if all {
			for db := range databases {
				c.server.touchWatched(db)
			}
			c.server.flushAll()
		} else {
			c.server.touchWatched(c.db)
			c.database().FlushDB()
		}
		c.writeOK()
	}
}
