package zookeeper

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// Request is one decoded request of a session. Which fields matter depends on Op.
type Request struct {
	Op  Op
	Xid int32 // the client's number of it, repeated in the reply

	Path    string
	Data    []byte // nil stands for null
	ACL     []ACL
	Flags   int32 // of a create
	TTL     int64 // of a create, milliseconds
	Version int32 // expected; -1 is any
	Watch   bool
	Mode    int32 // of addWatch; type of checkWatches and removeWatches
	Ops     []Request

	Zxid    int64 // of setWatches: the last that the client has seen
	Watches [5][]string

	Scheme string // of auth; the credentials are Data

	// Malformed is set when the header could be read and the rest could not. Such a request is answered like any other.
	Malformed bool
}

// The lists of Request.Watches, in their order on the wire. The two last come with setWatches2 only.
const (
	dataList = iota
	existList
	childList
	persistentList
	recursiveList
	watchLists
)

// decodeRequest reads a frame after the connection was established. It fails when not even the header is there.
func decodeRequest(frame []byte, r *Request) bool {
	d := decoder{rest: frame}
	*r = Request{Xid: d.int32(), Op: Op(d.int32())}
	if d.failed {
		return false
	}
	r.decodeBody(&d)
	r.Malformed = d.failed
	return true
}

func (r *Request) decodeBody(d *decoder) {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		r.decodeCreate(d)
	case OpDelete, OpCheck:
		r.Path, r.Version = d.string(), d.int32()
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r.Path, r.Watch = d.string(), d.bool()
	case OpSetData:
		r.Path, r.Data, r.Version = d.string(), d.buffer(), d.int32()
	case OpGetACL, OpSync, OpGetEphemerals, OpGetAllChildrenNumber:
		r.Path = d.string()
	case OpSetACL:
		r.Path, r.ACL, r.Version = d.string(), d.acl(), d.int32()
	case OpMulti, OpMultiRead:
		r.decodeMulti(d)
	case OpReconfig:
		_, _, _, _ = d.buffer(), d.buffer(), d.buffer(), d.int64()
	case OpCheckWatches, OpRemoveWatches, OpAddWatch:
		r.Path, r.Mode = d.string(), d.int32()
	case OpAuth:
		_ = d.int32()
		r.Scheme, r.Data = d.string(), d.buffer()
	case OpSetWatches, OpSetWatches2:
		r.decodeSetWatches(d)
	}
}

func (r *Request) decodeCreate(d *decoder) {
	r.Path, r.Data, r.ACL, r.Flags, r.TTL = d.string(), d.buffer(), d.acl(), d.int32(), -1
	if r.Op == OpCreateTTL {
		r.TTL = d.int64()
	}
}

func (r *Request) decodeSetWatches(d *decoder) {
	r.Zxid = d.int64()
	lists := persistentList
	if r.Op == OpSetWatches2 {
		lists = watchLists
	}
	for i := range lists {
		r.Watches[i] = d.strings()
	}
}

// decodeMulti reads the requests of a multi. Its list has no length: each request has a header that says whether the
// list has ended.
func (r *Request) decodeMulti(d *decoder) {
	for !d.failed {
		sub := Request{Op: Op(d.int32())}
		done := d.bool()
		_ = d.int32()
		if done || d.failed {
			return
		}
		switch sub.Op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck, OpGetData, OpGetChildren:
			sub.decodeBody(d)
			sub.Watch = false // which a multiRead reads and leaves alone
			sub.settle()
		default:
			d.failed = true
		}
		r.Ops = append(r.Ops, sub)
		if sub.isRead() != r.Ops[0].isRead() {
			d.failed = true
		}
	}
}

// settle finds out what a create within a multi is: ZooKeeper goes by its flags there and not by its type. It fails
// when they ask for a time to live that the record does not have, and ignores one that they do not ask for.
func (r *Request) settle() {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
	default:
		return
	}
	m, _ := modeOf(r.Flags)
	r.Malformed = m.ttl && r.Op != OpCreateTTL
	if !m.ttl {
		r.TTL = -1
	}
	switch {
	case m.ttl:
		r.Op = OpCreateTTL
	case m.container:
		r.Op = OpCreateContainer
	default:
		r.Op = OpCreate
	}
}

// isRead tells whether the request changes nothing.
func (r *Request) isRead() bool {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpDeleteContainer, OpSetData, OpSetACL, OpCheck,
		OpMulti, OpReconfig, OpCloseSession:
		return false
	}
	return true
}

// ConnectRequest opens a connection: with a new session, or with the one that it names.
type ConnectRequest struct {
	LastZxid int64 // the last transaction that the client has seen
	Timeout  int32 // milliseconds that the client asks for
	Session  int64
	Password []byte

	modern bool // says whether it could live with a read-only server, and wants to be told whether this is one
}

// connectBytes is the length of a ConnectRequest with a password of the usual 16 bytes.
const connectBytes = 44

func decodeConnect(frame []byte, r *ConnectRequest) bool {
	d := decoder{rest: frame}
	_ = d.int32() // the version of the protocol
	r.LastZxid, r.Timeout, r.Session, r.Password = d.int64(), d.int32(), d.int64(), d.buffer()
	if d.failed {
		return false
	}
	_ = d.bool()
	r.modern = !d.failed
	return true
}

// Describe names the words of bytes that are exactly one request: what it is, its path, and what else matters to it. It
// returns nil for any other bytes.
func Describe(p []byte) []string {
	d := decoder{rest: p}
	if n := d.int32(); d.failed || int(n) != len(d.rest) {
		return nil
	}
	// A new connection's first frame has no header. It begins with a version of 0 and a small zxid, and no request is of
	// type 0.
	if len(d.rest) >= connectBytes && string(d.rest[:8]) == "\x00\x00\x00\x00\x00\x00\x00\x00" {
		return describeConnect(d.rest)
	}
	var r Request
	if !decodeRequest(d.rest, &r) {
		return nil
	}
	return r.Words()
}

func describeConnect(frame []byte) []string {
	var r ConnectRequest
	if !decodeConnect(frame, &r) {
		return nil
	}
	if r.Session == 0 {
		return []string{OpConnect.String()}
	}
	return []string{OpConnect.String(), fmt.Sprintf("0x%x", uint64(r.Session))}
}

// Words names the request for traces and faults.
func (r *Request) Words() []string {
	words := []string{r.Op.String()}
	if r.Malformed {
		return append(words, "malformed")
	}
	switch r.Op {
	case OpMulti, OpMultiRead:
		for i := range r.Ops {
			words = append(words, r.Ops[i].Words()...)
		}
		return words
	case OpAuth:
		return append(words, r.Scheme)
	case OpSetWatches, OpSetWatches2:
		for _, list := range r.Watches {
			words = append(words, list...)
		}
		return words
	}
	if r.Path != "" {
		words = append(words, r.Path)
	}
	return r.appendDetails(words)
}

// appendDetails adds what a trace should tell of a request besides its path.
func (r *Request) appendDetails(words []string) []string {
	switch r.Op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		if r.Flags != 0 {
			words = append(words, flagWords(r.Flags))
		}
		return appendDataWord(words, r.Data)
	case OpSetData:
		return appendDataWord(appendVersion(words, r.Version), r.Data)
	case OpDelete, OpCheck, OpSetACL:
		return appendVersion(words, r.Version)
	}
	if r.Watch {
		return append(words, "watch")
	}
	return words
}

func flagWords(flags int32) string {
	m, ok := modeOf(flags)
	if !ok {
		return "flags " + strconv.Itoa(int(flags))
	}
	var words []string
	for _, flag := range []struct {
		set  bool
		name string
	}{{m.ephemeral, "ephemeral"}, {m.container, "container"}, {m.ttl, "ttl"}, {m.sequential, "sequential"}} {
		if flag.set {
			words = append(words, flag.name)
		}
	}
	return strings.Join(words, "-")
}

func appendVersion(words []string, version int32) []string {
	if version == -1 {
		return words
	}
	return append(words, "version "+strconv.Itoa(int(version)))
}

// longestWord bounds the data that a trace repeats.
const longestWord = 64

func appendDataWord(words []string, data []byte) []string {
	switch {
	case len(data) == 0:
		return words
	case len(data) <= longestWord && utf8.Valid(data):
		return append(words, string(data))
	}
	return append(words, fmt.Sprintf("%d bytes, sum %016x", len(data), xxhash.Sum64(data)))
}
