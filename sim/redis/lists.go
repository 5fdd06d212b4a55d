package redis

// pop is LPOP and RPOP, with the refusal of Redis for a count that is none.
func pop(c *Conn, args []string) {
	if len(args) > 3 {
		c.writeError(errArity(args[0]))
		return
	}
	if len(args) == 3 {
		if n, ok := parseInteger(args[2]); !ok || n < 0 {
			c.writeError("ERR value is out of range, must be positive")
			return
		}
	}
	delegate(c, args)
}
