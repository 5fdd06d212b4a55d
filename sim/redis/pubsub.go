package redis

import (
	"slices"
	"strings"
)

// topicKind tells the three name spaces of messages apart.
type topicKind int

const (
	channels topicKind = iota
	patterns
	shards
)

// verbs are what the server says of a subscription of each kind.
var verbs = [...]struct{ on, off string }{
	channels: {"subscribe", "unsubscribe"},
	patterns: {"psubscribe", "punsubscribe"},
	shards:   {"ssubscribe", "sunsubscribe"},
}

// topic is one channel, pattern or shard channel that has subscribers, in the order in which they came.
type topic struct {
	name        string
	subscribers []*Conn
}

// topics are the subscriptions of a server. Slices, not maps: the order of delivery must not depend on chance.
type topics [3][]*topic

// subscriptions are the names that one connection has subscribed to, by kind.
type subscriptions [3][]string

// count is how many subscriptions put a connection in subscribed state.
func (s *subscriptions) count() int { return len(s[channels]) + len(s[patterns]) + len(s[shards]) }

// counted is the number that the server tells with each change: shard channels have their own.
func (s *subscriptions) counted(kind topicKind) int64 {
	if kind == shards {
		return int64(len(s[shards]))
	}
	return int64(len(s[channels]) + len(s[patterns]))
}

func (t *topics) find(kind topicKind, name string) *topic {
	for _, topic := range t[kind] {
		if topic.name == name {
			return topic
		}
	}
	return nil
}

func (t *topics) add(kind topicKind, name string, c *Conn) {
	if slices.Contains(c.subscriptions[kind], name) {
		return
	}
	c.subscriptions[kind] = append(c.subscriptions[kind], name)
	if existing := t.find(kind, name); existing != nil {
		existing.subscribers = append(existing.subscribers, c)
		return
	}
	t[kind] = append(t[kind], &topic{name, []*Conn{c}})
}

func (t *topics) drop(kind topicKind, name string, c *Conn) {
	own := slices.Index(c.subscriptions[kind], name)
	if own < 0 {
		return
	}
	c.subscriptions[kind] = slices.Delete(c.subscriptions[kind], own, own+1)
	existing := t.find(kind, name)
	if i := slices.Index(existing.subscribers, c); i >= 0 {
		existing.subscribers = slices.Delete(existing.subscribers, i, i+1)
	}
	if len(existing.subscribers) == 0 {
		t[kind] = slices.DeleteFunc(t[kind], func(other *topic) bool { return other == existing })
	}
}

func (t *topics) dropAll(c *Conn) {
	for kind := range c.subscriptions {
		for _, name := range slices.Clone(c.subscriptions[kind]) {
			t.drop(topicKind(kind), name, c)
		}
	}
}

// subscribe makes SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE.
func subscribe(kind topicKind) handler {
	return func(c *Conn, args []string) {
		if c.direct && len(args) != 2 {
			c.writeError("ERR a direct call has one reply: subscribe to one channel at a time")
			return
		}
		if c.executing && !c.resp3 && kind == shards {
			c.writeError("ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client")
			return
		}
		for _, name := range args[1:] {
			c.server.topics.add(kind, name, c)
			c.confirm(verbs[kind].on, name, c.subscriptions.counted(kind))
		}
	}
}

func unsubscribe(kind topicKind) handler {
	return func(c *Conn, args []string) {
		names := args[1:]
		if len(names) == 0 {
			names = slices.Clone(c.subscriptions[kind])
		}
		if len(names) == 0 {
			c.writePush(3)
			c.writeBulk(verbs[kind].off)
			c.writeNull()
			c.writeInt(c.subscriptions.counted(kind))
		}
		for _, name := range names {
			c.server.topics.drop(kind, name, c)
			c.confirm(verbs[kind].off, name, c.subscriptions.counted(kind))
		}
	}
}

func (c *Conn) confirm(verb, name string, count int64) {
	c.writePush(3)
	c.writeBulk(verb)
	c.writeBulk(name)
	c.writeInt(count)
}

func publish(c *Conn, args []string) {
	name, message := args[1], args[2]
	received := c.server.deliver(channels, name, "message", message)
	for _, topic := range c.server.topics[patterns] {
		if !globMatches(topic.name, name) {
			continue
		}
		for _, subscriber := range topic.subscribers {
			subscriber.push("pmessage", topic.name, name, message)
			received++
		}
	}
	c.writeInt(received)
}

func spublish(c *Conn, args []string) {
	c.writeInt(c.server.deliver(shards, args[1], "smessage", args[2]))
}

func (s *Server) deliver(kind topicKind, name, verb, message string) (received int64) {
	found := s.topics.find(kind, name)
	if found == nil {
		return 0
	}
	for _, subscriber := range found.subscribers {
		subscriber.push(verb, name, message)
		received++
	}
	return received
}

// push sends a message that the connection did not ask for.
func (c *Conn) push(words ...string) {
	replies := c.out
	if c.direct {
		c.out = nil // each message goes by itself
	}
	c.writePush(len(words))
	for _, word := range words {
		c.writeBulk(word)
	}
	if c.direct {
		c.pushed = append(c.pushed, c.out)
		c.out = replies
	}
	c.markDirty()
}

func pubsubChannels(kind topicKind) handler {
	return func(c *Conn, args []string) {
		if len(args) > 3 {
			c.writeError(errArity(args[0] + "|" + args[1]))
			return
		}
		var names []string
		for _, topic := range c.server.topics[kind] {
			if len(args) == 2 || globMatches(args[2], topic.name) {
				names = append(names, topic.name)
			}
		}
		c.writeArray(len(names))
		for _, name := range names {
			c.writeBulk(name)
		}
	}
}

func pubsubNumSub(kind topicKind) handler {
	return func(c *Conn, args []string) {
		c.writeArray(2 * (len(args) - 2))
		for _, name := range args[2:] {
			c.writeBulk(name)
			subscribers := 0
			if found := c.server.topics.find(kind, name); found != nil {
				subscribers = len(found.subscribers)
			}
			c.writeInt(int64(subscribers))
		}
	}
}

func pubsubNumPat(c *Conn, _ []string) { c.writeInt(int64(len(c.server.topics[patterns]))) }

// allowedWhileSubscribed are the commands that a RESP2 connection may send while it has subscriptions.
var allowedWhileSubscribed = map[string]bool{
	"subscribe": true, "psubscribe": true, "ssubscribe": true, "unsubscribe": true, "punsubscribe": true,
	"sunsubscribe": true, "ping": true, "quit": true, "reset": true,
}

// globMatches tells whether text matches a pattern of *, ?, [abc], [^abc], [a-z] and \x.
func globMatches(pattern, text string) bool {
	for len(pattern) > 0 {
		switch pattern[0] {
		case '*':
			pattern = strings.TrimLeft(pattern, "*")
			if pattern == "" {
				return true
			}
			for i := range len(text) + 1 {
				if globMatches(pattern, text[i:]) {
					return true
				}
			}
			return false
		case '?':
			if text == "" {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		case '[':
			if text == "" {
				return false
			}
			matched, rest := classMatches(pattern[1:], text[0])
			if !matched {
				return false
			}
			pattern, text = rest, text[1:]
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if text == "" || pattern[0] != text[0] {
				return false
			}
			pattern, text = pattern[1:], text[1:]
		}
	}
	return text == ""
}

// classMatches judges one character by a class and returns the pattern behind the class. A class without its closing
// bracket ends with the pattern.
func classMatches(class string, char byte) (matched bool, rest string) {
	negated := strings.HasPrefix(class, "^")
	if negated {
		class = class[1:]
	}
	for len(class) > 0 && class[0] != ']' {
		switch {
		case class[0] == '\\' && len(class) >= 2:
			matched = matched || class[1] == char
			class = class[2:]
		case len(class) >= 3 && class[1] == '-':
			low, high := min(class[0], class[2]), max(class[0], class[2])
			matched = matched || low <= char && char <= high
			class = class[3:]
		default:
			matched = matched || class[0] == char
			class = class[1:]
		}
	}
	return matched != negated, strings.TrimPrefix(class, "]")
}
