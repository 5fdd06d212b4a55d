package redis

import "math"

// hincrby is HINCRBY, with the refusals of Redis where the store has others.
func hincrby(c *Conn, args []string) {
	by, ok := parseInteger(args[3])
	if !ok {
		c.writeError(errNotInteger)
		return
	}
	current, _, _ := decodeReply([]byte(c.silently([]string{"HGET", args[1], args[2]})))
	var n int64
	switch v := current.(type) {
	case ReplyError:
		c.writeError(string(v))
		return
	case string:
		if n, ok = parseInteger(v); !ok {
			c.writeError("ERR hash value is not an integer")
			return
		}
	}
	if by < 0 && n < math.MinInt64-by || by > 0 && n > math.MaxInt64-by {
		c.writeError("ERR increment or decrement would overflow")
		return
	}
	delegate(c, args)
}
