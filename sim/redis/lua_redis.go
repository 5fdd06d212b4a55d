package redis

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// This file is the table "redis" of the scripts, and the conversion between the values of Lua and the protocol.

// refusals inside scripts have other words than outside.
const (
	errScriptUnknown = "ERR Unknown Redis command called from script"
	errScriptArity   = "ERR Wrong number of args calling Redis command from script"
	errScriptWrites  = "ERR Write commands are not allowed from read-only scripts."
	errScriptNoArgs  = "ERR Please specify at least one argument for this redis lib call"
	errScriptArgType = "ERR Lua redis lib command arguments must be strings or integers"
)

func (in *interpreter) redisTable() *lua.LTable {
	L := in.state
	table := L.SetFuncs(L.NewTable(), map[string]lua.LGFunction{
		"call":               func(L *lua.LState) int { return in.call(L, true) },
		"pcall":              func(L *lua.LState) int { return in.call(L, false) },
		"error_reply":        in.errorReply,
		"status_reply":       in.statusReply,
		"sha1hex":            in.sha1hex,
		"log":                in.log,
		"setresp":            in.setResp,
		"set_repl":           in.setRepl,
		"replicate_commands": func(L *lua.LState) int { L.Push(lua.LTrue); return 1 },
		"breakpoint":         func(L *lua.LState) int { L.Push(lua.LFalse); return 1 },
		"debug":              func(*lua.LState) int { return 0 },
		"acl_check_cmd":      in.aclCheck,
	})
	for _, constant := range []struct {
		name  string
		value lua.LNumber
	}{
		{"LOG_DEBUG", 0},
		{"LOG_VERBOSE", 1},
		{"LOG_NOTICE", 2},
		{"LOG_WARNING", 3},
		{"REPL_NONE", 0},
		{"REPL_AOF", 1},
		{"REPL_SLAVE", 2},
		{"REPL_REPLICA", 2},
		{"REPL_ALL", 3},
		{"REDIS_VERSION_NUM", 0x7000f},
	} {
		table.RawSetString(constant.name, constant.value)
	}
	table.RawSetString("REDIS_VERSION", lua.LString(version))
	return table
}

// call is redis.call and redis.pcall.
func (in *interpreter) call(L *lua.LState, raise bool) int {
	cmd, words, refusal := in.request(L)
	if refusal == "" {
		refusal = in.deny(cmd, words)
	}
	if refusal == "" && cmd.is(flagWrite) && in.fails() {
		refusal = errScriptFailed
	}
	c := in.nested
	c.out = c.out[:0]
	if refusal != "" {
		c.writeError(refusal)
	} else {
		c.perform(cmd, words)
		c.observe(words, 0)
	}
	value, _ := in.toLua(c.out)
	if raise && len(c.out) > 0 && c.out[0] == '-' {
		L.Error(value, 0)
		return 0
	}
	L.Push(value)
	return 1
}

// request reads the arguments of redis.call.
func (in *interpreter) request(L *lua.LState) (cmd *command, words []string, refusal string) {
	n := L.GetTop()
	if n == 0 {
		return nil, nil, errScriptNoArgs
	}
	words = in.words[:0]
	for i := 1; i <= n; i++ {
		switch word := L.Get(i).(type) {
		case lua.LString:
			words = append(words, string(word))
		case lua.LNumber:
			words = append(words, formatDouble(float64(word)))
		default:
			return nil, nil, errScriptArgType
		}
	}
	in.words = words
	if cmd, _ = lookup(words); cmd == nil {
		return nil, nil, errScriptUnknown
	}
	return cmd, words, ""
}

// deny judges whether a script may call the command.
func (in *interpreter) deny(cmd *command, words []string) string {
	switch {
	case !cmd.arityFits(len(words)):
		return errScriptArity
	case cmd.is(flagNoScript):
		return errDenied
	case in.readOnly && cmd.is(flagWrite):
		return errScriptWrites
	}
	return ""
}

// toLua converts the reply at the beginning of raw and returns what follows it.
func (in *interpreter) toLua(raw []byte) (lua.LValue, []byte) {
	line, rest, found := cutLine(raw)
	if !found || len(line) == 0 {
		return lua.LNil, nil
	}
	body := line[1:]
	switch line[0] {
	case ':':
		n, _ := parseDecimal(body)
		return lua.LNumber(n), rest
	case '+':
		return in.field("ok", lua.LString(body)), rest
	case '-':
		return in.field("err", lua.LString(body)), rest
	case '_':
		return lua.LNil, rest
	case '#':
		return lua.LBool(string(body) == "t"), rest
	case ',':
		f, _ := strconv.ParseFloat(string(body), 64)
		return in.field("double", lua.LNumber(f)), rest
	case '$':
		n, _ := parseDecimal(body)
		if n < 0 || int(n)+2 > len(rest) {
			return lua.LFalse, rest
		}
		return lua.LString(rest[:n]), rest[n+2:]
	case '*', '%', '~', '>':
		return in.toTable(line[0], body, rest)
	}
	return lua.LNil, rest
}

// toTable converts an array to a list, a map and a set to tables inside a table that names the type.
func (in *interpreter) toTable(kind byte, length, rest []byte) (lua.LValue, []byte) {
	n, _ := parseDecimal(length)
	if n < 0 {
		return lua.LFalse, rest
	}
	table := in.state.CreateTable(int(n), 0)
	for i := range int(n) {
		var key, value lua.LValue
		switch key, rest = in.toLua(rest); kind {
		case '%':
			value, rest = in.toLua(rest)
			table.RawSet(key, value)
		case '~':
			table.RawSet(key, lua.LTrue)
		default:
			table.RawSetInt(i+1, key)
		}
	}
	switch kind {
	case '%':
		return in.field("map", table), rest
	case '~':
		return in.field("set", table), rest
	}
	return table, rest
}

func (in *interpreter) field(name string, value lua.LValue) *lua.LTable {
	table := in.state.CreateTable(0, 1)
	table.RawSetString(name, value)
	return table
}

// maxReplyDepth bounds the nesting of a reply, since a table may contain itself.
const maxReplyDepth = 128

// reply appends what a script returned.
func (in *interpreter) reply(value lua.LValue, depth int) {
	c := in.caller
	if depth > maxReplyDepth {
		c.writeError("ERR reached lua stack limit")
		return
	}
	switch v := value.(type) {
	case lua.LString:
		c.writeBulk(string(v))
	case lua.LNumber:
		c.writeInt(truncate(float64(v)))
	case lua.LBool:
		switch {
		case in.nested.resp3:
			c.writeBool(bool(v))
		case bool(v):
			c.writeInt(1)
		default:
			c.writeNull()
		}
	case *lua.LTable:
		in.replyTable(v, depth)
	default:
		c.writeNull()
	}
}

// truncate converts as a C cast does on the processors that Redis runs on.
func truncate(f float64) int64 {
	if f >= math.MaxInt64 || f < math.MinInt64 || math.IsNaN(f) {
		return math.MinInt64
	}
	return int64(f)
}

func (in *interpreter) replyTable(table *lua.LTable, depth int) {
	c := in.caller
	if text, ok := table.RawGetString("err").(lua.LString); ok {
		c.writeError(strings.TrimPrefix(string(text), "-"))
		return
	}
	if text, ok := table.RawGetString("ok").(lua.LString); ok {
		c.writeStatus(strings.NewReplacer("\r", " ", "\n", " ").Replace(string(text)))
		return
	}
	if n, ok := table.RawGetString("double").(lua.LNumber); ok {
		c.writeDouble(float64(n))
		return
	}
	if inner, ok := table.RawGetString("map").(*lua.LTable); ok {
		n := 0
		inner.ForEach(func(_, _ lua.LValue) { n++ })
		c.writeMap(n)
		inner.ForEach(func(key, value lua.LValue) {
			in.reply(key, depth+1)
			in.reply(value, depth+1)
		})
		return
	}
	if inner, ok := table.RawGetString("set").(*lua.LTable); ok {
		n := 0
		inner.ForEach(func(_, _ lua.LValue) { n++ })
		c.writeSet(n)
		inner.ForEach(func(key, _ lua.LValue) { in.reply(key, depth+1) })
		return
	}
	n := 0
	for table.RawGetInt(n+1) != lua.LNil {
		n++
	}
	c.writeArray(n)
	for i := 1; i <= n; i++ {
		in.reply(table.RawGetInt(i), depth+1)
	}
}

// throw raises a refusal of the library itself.
func (in *interpreter) throw(L *lua.LState, text string) int {
	L.Error(in.field("err", lua.LString("ERR "+text)), 0)
	return 0
}

func (in *interpreter) errorReply(L *lua.LState) int {
	text, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(in.field("err", lua.LString("ERR wrong number or type of arguments")))
		return 1
	}
	message := strings.TrimPrefix(string(text), "-")
	if !strings.Contains(message, " ") {
		message = "ERR " + message
	}
	L.Push(in.field("err", lua.LString(message)))
	return 1
}

func (in *interpreter) statusReply(L *lua.LState) int {
	text, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(in.field("err", lua.LString("ERR wrong number or type of arguments")))
		return 1
	}
	L.Push(in.field("ok", text))
	return 1
}

func (in *interpreter) sha1hex(L *lua.LState) int {
	if L.GetTop() != 1 {
		return in.throw(L, "wrong number of arguments")
	}
	L.Push(lua.LString(sha1Hex(luaText(L.Get(1)))))
	return 1
}

// log checks its arguments and writes nothing: there is no log file.
func (in *interpreter) log(L *lua.LState) int {
	if L.GetTop() < 2 {
		return in.throw(L, "redis.log() requires two arguments or more.")
	}
	level, ok := L.Get(1).(lua.LNumber)
	if !ok {
		return in.throw(L, "First argument must be a number (log level).")
	}
	if level < 0 || level > 3 {
		return in.throw(L, "Invalid debug level.")
	}
	return 0
}

func (in *interpreter) setResp(L *lua.LState) int {
	if L.GetTop() != 1 {
		return in.throw(L, "redis.setresp() requires one argument.")
	}
	switch n, _ := L.Get(1).(lua.LNumber); n {
	case 2:
		in.nested.resp3 = false
	case 3:
		in.nested.resp3 = true
	default:
		return in.throw(L, "RESP version must be 2 or 3.")
	}
	return 0
}

func (in *interpreter) setRepl(L *lua.LState) int {
	if L.GetTop() != 1 {
		return in.throw(L, "redis.set_repl() requires two arguments.")
	}
	flags, _ := L.Get(1).(lua.LNumber)
	if flags < 0 || flags > 3 {
		return in.throw(L, "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

// aclCheck answers that everything is allowed: there are no users.
func (in *interpreter) aclCheck(L *lua.LState) int {
	if L.GetTop() == 0 {
		return in.throw(L, "Please specify at least one argument for this redis.acl_check_cmd() call")
	}
	if name, ok := L.Get(1).(lua.LString); !ok || commands[strings.ToLower(string(name))] == nil {
		return in.throw(L, "Invalid command passed to redis.acl_check_cmd()")
	}
	L.Push(lua.LTrue)
	return 1
}
