package redis

import (
	"maps"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"
)

// The libraries of Lua that scripts may use, by name. What a script could use to read the machine it runs on, or to
// leave something behind, is missing here as it is in Redis.
var (
	allowedGlobals = []string{
		"assert", "getmetatable", "ipairs", "load", "loadstring", "next", "pairs",
		"rawequal", "rawget", "select", "tonumber", "type", "unpack", "xpcall",
	}
	allowedLibraries = []library{
		{lua.TabLibName, lua.OpenTable},
		{lua.StringLibName, lua.OpenString},
		{lua.MathLibName, lua.OpenMath},
		{lua.CoroutineLibName, lua.OpenCoroutine},
	}
)

type library struct {
	name string
	open lua.LGFunction
}

const errReadOnlyTable = "Attempt to modify a readonly table"

// old51 are functions of Lua 5.1 that the machine does not have.
const old51 = `
local string, table = ...
string.gfind = string.gmatch
function table.foreach(t, f) for k, v in pairs(t) do local r = f(k, v) if r ~= nil then return r end end end
function table.foreachi(t, f) for k, v in ipairs(t) do local r = f(k, v) if r ~= nil then return r end end end
function table.setn() error("'setn' is obsolete") end
`

func newInterpreter() *interpreter {
	in := &interpreter{
		state: lua.NewState(lua.Options{
			SkipOpenLibs: true, CallStackSize: 256, RegistrySize: 1024, RegistryMaxSize: 256 << 10,
			RegistryGrowStep: 4096,
		}),
		protected: map[*lua.LTable]bool{},
	}
	L := in.state
	in.onError = L.NewFunction(in.handleError)
	libraries := in.openLibraries()

	in.globals = L.NewTable()
	all := L.G.Global
	for _, name := range allowedGlobals {
		in.globals.RawSetString(name, all.RawGetString(name))
	}
	in.replaceBuiltins()
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		in.globals.RawSetString(name, in.readOnlyView(libraries[name]))
	}
	in.globals.RawSetString("_VERSION", lua.LString("Lua 5.1"))

	// Scripts see an empty table that finds everything in globals and takes no assignment.
	missing := L.NewTable()
	missing.RawSetString("__index", L.NewFunction(func(L *lua.LState) int {
		L.RaiseError("Script attempted to access nonexistent global variable '%s'", luaText(L.Get(2)))
		return 0
	}))
	in.globals.Metatable = missing
	environment := in.readOnlyView(in.globals)
	in.globals.RawSetString("_G", environment)
	L.Env = environment

	L.SetContext(&in.budget)
	return in
}

// openLibraries loads Lua's libraries and this package's and returns them by name.
func (in *interpreter) openLibraries() map[string]*lua.LTable {
	L := in.state
	L.Push(L.NewFunction(lua.OpenBase))
	L.Call(0, 0)
	libraries := map[string]*lua.LTable{}
	for _, library := range allowedLibraries {
		L.Push(L.NewFunction(library.open))
		L.Push(lua.LString(library.name))
		L.Call(1, 1)
		libraries[library.name], _ = L.Get(-1).(*lua.LTable)
		L.SetTop(0)
	}
	compat, err := L.LoadString(old51)
	if err != nil { // the text is a constant
		panic(err)
	}
	L.Push(compat)
	L.Push(libraries[lua.StringLibName])
	L.Push(libraries[lua.TabLibName])
	L.Call(2, 0)
	// Methods of strings ("x"):len() look in the library itself; nobody may replace it.
	if methods, ok := L.GetMetatable(lua.LString("")).(*lua.LTable); ok {
		methods.RawSetString("__metatable", lua.LFalse)
	}
	in.limitStrings(libraries[lua.StringLibName])
	in.countCoroutines(libraries[lua.CoroutineLibName])
	in.seedMath(libraries[lua.MathLibName])
	libraries["bit"] = bitTable(L)
	libraries["cjson"] = cjsonTable(L)
	libraries["redis"] = in.redisTable()
	return libraries
}

// readOnlyView returns an empty table that reads through to another. Lua asks a metatable about assignments only for
// absent keys, and in the view all keys are absent.
func (in *interpreter) readOnlyView(table *lua.LTable) *lua.LTable {
	L := in.state
	view := L.NewTable()
	meta := L.NewTable()
	meta.RawSetString("__index", table)
	meta.RawSetString("__newindex", L.NewFunction(func(L *lua.LState) int {
		L.RaiseError(errReadOnlyTable)
		return 0
	}))
	meta.RawSetString("__metatable", lua.LFalse)
	view.Metatable = meta
	in.protected[view] = true
	return view
}

// replaceBuiltins sets the global functions that differ from Lua's own.
func (in *interpreter) replaceBuiltins() {
	L := in.state
	define := func(name string, f lua.LGFunction) { in.globals.RawSetString(name, L.NewFunction(f)) }
	define("tostring", func(L *lua.LState) int {
		if n, ok := L.CheckAny(1).(lua.LNumber); ok {
			L.Push(lua.LString(luaText(n)))
			return 1
		}
		L.Push(L.ToStringMeta(L.Get(1)))
		return 1
	})
	define("error", raise)
	define("rawset", func(L *lua.LState) int {
		table := L.CheckTable(1)
		if in.protected[table] {
			return in.throw(L, errReadOnlyTable)
		}
		table.RawSet(L.CheckAny(2), L.CheckAny(3))
		L.SetTop(1)
		return 1
	})
	setMetatable, _ := L.G.Global.RawGetString("setmetatable").(*lua.LFunction)
	define("setmetatable", func(L *lua.LState) int {
		if table, ok := L.Get(1).(*lua.LTable); ok && in.protected[table] {
			return in.throw(L, errReadOnlyTable)
		}
		return setMetatable.GFunction(L)
	})
	define("gcinfo", func(L *lua.LState) int { L.Push(lua.LNumber(0)); return 1 })
	define("collectgarbage", func(L *lua.LState) int { L.Push(lua.LNumber(0)); return 1 })
	pcall, _ := L.G.Global.RawGetString("pcall").(*lua.LFunction)
	// pcall hands out the text of an error that redis.call threw.
	define("pcall", func(L *lua.LState) int {
		n := pcall.GFunction(L)
		if n == 2 && L.Get(-2) == lua.LFalse {
			if thrown, ok := L.Get(-1).(*lua.LTable); ok {
				if text, ok := thrown.RawGetString("err").(lua.LString); ok {
					L.Pop(1)
					L.Push(text)
				}
			}
		}
		return n
	})
}

// raise is error: the position in front of a text is that of the caller, if the caller is written in Lua.
func raise(L *lua.LState) int {
	thrown := L.Get(1)
	level := L.OptInt(2, 1)
	if text, ok := thrown.(lua.LString); ok && level > 0 {
		if frame, ok := L.GetStack(level); ok {
			if _, err := L.GetInfo("Sl", frame, lua.LNil); err == nil && frame.CurrentLine > 0 {
				thrown = lua.LString(frame.Source+":"+strconv.Itoa(frame.CurrentLine)+": ") + text
			}
		}
	}
	L.Error(thrown, 0)
	return 0
}

// maxText bounds the strings that one library call can make, which costs a script one instruction only.
const maxText = 64 << 20

func (in *interpreter) limitStrings(library *lua.LTable) {
	rep, _ := library.RawGetString("rep").(*lua.LFunction)
	library.RawSetString("rep", in.state.NewFunction(func(L *lua.LState) int {
		if n := L.CheckInt(2); n > 0 && len(L.CheckString(1)) > maxText/n {
			L.RaiseError("resulting string too large")
			return 0
		}
		return rep.GFunction(L)
	}))
}

// countCoroutines makes coroutines share the script's budget; by themselves they would run under a context that never
// asks it. A machine that has run coroutines is not used again.
func (in *interpreter) countCoroutines(library *lua.LTable) {
	create, _ := library.RawGetString("create").(*lua.LFunction)
	wrap, _ := library.RawGetString("wrap").(*lua.LFunction)
	library.RawSetString("create", in.state.NewFunction(func(L *lua.LState) int {
		in.spent = true
		n := create.GFunction(L)
		if thread, ok := L.Get(-1).(*lua.LState); ok {
			thread.SetContext(&in.budget)
		}
		return n
	}))
	library.RawSetString("wrap", in.state.NewFunction(func(L *lua.LState) int {
		in.spent = true
		n := wrap.GFunction(L)
		if wrapped, ok := L.Get(-1).(*lua.LFunction); ok && len(wrapped.Upvalues) > 0 {
			if thread, ok := wrapped.Upvalues[0].Value().(*lua.LState); ok {
				thread.SetContext(&in.budget)
			}
		}
		return n
	}))
}

// seedMath replaces the random functions by the generator of drand48, which Redis never seeds: its state
// lives as long as the server's process.
func (in *interpreter) seedMath(library *lua.LTable) {
	const span = 1<<31 - 1
	draw := func() float64 {
		state := &in.nested.server.scripts.random
		*state = (*state*0x5deece66d + 0xb) & (1<<48 - 1)
		return float64(*state>>17%span) / span
	}
	library.RawSetString("random", in.state.NewFunction(func(L *lua.LState) int {
		r := draw()
		low, high := 1, 0
		switch L.GetTop() {
		case 0:
			L.Push(lua.LNumber(r))
			return 1
		case 1:
			high = L.CheckInt(1)
		case 2:
			low, high = L.CheckInt(1), L.CheckInt(2)
		default:
			L.RaiseError("wrong number of arguments")
			return 0
		}
		if low > high {
			L.ArgError(L.GetTop(), "interval is empty")
			return 0
		}
		L.Push(lua.LNumber(float64(int64(r*float64(high-low+1))) + float64(low)))
		return 1
	}))
	library.RawSetString("randomseed", in.state.NewFunction(func(L *lua.LState) int {
		in.nested.server.scripts.random = uint64(uint32(L.CheckInt(1)))<<16 | 0x330e
		return 0
	}))
}
