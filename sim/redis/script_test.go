package redis

import (
	"strings"
	"testing"
	"time"
)

func TestRunawayScriptsStop(t *testing.T) {
	for name, body := range map[string]string{
		"loop":            "while true do end",
		"caught":          "while true do pcall(error, 'x') end",
		"caught loop":     "pcall(function() while true do end end) return 1",
		"xpcall":          "xpcall(function() while true do end end, function() end) while true do end",
		"coroutine":       "coroutine.resume(coroutine.create(function() while true do end end)) while true do end",
		"wrapped":         "coroutine.wrap(function() while true do end end)()",
		"recursion":       "local function f() return f() end return f()",
		"calls":           "while true do redis.call('incr','n') end",
		"inside callback": "return ('x'):gsub('x', function() while true do end end)",
		"inside sort":     "table.sort({3,2,1}, function() while true do end end)",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Config{ScriptBudget: 20_000})
			reply, _, _ := b.conn.Command([]string{"EVAL", body, "0"})
			refusal, ok := reply.(ReplyError)
			if !ok || !strings.HasPrefix(string(refusal), "BUSY the script was stopped after 20000 instructions") {
				t.Errorf("got %#v", reply)
			}
			b.want(`EVAL "return 1" 0`, 1)
		})
	}
}

func TestScriptsThatAskForTooMuch(t *testing.T) {
	for name, body := range map[string]string{
		"deep recursion": "local function f(n) return 1 + f(n+1) end return f(1)",
		"huge string":    "return #string.rep('x', 1e9)",
		"itself":         "local t = {} t[1] = t return t",
		"unpack":         "return select('#', unpack({}, 1, 1e7))",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Config{})
			_, raw, _ := b.conn.Command([]string{"EVAL", body, "0"})
			if !strings.Contains(string(raw), "-ERR ") {
				t.Errorf("got %.200q", raw)
			}
			b.want(`EVAL "return 1" 0`, 1)
		})
	}
}

// TestScriptsLeaveNothing runs what tries to change the machine for the scripts after it.
func TestScriptsLeaveNothing(t *testing.T) {
	probe := `return {type(string.evil), type(rawget(_G,'evil')), type(redis.evil), ('x'):upper(), tostring(1), ` +
		`math.floor(1.5), cjson.encode({1}), type(table.evil), #KEYS, type(getmetatable('').evil)}`
	b := newBench(t, Config{})
	run := func(body string) string {
		_, raw, _ := b.conn.Command([]string{"EVAL", body, "0"})
		return string(raw)
	}
	probe = strings.Replace(probe, "type(getmetatable('').evil)", "type(getmetatable(''))", 1)
	want := run(probe)
	if strings.HasPrefix(want, "-") {
		t.Fatal(want)
	}
	for _, attack := range []string{
		"string.evil = 1",
		"string.upper = nil",
		"evil = 1",
		"_G.evil = 1",
		"rawset(_G, 'evil', 1)",
		"rawset(string, 'upper', 1)",
		"rawset(redis, 'call', 1)",
		"setmetatable(_G, {__index = function() return 1 end})",
		"setmetatable(string, {})",
		"getmetatable(_G).__index = {}",
		"getmetatable(_G).__newindex = nil",
		"getmetatable(string).__index = {}",
		"getmetatable('').__index = {}",
		"getmetatable('').evil = 1",
		"table.insert(table, 1)",
		"table.insert(KEYS, 'x')",
		"table.sort = 1",
		"cjson.encode = 1",
		"cjson.null = 1",
		"math.floor = 1",
		"loadstring('evil = 1')()",
		"local f = loadstring('string.evil = 1') f()",
		"coroutine.wrap(function() evil = 1 end)()",
		"xpcall(function() error('x') end, function() string.evil = 1 end)",
		"table.remove(string)",
		"next = nil",
		"redis.setresp(3)",
		"redis.call('select', 5)",
	} {
		run(attack)
		if got := run(probe); got != want {
			t.Fatalf("after %q the probe says %q, not %q", attack, got, want)
		}
	}
}

func TestScriptSelectStaysInside(t *testing.T) {
	b := newBench(t, Config{})
	b.want("SELECT 1", "OK")
	b.want("SET here one", "OK")
	b.want(`EVAL "return redis.call('get','here')" 0`, "one")
	b.want(`EVAL "redis.call('select',2) redis.call('set','here','two') return redis.call('get','here')" 0`, "two")
	b.want("GET here", "one")
}

func TestScriptSeesOneInstant(t *testing.T) {
	b := newBench(t, Config{})
	reading := b.server.config.Now
	b.server.config.Now = func() time.Time { b.clock.move(time.Millisecond); return reading() }
	b.want(`EVAL "local a, b = redis.call('time'), redis.call('time') return tostring(a[2] == b[2])" 0`, "true")
}

func TestWritesBeforeAFailureStay(t *testing.T) {
	b := newBench(t, Config{ScriptBudget: 1000})
	b.do(`EVAL "redis.call('set','k','v') while true do end" 0`)
	b.want("GET k", "v")
}

func TestCompiledScriptsAreBounded(t *testing.T) {
	for i := range maxCompiled + 10 {
		compile("return " + strings.Repeat(" ", i))
	}
	if n := len(compiled.bySource); n > maxCompiled {
		t.Errorf("%d compiled scripts are kept", n)
	}
}

// FuzzScript looks for scripts that panic, hang or spoil the machine.
func FuzzScript(f *testing.F) {
	for _, seed := range []string{
		compareAndDelete, "return cjson.decode(ARGV[1])", "return {1,{2}}", "return redis.call('set','a','b').ok",
		"#!lua flags=no-writes\nreturn 1", "return bit.tohex(-1, -3)", "error({})", "return ('%d'):format(3)",
	} {
		f.Add(seed, `{"a":[1,null]}`)
	}
	f.Fuzz(func(t *testing.T, body, argument string) {
		c := New(Config{Now: fixedClock, ScriptBudget: 2000}).Connect(1, nil)
		_, raw, later := c.Command([]string{"EVAL", body, "1", "key", argument})
		if _, rest, err := decodeReply(raw); err != nil || len(rest) != 0 || later {
			t.Errorf("reply %q: %v", raw, err)
		}
		if reply, _, _ := c.Command([]string{"EVAL", "return 1", "0"}); reply != int64(1) {
			t.Errorf("afterwards: %v", reply)
		}
	})
}
