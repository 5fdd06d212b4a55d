package redis

import (
	"slices"
	"strings"
)

// Flags of a command, as COMMAND reports them.
const (
	flagWrite    = 1 << iota // may change the data
	flagReadOnly             // reads the data and never changes it
	flagNoScript             // refused inside a script
	flagBlocking             // may wait for data
	flagNoMulti              // refused inside a transaction
)

// specification is what Redis knows about a command before it looks at the arguments.
type specification struct {
	name  string // lower case; subcommands are written container|subcommand
	arity int    // number of words, name included; negative for a minimum
	flags int
}

// handler executes a command and appends exactly one reply to c.out. The arguments include the command's name.
type handler func(c *Conn, args []string)

// command is one entry of the table that every request is looked up in. It is never changed after start-up.
type command struct {
	specification
	run         handler
	subcommands map[string]*command // for containers such as SCRIPT; run is nil then
}

func (cmd *command) is(flag int) bool { return cmd.flags&flag != 0 }

// arityFits tells whether a request of n words can be this command.
func (cmd *command) arityFits(n int) bool {
	if cmd.arity >= 0 {
		return n == cmd.arity
	}
	return n >= -cmd.arity
}

// extensions are commands of later versions that the store underneath answers and that locks may want to try.
var extensions = []specification{
	{"hexpire", -6, flagWrite},
	{"hpersist", -5, flagWrite},
	{"hpttl", -5, flagReadOnly},
	{"hsetex", -6, flagWrite},
	{"httl", -5, flagReadOnly},
}

// delegated are the subcommands that the store underneath answers; its plain commands are found by asking it.
var delegated = map[string]bool{
	"memory|usage": true, "object|idletime": true,
	"xgroup|create": true, "xgroup|createconsumer": true, "xgroup|delconsumer": true, "xgroup|destroy": true,
	"xinfo|consumers": true, "xinfo|groups": true, "xinfo|stream": true,
}

// containers are the commands that are nothing without their subcommand.
var containers = map[string]bool{
	"client": true, "config": true, "memory": true, "object": true, "pubsub": true, "script": true, "xgroup": true,
	"xinfo": true,
}

// commands maps the name of every command that this server answers, in upper and in lower case.
var commands = map[string]*command{}

func init() {
	native := nativeHandlers()
	store := startStore().Server()
	for _, spec := range append(redis7, extensions...) {
		entry := &command{specification: spec}
		container, subcommand, nested := strings.Cut(spec.name, "|")
		switch {
		case native[spec.name] != nil:
			entry.run = native[spec.name]
		case nested && delegated[spec.name], !nested && store.IsRegisteredCommand(spec.name):
			entry.run = delegate
		}
		switch {
		case entry.run == nil && !containers[spec.name]:
			// Neither this package nor the store answers it: it is unknown here.
		case !nested:
			commands[spec.name] = entry
			commands[strings.ToUpper(spec.name)] = entry
		case containers[container]:
			parent := commands[container]
			if parent.subcommands == nil {
				parent.subcommands = map[string]*command{}
				parent.run = nil // answered by subcommand only
			}
			parent.subcommands[subcommand] = entry
		}
	}
}

// lookup finds the command that a request names. It returns nil and the refusal where there is none.
func lookup(args []string) (*command, string) {
	cmd := commands[args[0]]
	if cmd == nil {
		if cmd = commands[strings.ToLower(args[0])]; cmd == nil {
			return nil, unknownCommand(args)
		}
	}
	if cmd.subcommands == nil || len(args) < 2 {
		return cmd, ""
	}
	if sub := cmd.subcommands[strings.ToLower(args[1])]; sub != nil {
		return sub, ""
	}
	return nil, "ERR unknown subcommand '" + clip(args[1], 128) + "'. Try " + strings.ToUpper(cmd.name) + " HELP."
}

// unknownCommand words the refusal of a command that does not exist, with the first arguments as Redis shows them.
func unknownCommand(args []string) string {
	var shown strings.Builder
	for _, arg := range args[1:] {
		room := 128 - shown.Len()
		if room <= 0 {
			break
		}
		shown.WriteString("'" + clip(arg, room) + "' ")
	}
	return "ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: " + shown.String()
}

func wrongArity(cmd *command) string { return errArity(cmd.name) }

func errArity(name string) string {
	return "ERR wrong number of arguments for '" + strings.ToLower(name) + "' command"
}

func clip(s string, limit int) string {
	if len(s) > limit {
		return s[:limit]
	}
	return s
}

// delegate lets the store underneath answer.
func delegate(c *Conn, args []string) {
	if c.direct || c.scripted {
		args = slices.Clone(args) // the caller uses the slice again, and the store keeps some
	}
	c.dispatch(args)
}
