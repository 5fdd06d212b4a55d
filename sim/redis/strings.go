package redis

import (
	"errors"
	"math"
	"strings"

	"github.com/alicebob/miniredis/v2"
)

// This file answers the string commands that locks live on. They read and write the store through its own handles:
// faster than by way of its command table, and with the expiry that clock.go keeps.

func get(c *Conn, args []string) { c.answerGet(args[1]) }

// answerGet replies with a string key and tells whether the key is no other type.
func (c *Conn) answerGet(key string) bool {
	value, err := c.database().Get(key)
	switch {
	case err == nil:
		c.writeBulk(value)
	case errors.Is(err, miniredis.ErrKeyNotFound):
		c.writeNull()
	default:
		c.writeError(errWrongType)
		return false
	}
	return true
}

// put makes key a string without expiry, whatever it was.
func put(db *miniredis.RedisDB, key, value string) {
	if err := db.Set(key, value); err != nil {
		db.Del(key)
		_ = db.Set(key, value) // refuses other types only
	}
}

// putKeeping is put without a change of the expiry.
func putKeeping(db *miniredis.RedisDB, key, value string) {
	remaining := db.TTL(key)
	put(db, key, value)
	if remaining != 0 {
		db.SetTTL(key, remaining)
	}
}

// setOptions are the options of SET and GETEX.
type setOptions struct {
	onlyNew, onlyOld bool // NX, XX
	get              bool
	keepTTL, persist bool
	expiry           string // EX, PX, EXAT or PXAT
	amount           string
}

// parseSetOptions reads options as Redis does: in any order, and one of a family, which may be repeated. mode is "set"
// or "getex".
func parseSetOptions(options []string, mode string) (o setOptions, ok bool) {
	for i := 0; i < len(options); i++ {
		option := strings.ToUpper(options[i])
		isSet, isGetEx := mode == "set", mode == "getex"
		switch {
		case option == "NX" && isSet && !o.onlyOld:
			o.onlyNew = true
		case option == "XX" && isSet && !o.onlyNew:
			o.onlyOld = true
		case option == "GET" && isSet:
			o.get = true
		case option == "KEEPTTL" && isSet && !o.persist && o.expiry == "":
			o.keepTTL = true
		case option == "PERSIST" && isGetEx && !o.keepTTL && o.expiry == "":
			o.persist = true
		case option == "EX" || option == "PX" || option == "EXAT" || option == "PXAT":
			if o.keepTTL || o.persist || o.expiry != "" && o.expiry != option || i+1 == len(options) {
				return o, false
			}
			i++
			o.expiry, o.amount = option, options[i]
		default:
			return o, false
		}
	}
	return o, true
}

// expiryOf turns an option such as EX 10 into a deadline in wall-clock milliseconds, or answers with the refusal.
func (c *Conn) expiryOf(option, amount, commandName string) (millis int64, ok bool) {
	n, ok := parseInteger(amount)
	if !ok {
		c.writeError(errNotInteger)
		return 0, false
	}
	inSeconds := option == "EX" || option == "EXAT"
	if n > 0 && inSeconds && n <= math.MaxInt64/1000 {
		n *= 1000
	} else if n <= 0 || inSeconds {
		c.invalidExpiry(commandName)
		return 0, false
	}
	if option == "EX" || option == "PX" {
		if n > math.MaxInt64-max(c.server.clock.millis, 0) {
			c.invalidExpiry(commandName)
			return 0, false
		}
		n += c.server.clock.millis
	}
	return n, true
}

func (c *Conn) invalidExpiry(commandName string) {
	c.writeError("ERR invalid expire time in '" + commandName + "' command")
}

func set(c *Conn, args []string) {
	if len(args) == 3 {
		put(c.database(), args[1], args[2])
		c.writeOK()
		return
	}
	key, value := args[1], args[2]
	o, ok := parseSetOptions(args[3:], "set")
	if !ok {
		c.writeError(errSyntax)
		return
	}
	var deadline int64
	if o.expiry != "" {
		if deadline, ok = c.expiryOf(o.expiry, o.amount, "set"); !ok {
			return
		}
	}
	if o.get && !c.answerGet(key) {
		return
	}
	db := c.database()
	if exists := db.Exists(key); o.onlyNew && exists || o.onlyOld && !exists {
		if !o.get {
			c.writeNull()
		}
		return
	}
	if o.keepTTL {
		putKeeping(db, key, value)
	} else {
		put(db, key, value)
	}
	if o.expiry != "" {
		c.server.setDeadline(db, key, deadline)
	}
	if !o.get {
		c.writeOK()
	}
}

// setWithExpiry makes SETEX and PSETEX.
func setWithExpiry(option string) handler {
	return func(c *Conn, args []string) {
		name := "setex"
		if option == "PX" {
			name = "psetex"
		}
		deadline, ok := c.expiryOf(option, args[2], name)
		if !ok {
			return
		}
		db := c.database()
		put(db, args[1], args[3])
		c.server.setDeadline(db, args[1], deadline)
		c.writeOK()
	}
}

func setnx(c *Conn, args []string) {
	db := c.database()
	if db.Exists(args[1]) {
		c.writeInt(0)
		return
	}
	put(db, args[1], args[2])
	c.writeInt(1)
}

func getset(c *Conn, args []string) {
	if c.answerGet(args[1]) {
		put(c.database(), args[1], args[2])
	}
}

func getdel(c *Conn, args []string) {
	if c.answerGet(args[1]) {
		c.database().Del(args[1])
	}
}

func getex(c *Conn, args []string) {
	key := args[1]
	o, ok := parseSetOptions(args[2:], "getex")
	if !ok {
		c.writeError(errSyntax)
		return
	}
	db := c.database()
	exists := db.Exists(key)
	if exists && db.Type(key) != "string" {
		c.writeError(errWrongType)
		return
	}
	if !exists {
		c.writeNull()
		return
	}
	var deadline int64
	if o.expiry != "" {
		if deadline, ok = c.expiryOf(o.expiry, o.amount, "getex"); !ok {
			return
		}
	}
	c.answerGet(key)
	switch {
	case o.persist:
		c.silently([]string{"PERSIST", key})
	case o.expiry != "" && deadline <= c.server.clock.millis:
		db.Del(key)
	case o.expiry != "":
		c.server.setDeadline(db, key, deadline)
	}
}

// mset makes MSET and MSETNX.
func mset(onlyNew bool) handler {
	return func(c *Conn, args []string) {
		if len(args)%2 == 0 {
			c.writeError(errArity(args[0]))
			return
		}
		db := c.database()
		if onlyNew {
			for i := 1; i < len(args); i += 2 {
				if db.Exists(args[i]) {
					c.writeInt(0)
					return
				}
			}
		}
		for i := 1; i < len(args); i += 2 {
			put(db, args[i], args[i+1])
		}
		if onlyNew {
			c.writeInt(1)
			return
		}
		c.writeOK()
	}
}

func del(c *Conn, args []string) {
	db := c.database()
	removed := int64(0)
	for _, key := range args[1:] {
		if db.Del(key) {
			removed++
		}
	}
	c.writeInt(removed)
}

func exists(c *Conn, args []string) {
	db := c.database()
	found := int64(0)
	for _, key := range args[1:] {
		if db.Exists(key) {
			found++
		}
	}
	c.writeInt(found)
}

// step makes INCR and DECR.
func step(by int64) handler {
	return func(c *Conn, args []string) { c.increment(args[1], by) }
}

func incrby(c *Conn, args []string) {
	by, ok := parseInteger(args[2])
	if !ok {
		c.writeError(errNotInteger)
		return
	}
	c.increment(args[1], by)
}

func decrby(c *Conn, args []string) {
	by, ok := parseInteger(args[2])
	switch {
	case !ok:
		c.writeError(errNotInteger)
	case by == math.MinInt64:
		c.writeError("ERR decrement would overflow")
	default:
		c.increment(args[1], -by)
	}
}

// increment adds to an integer kept as a string. The expiry stays.
func (c *Conn) increment(key string, by int64) {
	db := c.database()
	text, err := db.Get(key)
	var n int64
	switch {
	case err == nil:
		var ok bool
		if n, ok = parseInteger(text); !ok {
			c.writeError(errNotInteger)
			return
		}
	case !errors.Is(err, miniredis.ErrKeyNotFound):
		c.writeError(errWrongType)
		return
	}
	if by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by {
		c.writeError("ERR increment or decrement would overflow")
		return
	}
	start := len(c.out)
	c.writeInt(n + by)
	digits := c.out[start+1 : len(c.out)-2]
	putKeeping(db, key, string(digits))
}
