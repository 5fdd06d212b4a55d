package zookeeper_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// operation is one request of a script: its name, what stands by its position, and what stands by name.
type operation struct {
	name    string
	args    []string
	options map[string]string
}

// parseOperation reads the words of a request, as in
//
//	create /a data="two words" flags=ephemeral,sequential
func parseOperation(words []string) operation {
	op := operation{name: words[0], options: map[string]string{}}
	for _, word := range words[1:] {
		key, value, named := strings.Cut(word, "=")
		if named && key != "" && !strings.ContainsAny(key, `/" `) {
			op.options[key] = unquote(value)
			continue
		}
		op.args = append(op.args, unquote(word))
	}
	return op
}

// unquote resolves a quoted word and a repeated one: x*3 is xxx.
func unquote(word string) string {
	if text, err := strconv.Unquote(word); err == nil && strings.HasPrefix(word, `"`) {
		return text
	}
	if text, times, ok := strings.Cut(word, "*"); ok {
		if n, err := strconv.Atoi(times); err == nil {
			return strings.Repeat(text, n)
		}
	}
	return word
}

// splitWords cuts a line at spaces outside quotes.
func splitWords(line string) []string {
	return cut(line, ' ')
}

// cut cuts a line at a separator outside quotes and leaves out what is empty.
func cut(line string, separator byte) []string {
	var parts []string
	quoted, start := false, 0
	for i := 0; i <= len(line); i++ {
		switch {
		case i < len(line) && line[i] == '\\' && quoted:
			i++
		case i < len(line) && line[i] == '"':
			quoted = !quoted
		case i == len(line) || line[i] == separator && !quoted:
			if part := strings.TrimSpace(line[start:i]); part != "" {
				parts = append(parts, part)
			}
			start = i + 1
		}
	}
	return parts
}

// operations reads the requests between the brackets of a multi: [create /a; delete /b 0].
func operations(text string) []operation {
	text = strings.TrimSpace(text)
	text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	var list []operation
	for _, part := range cut(text, ';') {
		list = append(list, parseOperation(splitWords(part)))
	}
	return list
}

func (op operation) arg(i int) string {
	if i < len(op.args) {
		return op.args[i]
	}
	return ""
}

// version is the second word, -1 (any version) when it is missing.
func (op operation) version() int32 {
	if n, err := strconv.ParseInt(op.arg(1), 10, 32); err == nil {
		return int32(n)
	}
	return -1
}

// watch says whether the request asks for one.
func (op operation) watch() bool { return slices.Contains(op.args, "watch") }

// data is empty unless given; null is the missing buffer.
func (op operation) data() []byte {
	text, given := op.options["data"]
	if given && text == "null" {
		return nil
	}
	return []byte(text)
}

func (op operation) long(option string) int64 {
	n, _ := strconv.ParseInt(op.options[option], 0, 64)
	return n
}

// list is a comma-separated option.
func (op operation) list(option string) []string {
	text, given := op.options[option]
	if !given || text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// flagBits are the create flags of the protocol. A number is sent as it is.
var flagBits = map[string]int32{
	"persistent": 0, "ephemeral": 1, "sequential": 2, "container": 4, "ttl": 5, "sequentialttl": 6,
}

func (op operation) flags(otherwise int32) int32 {
	list := op.list("flags")
	if list == nil {
		return otherwise
	}
	bits := int32(0)
	for _, name := range list {
		if n, err := strconv.Atoi(name); err == nil {
			bits |= int32(n)
		}
		bits |= flagBits[name]
	}
	return bits
}

const permissionLetters = "rwcda"

// acl reads scheme:id:permissions entries, separated by |. It is open to the world unless given; creator stands for
// auth::rwcda.
func (op operation) acl() []access {
	text, given := op.options["acl"]
	switch {
	case !given || text == "world":
		return []access{{31, "world", "anyone"}}
	case text == "creator":
		return []access{{31, "auth", ""}}
	case text == "null":
		return nil
	case text == "" || text == "none":
		return []access{}
	}
	var list []access
	for _, entry := range strings.Split(text, "|") {
		scheme, rest, _ := strings.Cut(entry, ":")
		end := max(strings.LastIndex(rest, ":"), 0)
		var perms int32
		for _, letter := range strings.TrimPrefix(rest[end:], ":") {
			perms |= 1 << strings.IndexRune(permissionLetters, letter)
		}
		list = append(list, access{perms, scheme, rest[:end]})
	}
	return list
}

// showACL is the way back.
func showACL(list []access) string {
	var entries []string
	for _, a := range list {
		letters := ""
		for i, letter := range permissionLetters {
			if a.perms&(1<<i) != 0 {
				letters += string(letter)
			}
		}
		if a.perms>>len(permissionLetters) != 0 {
			letters = strconv.Itoa(int(a.perms))
		}
		entries = append(entries, a.scheme+":"+a.id+":"+letters)
	}
	return strings.Join(entries, "|")
}

// request says how an operation is sent and how its reply is shown.
type request struct {
	code   int32
	xid    int32 // 0 for the session's next
	encode func(r *runner, w *writer, op operation)
	show   func(r *runner, in *reader) string
}

// requests are the operations of the protocol by the names that scripts use.
var requests map[string]request

func init() {
	requests = map[string]request{
		"create":               {1, 0, encodeCreate(0), showPath},
		"create2":              {15, 0, encodeCreate(0), showCreated},
		"createContainer":      {19, 0, encodeCreate(4), showCreated},
		"createTTL":            {21, 0, encodeCreateTTL, showCreated},
		"delete":               {2, 0, encodeVersioned, showNothing},
		"check":                {13, 0, encodeVersioned, showNothing},
		"exists":               {3, 0, encodeWatched, showStat},
		"getData":              {4, 0, encodeWatched, showData},
		"setData":              {5, 0, encodeSetData, showStat},
		"getACL":               {6, 0, encodePath, showAccess},
		"setACL":               {7, 0, encodeSetACL, showStat},
		"getChildren":          {8, 0, encodeWatched, showChildren},
		"getChildren2":         {12, 0, encodeWatched, showChildren2},
		"sync":                 {9, 0, encodePath, showPath},
		"ping":                 {11, -2, encodeNothing, showNothing},
		"multi":                {14, 0, encodeMulti, showMulti},
		"multiRead":            {22, 0, encodeMulti, showMulti},
		"reconfig":             {16, 0, encodeReconfig, showData},
		"checkWatches":         {17, 0, encodeTyped, showNothing},
		"removeWatches":        {18, 0, encodeTyped, showNothing},
		"auth":                 {100, -4, encodeAuth, showNothing},
		"setWatches":           {101, -8, encodeSetWatches, showNothing},
		"setWatches2":          {105, -8, encodeSetWatches, showNothing},
		"addWatch":             {106, 0, encodeTyped, showCode},
		"getEphemerals":        {103, 0, encodePath, showChildren},
		"getAllChildrenNumber": {104, 0, encodePath, showNumber},
		"close":                {-11, 0, encodeNothing, showNothing},
	}
}

func encodeNothing(*runner, *writer, operation) {}

func encodePath(r *runner, w *writer, op operation) { w.string(r.inside(op.arg(0))) }

func encodeCreate(flags int32) func(*runner, *writer, operation) {
	return func(r *runner, w *writer, op operation) {
		w.string(r.inside(op.arg(0)))
		w.buffer(op.data())
		w.acl(op.acl())
		w.int(op.flags(flags))
	}
}

func encodeCreateTTL(r *runner, w *writer, op operation) {
	encodeCreate(5)(r, w, op)
	w.long(op.long("ttl"))
}

func encodeVersioned(r *runner, w *writer, op operation) {
	w.string(r.inside(op.arg(0)))
	w.int(op.version())
}

func encodeWatched(r *runner, w *writer, op operation) {
	w.string(r.inside(op.arg(0)))
	w.bool(op.watch())
}

func encodeSetData(r *runner, w *writer, op operation) {
	w.string(r.inside(op.arg(0)))
	w.buffer(op.data())
	w.int(op.version())
}

func encodeSetACL(r *runner, w *writer, op operation) {
	w.string(r.inside(op.arg(0)))
	w.acl(op.acl())
	w.int(op.version())
}

// encodeTyped is for requests about watches: a path and a number for what kind.
func encodeTyped(r *runner, w *writer, op operation) {
	w.string(r.inside(op.arg(0)))
	kind, _ := strconv.Atoi(op.arg(1))
	w.int(int32(kind))
}

func encodeAuth(_ *runner, w *writer, op operation) {
	w.int(0)
	w.string(op.arg(0))
	w.buffer([]byte(op.arg(1)))
}

func encodeReconfig(_ *runner, w *writer, op operation) {
	w.string("")
	w.string("")
	w.string(op.arg(0))
	w.long(-1)
}

// encodeSetWatches sends what a client watches after it came back, and the last transaction that it has seen.
func encodeSetWatches(r *runner, w *writer, op operation) {
	w.long(op.long("zxid") + r.base)
	kinds := []string{"data", "exist", "child"}
	if op.name == "setWatches2" {
		kinds = append(kinds, "persistent", "recursive")
	}
	for _, kind := range kinds {
		paths := op.list(kind)
		for i := range paths {
			paths[i] = r.inside(paths[i])
		}
		w.strings(paths)
	}
}

func encodeMulti(r *runner, w *writer, op operation) {
	for _, inner := range operations(op.options["multi"]) {
		kind := requests[inner.name]
		w.int(kind.code)
		w.bool(false)
		w.int(-1)
		if kind.encode != nil {
			kind.encode(r, w, inner)
		}
	}
	w.int(-1)
	w.bool(true)
	w.int(-1)
}

func showNothing(*runner, *reader) string { return "" }

func showPath(r *runner, in *reader) string { return " " + r.outside(in.string()) }

func showCreated(r *runner, in *reader) string { return showPath(r, in) + showStat(r, in) }

func showStat(r *runner, in *reader) string { return r.showStat(in.stat()) }

func showData(r *runner, in *reader) string {
	return " data=" + quoteData(in.buffer()) + showStat(r, in)
}

func showCode(_ *runner, in *reader) string { return " code=" + errorName(in.int()) }

func showNumber(_ *runner, in *reader) string { return fmt.Sprintf(" number=%d", in.int()) }

// showChildren keeps the server's order: ours lists like a ZooKeeper, by the hashes of the names.
func showChildren(r *runner, in *reader) string {
	names := in.strings()
	for i := range names {
		if strings.HasPrefix(names[i], "/") {
			names[i] = r.outside(names[i])
		}
	}
	return fmt.Sprintf(" %q", names)
}

func showChildren2(r *runner, in *reader) string { return showChildren(r, in) + showStat(r, in) }

func showAccess(r *runner, in *reader) string {
	return " acl=" + showACL(in.acl()) + showStat(r, in)
}

// showMulti shows the results of a multi, one a line.
func showMulti(r *runner, in *reader) string {
	results := ""
	for in.err == nil {
		code, done, failed := in.int(), in.bool(), in.int()
		if done {
			if code != -1 || failed != -1 {
				results += fmt.Sprintf("\n  ended by %d %d", code, failed)
			}
			break
		}
		results += "\n  " + resultName(code)
		if code != -1 || failed != 0 {
			results += " " + errorName(failed)
		}
		switch code {
		case -1:
			results += " " + errorName(in.int())
		case 1:
			results += showPath(r, in)
		case 15, 19, 21:
			results += showCreated(r, in)
		case 5:
			results += showStat(r, in)
		case 4:
			results += showData(r, in)
		case 8:
			results += showChildren(r, in)
		}
	}
	return results
}

// resultName names an operation by its number.
func resultName(code int32) string {
	if code == -1 {
		return "error"
	}
	for _, name := range []string{
		"create", "create2", "createContainer", "createTTL", "delete", "check", "setData", "getData", "getChildren",
	} {
		if requests[name].code == code {
			return name
		}
	}
	return strconv.Itoa(int(code))
}

func quoteData(data []byte) string {
	switch {
	case data == nil:
		return "null"
	case len(data) > 40:
		return fmt.Sprintf("(%d bytes, first %q)", len(data), data[:8])
	}
	return strconv.Quote(string(data))
}

// errorNames are the codes that a server may answer with.
var errorNames = map[int32]string{
	0: "ok", -1: "SystemError", -2: "RuntimeInconsistency", -3: "DataInconsistency", -4: "ConnectionLoss",
	-5: "MarshallingError", -6: "Unimplemented", -7: "OperationTimeout", -8: "BadArguments",
	-13: "NewConfigNoQuorum", -14: "ReconfigInProgress", -15: "UnknownSession",
	-100: "APIError", -101: "NoNode", -102: "NoAuth", -103: "BadVersion", -108: "NoChildrenForEphemerals",
	-110: "NodeExists", -111: "NotEmpty", -112: "SessionExpired", -113: "InvalidCallback", -114: "InvalidACL",
	-115: "AuthFailed", -118: "SessionMoved", -119: "NotReadOnly", -120: "EphemeralOnLocalSession",
	-121: "NoWatcher", -122: "RequestTimeout", -123: "ReconfigDisabled", -124: "SessionClosedRequireSaslAuth",
	-125: "QuotaExceeded", -127: "Throttled",
}

func errorName(code int32) string {
	if name, known := errorNames[code]; known {
		return name
	}
	return fmt.Sprintf("error %d", code)
}

// eventNames are the kinds of watch events.
var eventNames = map[int32]string{
	-1: "None", 1: "NodeCreated", 2: "NodeDeleted", 3: "NodeDataChanged", 4: "NodeChildrenChanged",
	5: "DataWatchRemoved", 6: "ChildWatchRemoved", 7: "PersistentWatchRemoved",
}
