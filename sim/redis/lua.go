package redis

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// interpreter is a Lua machine with the libraries that Redis offers. Making one costs a hundred times what a lock's
// script costs, so they are kept for the process and serve one script after the other: of any connection, server
// and world. A script can leave nothing behind in one, since all that outlives a script is read-only to it.
type interpreter struct {
	state   *lua.LState
	onError *lua.LFunction
	budget  budget
	globals *lua.LTable // what scripts see through the read-only environment

	// Of the running script:
	caller    *Conn
	nested    *Conn
	script    *script
	readOnly  bool
	words     []string // scratch for the arguments of redis.call
	protected map[*lua.LTable]bool
	writes    int64 // commands of it that may write, so far
	// spent tells that the machine must not be used again: its coroutines may be in any state.
	spent bool
}

var interpreters = sync.Pool{}

func takeInterpreter() *interpreter {
	if in, ok := interpreters.Get().(*interpreter); ok {
		return in
	}
	return newInterpreter()
}

func releaseInterpreter(in *interpreter) {
	if in.spent {
		in.state.Close()
		return
	}
	in.caller, in.nested, in.script = nil, nil, nil
	interpreters.Put(in)
}

// budget bounds a script by the number of instructions, which unlike time is the same in every run. The machine asks
// its context before each instruction whether it is done: that is where they are counted.
type budget struct {
	left int
}

// expired is closed from the start. It belongs to no bubble, since it is made with the package.
var expired = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (b *budget) Done() <-chan struct{} {
	b.left--
	if b.left < 0 {
		return expired
	}
	return nil
}

func (b *budget) Err() error {
	if b.left < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }

func (b *budget) Value(any) any { return nil }

// run executes a script and appends its reply to the caller's output.
func (in *interpreter) run(caller, nested *Conn, s *script, keys, argv []string, readOnly bool) {
	in.caller, in.nested, in.script, in.readOnly, in.writes = caller, nested, s, readOnly, 0
	in.budget.left = caller.server.config.ScriptBudget
	in.globals.RawSetString("KEYS", in.list(keys))
	in.globals.RawSetString("ARGV", in.list(argv))

	result, err := in.execute(s)
	if err == nil {
		in.reply(result, 0)
		return
	}
	if in.budget.left < 0 {
		in.spent = true
		caller.writeError("BUSY the script was stopped after " +
			strconv.Itoa(caller.server.config.ScriptBudget) + " instructions. script: " + s.sha)
		return
	}
	in.fail(err)
}

// execute runs the body of a script. The machine panics when its stack is full in the midst of handling an error.
func (in *interpreter) execute(s *script) (result lua.LValue, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			in.spent = true
			err = errors.New(chunkName + ": the script overflowed the stack")
		}
	}()
	L := in.state
	L.Push(L.NewFunctionFromProto(s.body))
	if err := L.PCall(0, 1, in.onError); err != nil {
		L.SetTop(0)
		return nil, err
	}
	result = L.Get(-1)
	L.SetTop(0)
	return result, nil
}

func (in *interpreter) list(words []string) *lua.LTable {
	table := in.state.CreateTable(len(words), 0)
	for _, word := range words {
		table.Append(lua.LString(word))
	}
	return table
}

// fail answers with an error that the script did not catch.
func (in *interpreter) fail(err error) {
	var thrown *lua.LTable
	if raised, ok := err.(*lua.ApiError); ok {
		thrown, _ = raised.Object.(*lua.LTable)
	}
	if thrown == nil {
		in.spent = true // the machine itself gave up, such as when its stack is full
		in.caller.writeError("ERR " + err.Error() + " script: " + in.script.sha + ", on @" + chunkName + ":1.")
		return
	}
	text := "ERR unknown error"
	if message, ok := thrown.RawGetString("err").(lua.LString); ok {
		text = string(message)
	}
	source, line := thrown.RawGetString("source"), thrown.RawGetString("line")
	if source != lua.LNil && line != lua.LNil {
		text += " script: " + in.script.sha + ", on " + source.String() + ":" + line.String() + "."
	}
	in.caller.writeError(text)
}

// handleError turns whatever was thrown into a table that says what, and where in the script.
func (in *interpreter) handleError(L *lua.LState) int {
	thrown, ok := L.Get(1).(*lua.LTable)
	if !ok {
		text := "nil"
		if L.Get(1) != nil && L.Get(1) != lua.LNil {
			text = luaText(L.Get(1))
		}
		thrown = L.NewTable()
		thrown.RawSetString("err", lua.LString("ERR "+text))
	}
	for level := 1; level <= 3; level++ {
		frame, ok := L.GetStack(level)
		if !ok {
			break
		}
		if _, err := L.GetInfo("Sl", frame, lua.LNil); err == nil && frame.CurrentLine > 0 {
			thrown.RawSetString("source", lua.LString("@"+frame.Source))
			thrown.RawSetString("line", lua.LNumber(frame.CurrentLine))
			break
		}
	}
	L.Push(thrown)
	return 1
}

// luaText is tostring: numbers have 14 significant digits, as in Lua.
func luaText(v lua.LValue) string {
	if n, ok := v.(lua.LNumber); ok {
		return strconv.FormatFloat(float64(n), 'g', 14, 64)
	}
	return v.String()
}
