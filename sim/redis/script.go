package redis

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// DefaultScriptBudget is how many instructions of the Lua machine a script may take: some tenths of a second of real
// time. A real server would go on and answer BUSY to everybody else.
const DefaultScriptBudget = 10_000_000

const errNoScript = "NOSCRIPT No matching script. Please use EVAL."

// script is a compiled script. Compiled code holds no state, so all servers of the process share it.
type script struct {
	sha      string
	body     *lua.FunctionProto
	readOnly bool   // the header says no-writes
	refusal  string // what is wrong with the source, when body is nil
}

// compiled keeps compiled scripts by their source. Nothing is evicted singly: programs have few scripts, and a
// generator of endless new ones is served by starting over.
var compiled = struct {
	sync.Mutex
	bySource map[string]*script
}{bySource: map[string]*script{}}

const maxCompiled = 4096

// compile returns the script of a source, with its refusal if it cannot run.
func compile(source string) *script {
	compiled.Lock()
	defer compiled.Unlock()
	if known := compiled.bySource[source]; known != nil {
		return known
	}
	if len(compiled.bySource) >= maxCompiled {
		clear(compiled.bySource)
	}
	made := translate(source)
	compiled.bySource[source] = made
	return made
}

func sha1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

func translate(source string) *script {
	made := &script{sha: sha1Hex(source)}
	body := source
	if strings.HasPrefix(source, "#!") {
		header, rest, _ := strings.Cut(source, "\n")
		if made.readOnly, made.refusal = parseHeader(header); made.refusal != "" {
			return made
		}
		body = "\n" + rest // the lines keep their numbers
	}
	chunk, err := parse.Parse(strings.NewReader(body), chunkName)
	if err == nil {
		made.body, err = lua.Compile(chunk, chunkName)
	}
	if err != nil {
		made.body = nil
		made.refusal = "ERR Error compiling script (new function): " + parseErrorText(err)
	}
	return made
}

// chunkName is what positions in error texts begin with.
const chunkName = "user_script"

// parseErrorText rewords the compiler's errors to begin as those of Lua do: user_script:1: ...
func parseErrorText(err error) string {
	text := strings.TrimSpace(err.Error())
	text = strings.Replace(text, chunkName+" line:", chunkName+":", 1)
	if open, end := strings.Index(text, "(column:"), strings.Index(text, ")"); open >= 0 && end > open {
		text = text[:open] + ":" + text[end+1:]
	}
	return strings.Join(strings.Fields(text), " ")
}

// parseHeader reads a line such as "#!lua flags=no-writes".
func parseHeader(header string) (readOnly bool, refusal string) {
	words := strings.Fields(header)
	if words[0] != "#!lua" {
		return false, "ERR Unexpected engine in script shebang: " + words[0]
	}
	for _, word := range words[1:] {
		flags, found := strings.CutPrefix(word, "flags=")
		if !found {
			return false, "ERR Unknown lua shebang option: " + word
		}
		for _, flag := range strings.Split(flags, ",") {
			switch flag {
			case "no-writes":
				readOnly = true
			case "", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys":
			default:
				return false, "ERR Unexpected flag in script shebang: " + flag
			}
		}
	}
	return readOnly, ""
}

// scriptBook is a server's script cache: what EVALSHA can name.
type scriptBook struct {
	bySHA  map[string]*script
	caller uint64 // the connection whose script runs
	random uint64 // the state of math.random
}

func (b *scriptBook) flush() { clear(b.bySHA) }

func (b *scriptBook) add(s *script) {
	if b.bySHA == nil {
		b.bySHA = map[string]*script{}
	}
	b.bySHA[s.sha] = s
}

func eval(readOnly bool) handler {
	return func(c *Conn, args []string) {
		keys, ok := c.countKeys(args)
		if !ok {
			return
		}
		s := compile(args[1])
		if s.body == nil {
			c.writeError(s.refusal)
			return
		}
		c.server.scripts.add(s)
		c.run(s, args[3:3+keys], args[3+keys:], readOnly)
	}
}

func evalsha(readOnly bool) handler {
	return func(c *Conn, args []string) {
		keys, ok := c.countKeys(args)
		if !ok {
			return
		}
		s := c.server.scripts.bySHA[args[1]]
		if s == nil {
			s = c.server.scripts.bySHA[strings.ToLower(args[1])]
		}
		if s == nil {
			c.writeError(errNoScript)
			return
		}
		c.run(s, args[3:3+keys], args[3+keys:], readOnly)
	}
}

// countKeys reads the number of keys of an EVAL.
func (c *Conn) countKeys(args []string) (keys int, ok bool) {
	n, ok := parseInteger(args[2])
	switch {
	case !ok:
		c.writeError(errNotInteger)
		return 0, false
	case n > int64(len(args)-3):
		c.writeError("ERR Number of keys can't be greater than number of args")
		return 0, false
	case n < 0:
		c.writeError("ERR Number of keys can't be negative")
		return 0, false
	}
	return int(n), true
}

// run executes a script for a connection and appends its reply.
func (c *Conn) run(s *script, keys, argv []string, readOnly bool) {
	server := c.server
	nested := server.nested
	nested.db, nested.resp3, nested.out = c.db, false, nested.out[:0]
	server.scripts.caller = c.id
	in := takeInterpreter()
	in.run(c, nested, s, keys, argv, readOnly || s.readOnly)
	releaseInterpreter(in)
}

func scriptLoad(c *Conn, args []string) {
	s := compile(args[2])
	if s.body == nil {
		c.writeError(s.refusal)
		return
	}
	c.server.scripts.add(s)
	c.writeBulk(s.sha)
}

func scriptExists(c *Conn, args []string) {
	c.writeArray(len(args) - 2)
	for _, sha := range args[2:] {
		if c.server.scripts.bySHA[strings.ToLower(sha)] != nil {
			c.writeInt(1)
		} else {
			c.writeInt(0)
		}
	}
}

func scriptFlush(c *Conn, args []string) {
	if len(args) > 3 || len(args) == 3 && !strings.EqualFold(args[2], "SYNC") && !strings.EqualFold(args[2], "ASYNC") {
		c.writeError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
		return
	}
	c.server.scripts.flush()
	c.writeOK()
}

func scriptKill(c *Conn, _ []string) { c.writeError("NOTBUSY No scripts in execution right now.") }
