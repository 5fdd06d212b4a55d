package zookeeper

import "fmt"

// Code is the outcome of a request as it travels in a reply.
type Code int32

// The codes that this server answers with.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	NoWatcher               Code = -121
	ReconfigDisabled        Code = -123
)

var codeNames = map[Code]string{
	OK: "ok", RuntimeInconsistency: "RuntimeInconsistency", MarshallingError: "MarshallingError",
	Unimplemented: "Unimplemented", BadArguments: "BadArguments", NoNode: "NoNode", NoAuth: "NoAuth",
	BadVersion: "BadVersion", NoChildrenForEphemerals: "NoChildrenForEphemerals", NodeExists: "NodeExists",
	NotEmpty: "NotEmpty", SessionExpired: "SessionExpired", InvalidACL: "InvalidACL", AuthFailed: "AuthFailed",
	NoWatcher: "NoWatcher", ReconfigDisabled: "ReconfigDisabled",
}

// String is the name of the code.
func (c Code) String() string {
	if name := codeNames[c]; name != "" {
		return name
	}
	return fmt.Sprintf("code %d", int32(c))
}

// Op says what a request asks for.
type Op int32

// The requests that are answered, with their numbers on the wire. The last two are no requests: they name what else
// happens to sessions and nodes.
const (
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13
	OpMulti                Op = 14
	OpCreate2              Op = 15
	OpReconfig             Op = 16
	OpCheckWatches         Op = 17
	OpRemoveWatches        Op = 18
	OpCreateContainer      Op = 19
	OpDeleteContainer      Op = 20
	OpCreateTTL            Op = 21
	OpMultiRead            Op = 22
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
	OpCloseSession         Op = -11
	OpConnect              Op = -10
	OpExpire               Op = -12

	opError Op = -1 // of a result within a multi
)

var opNames = map[Op]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData",
	OpGetACL: "getACL", OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping",
	OpGetChildren2: "getChildren", OpCheck: "check", OpMulti: "multi", OpCreate2: "create", OpReconfig: "reconfig",
	OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches", OpCreateContainer: "createContainer",
	OpDeleteContainer: "deleteContainer", OpCreateTTL: "createTTL", OpMultiRead: "multiRead", OpAuth: "auth",
	OpSetWatches: "setWatches", OpGetEphemerals: "getEphemerals", OpGetAllChildrenNumber: "getAllChildrenNumber",
	OpSetWatches2: "setWatches", OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpCloseSession: "closeSession",
	OpConnect: "connect", OpExpire: "expire",
}

// String is the name of the request. The two forms of create, of getChildren and of setWatches share theirs.
func (o Op) String() string {
	if name := opNames[o]; name != "" {
		return name
	}
	return fmt.Sprintf("op %d", int32(o))
}

// Bits of Request.Flags, and the modes that are not made of them.
const (
	FlagEphemeral  int32 = 1
	FlagSequential int32 = 2

	ModeContainer     int32 = 4
	ModeTTL           int32 = 5
	ModeSequentialTTL int32 = 6
)

// mode is Request.Flags taken apart.
type mode struct{ ephemeral, sequential, container, ttl bool }

func modeOf(flags int32) (m mode, ok bool) {
	switch flags {
	case ModeContainer:
		return mode{container: true}, true
	case ModeTTL, ModeSequentialTTL:
		return mode{ttl: true, sequential: flags == ModeSequentialTTL}, true
	}
	return mode{ephemeral: flags&FlagEphemeral != 0, sequential: flags&FlagSequential != 0}, flags >= 0 && flags <= 3
}

// EventType says what happened to a node that somebody watches.
type EventType int32

// The types of events.
const (
	NodeCreated EventType = iota + 1
	NodeDeleted
	NodeDataChanged
	NodeChildrenChanged
)

var eventNames = [...]string{"", "NodeCreated", "NodeDeleted", "NodeDataChanged", "NodeChildrenChanged"}

// String is the name of the type.
func (t EventType) String() string {
	if t > 0 && int(t) < len(eventNames) {
		return eventNames[t]
	}
	return fmt.Sprintf("event %d", int32(t))
}
