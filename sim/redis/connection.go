package redis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// version is the Redis that this server says it is and is compared with.
const version = "7.0.15"

func ping(c *Conn, args []string) {
	switch {
	case len(args) > 2:
		c.writeError(errArity(args[0]))
	case c.subscriptions.count() > 0 && !c.resp3:
		c.writeArray(2)
		c.writeBulk("pong")
		c.writeBulk(strings.Join(args[1:], ""))
	case len(args) == 2:
		c.writeBulk(args[1])
	default:
		c.writeStatus("PONG")
	}
}

func echo(c *Conn, args []string) { c.writeBulk(args[1]) }

func quit(c *Conn, _ []string) {
	c.writeOK()
	c.closing = true
}

// hello is HELLO: the protocol's version, and what the server tells of itself.
func hello(c *Conn, args []string) {
	resp3 := c.resp3
	options := args[1:]
	if len(options) > 0 {
		n, ok := parseInteger(options[0])
		switch {
		case !ok:
			c.writeError("ERR Protocol version is not an integer or out of range")
			return
		case n != 2 && n != 3:
			c.writeError("NOPROTO unsupported protocol version")
			return
		}
		resp3 = n == 3
		options = options[1:]
	}
	name := c.name
	for len(options) > 0 {
		switch option := strings.ToUpper(options[0]); {
		case option == "AUTH" && len(options) >= 3:
			if options[1] != "default" {
				c.writeError("WRONGPASS invalid username-password pair or user is disabled.")
				return
			}
			options = options[3:] // the default user has no password: any is right
		case option == "SETNAME" && len(options) >= 2:
			if !validName(options[1]) {
				c.writeError(errClientName)
				return
			}
			name, options = options[1], options[2:]
		default:
			c.writeError("ERR Syntax error in HELLO option '" + options[0] + "'")
			return
		}
	}
	c.resp3, c.name = resp3, name
	c.writeMap(7)
	c.writeBulk("server")
	c.writeBulk("redis")
	c.writeBulk("version")
	c.writeBulk(version)
	c.writeBulk("proto")
	if resp3 {
		c.writeInt(3)
	} else {
		c.writeInt(2)
	}
	c.writeBulk("id")
	c.writeInt(c.clientID)
	c.writeBulk("mode")
	c.writeBulk("standalone")
	c.writeBulk("role")
	c.writeBulk("master")
	c.writeBulk("modules")
	c.writeArray(0)
}

func reset(c *Conn, _ []string) {
	c.transaction = nil
	c.unwatch()
	c.server.topics.dropAll(c)
	c.db, c.resp3, c.name = 0, false, ""
	c.writeStatus("RESET")
}

const errClientName = "ERR Client names cannot contain spaces, newlines or special characters."

func validName(name string) bool {
	for i := range len(name) {
		if name[i] < '!' || name[i] > '~' {
			return false
		}
	}
	return true
}

func clientSetName(c *Conn, args []string) {
	if !validName(args[2]) {
		c.writeError(errClientName)
		return
	}
	c.name = args[2]
	c.writeOK()
}

func clientGetName(c *Conn, _ []string) {
	if c.name == "" {
		c.writeNull()
		return
	}
	c.writeBulk(c.name)
}

func clientID(c *Conn, _ []string) { c.writeInt(c.clientID) }

// clientUnblock is CLIENT UNBLOCK id [TIMEOUT | ERROR].
func clientUnblock(c *Conn, args []string) {
	withError := false
	if len(args) > 4 {
		c.writeError(errArity("client|unblock"))
		return
	}
	if len(args) == 4 {
		switch strings.ToUpper(args[3]) {
		case "TIMEOUT":
		case "ERROR":
			withError = true
		default:
			c.writeError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
			return
		}
	}
	id, ok := parseInteger(args[2])
	if !ok {
		c.writeError(errNotInteger)
		return
	}
	for _, w := range c.server.blocked {
		if w.conn.clientID != id {
			continue
		}
		if withError {
			c.server.finish(w, func(c *Conn) { c.writeError("UNBLOCKED client unblocked via CLIENT UNBLOCK") })
		} else {
			c.server.finish(w, w.onTimeout)
		}
		c.writeInt(1)
		return
	}
	c.writeInt(0)
}

// accept answers OK to a setting that changes nothing here.
func accept(c *Conn, _ []string) { c.writeOK() }

// settings are the answers to CONFIG GET.
var settings = []struct{ name, value string }{
	{"appendonly", "yes"},
	{"databases", strconv.Itoa(databases)},
	{"maxmemory", "0"},
	{"maxmemory-policy", "noeviction"},
	{"notify-keyspace-events", ""},
	{"save", ""},
	{"timeout", "0"},
}

func configGet(c *Conn, args []string) {
	var found []string
	for _, setting := range settings {
		if slices.ContainsFunc(args[2:], func(pattern string) bool {
			return globMatches(strings.ToLower(pattern), setting.name)
		}) {
			found = append(found, setting.name, setting.value)
		}
	}
	c.writeMap(len(found) / 2)
	for _, word := range found {
		c.writeBulk(word)
	}
}

func clusterDisabled(c *Conn, _ []string) {
	c.writeError("ERR This instance has cluster support disabled")
}

// timeOfDay is TIME: the machine's wall clock.
func timeOfDay(c *Conn, _ []string) {
	micros := c.server.clock.micros
	seconds := micros / 1e6
	if micros%1e6 < 0 {
		seconds--
	}
	c.writeArray(2)
	c.writeBulk(strconv.FormatInt(seconds, 10))
	c.writeBulk(strconv.FormatInt(micros-seconds*1e6, 10))
}

func role(c *Conn, _ []string) {
	c.writeArray(3)
	c.writeBulk("master")
	c.writeInt(0)
	c.writeArray(0)
}

// info tells what clients look for: the version, the role, and counts.
func info(c *Conn, args []string) {
	s := c.server
	wanted := func(section string) bool {
		return len(args) == 1 || slices.ContainsFunc(args[1:], func(arg string) bool {
			arg = strings.ToLower(arg)
			return arg == section || arg == "all" || arg == "everything" || arg == "default"
		})
	}
	var sections []string
	add := func(name, title, body string) {
		if wanted(name) {
			sections = append(sections, "# "+title+"\r\n"+body)
		}
	}
	add("server", "Server", "redis_version:"+version+"\r\nredis_mode:standalone\r\n")
	add("clients", "Clients", fmt.Sprintf("connected_clients:%d\r\nblocked_clients:%d\r\n",
		len(s.conns), len(s.blocked)))
	add("stats", "Stats", fmt.Sprintf("total_connections_received:%d\r\ntotal_commands_processed:%d\r\n",
		s.accepted, s.executed))
	add("replication", "Replication", "role:master\r\nconnected_slaves:0\r\n")
	var keyspace strings.Builder
	for i, db := range s.dbs {
		if db == nil {
			continue
		}
		keys := db.Keys()
		expires := 0
		for _, key := range keys {
			if db.TTL(key) != 0 {
				expires++
			}
		}
		if len(keys) > 0 {
			fmt.Fprintf(&keyspace, "db%d:keys=%d,expires=%d,avg_ttl=0\r\n", i, len(keys), expires)
		}
	}
	add("keyspace", "Keyspace", keyspace.String())
	c.writeBulk(strings.Join(sections, "\r\n"))
}
