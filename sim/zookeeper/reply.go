package zookeeper

import "fmt"

// Reply answers a Request. Which fields matter depends on Op; only Err does when it is not OK.
type Reply struct {
	Op   Op
	Xid  int32
	Zxid int64 // the last transaction that the server knows, which is the request's own if it took one
	Err  Code

	Path     string
	Data     []byte
	Stat     Stat
	Children []string
	ACL      []ACL
	Number   int32
	Results  []Reply // of a multi
	// Silent means that there is no reply, and Close that the server closes the connection after it.
	Silent, Close bool

	ids       []ID
	emptyList bool // a multiRead that failed half-way has an empty list of results in spite of its error
}

// pingXid is the number of the reply to every ping, and eventXid that of events, whatever a client numbers.
const (
	eventXid int32 = -1
	pingXid  int32 = -2
)

// appendReply writes the frame of a reply.
func appendReply(b []byte, p *Reply) []byte {
	b, start := beginFrame(b)
	xid := p.Xid
	if p.Op == OpPing {
		xid = pingXid
	}
	b = appendInt32(b, xid)
	b = appendInt64(b, p.Zxid)
	b = appendInt32(b, int32(p.Err))
	switch {
	case p.emptyList:
		b = p.appendResults(b)
	case p.Err == OK:
		b = p.appendBody(b)
	}
	return endFrame(b, start)
}

func (p *Reply) appendBody(b []byte) []byte {
	switch p.Op {
	case OpCreate, OpSync:
		return appendString(b, p.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		return appendStat(appendString(b, p.Path), &p.Stat)
	case OpExists, OpSetData, OpSetACL:
		return appendStat(b, &p.Stat)
	case OpGetData:
		return appendStat(appendBuffer(b, p.Data), &p.Stat)
	case OpGetChildren, OpGetEphemerals:
		return appendStrings(b, p.Children)
	case OpGetChildren2:
		return appendStat(appendStrings(b, p.Children), &p.Stat)
	case OpGetACL:
		return appendStat(appendACL(b, p.ACL), &p.Stat)
	case OpGetAllChildrenNumber:
		return appendInt32(b, p.Number)
	case OpAddWatch:
		return appendInt32(b, 0)
	case OpMulti, OpMultiRead:
		return p.appendResults(b)
	case OpWhoAmI:
		return p.appendIDs(b)
	}
	return b
}

// appendResults writes the list of a multi's results, each with a header of its own.
func (p *Reply) appendResults(b []byte) []byte {
	for i := range p.Results {
		result := &p.Results[i]
		b = appendMultiHeader(b, result.Op, false, result.Err)
		if result.Op == opError {
			b = appendInt32(b, int32(result.Err))
		} else {
			b = result.appendBody(b)
		}
	}
	return appendMultiHeader(b, opError, true, -1)
}

func appendMultiHeader(b []byte, op Op, done bool, err Code) []byte {
	return appendInt32(appendBool(appendInt32(b, int32(op)), done), int32(err))
}

// appendIDs writes who the client is: scheme and user.
func (p *Reply) appendIDs(b []byte) []byte {
	b = appendInt32(b, int32(len(p.ids)))
	for _, id := range p.ids {
		b = appendString(appendString(b, id.Scheme), userOf(id))
	}
	return b
}

// appendEvent writes the frame of an event.
func appendEvent(b []byte, e Event) []byte {
	const connected = 3 // the state of the client's session
	b, start := beginFrame(b)
	b = appendInt32(b, eventXid)
	b = appendInt64(b, -1)
	b = appendInt32(b, int32(OK))
	b = appendInt32(b, int32(e.Type))
	b = appendInt32(b, connected)
	b = appendString(b, e.Path)
	return endFrame(b, start)
}

// DescribeReply names the words of one frame that a server wrote, so that an event can be told from a reply:
//
//	event NodeDeleted /path
//	connected 0x100036ee800000, or expired
//	pong
//	reply ok, or reply and the name of the code
//
// It returns nil for any other bytes.
func DescribeReply(p []byte) []string {
	d := decoder{rest: p}
	if n := d.int32(); d.failed || int(n) != len(d.rest) {
		return nil
	}
	xid := d.int32()
	if xid == 0 { // clients number from 1; this is the version that a ConnectReply begins with
		_ = d.int32()
		return describeConnectReply(d.int64(), d.failed)
	}
	_ = d.int64()
	code := Code(d.int32())
	switch {
	case d.failed:
		return nil
	case xid == eventXid:
		event, _, path := EventType(d.int32()), d.int32(), d.string()
		return []string{"event", event.String(), path}
	case xid == pingXid:
		return []string{"pong"}
	}
	return []string{"reply", code.String()}
}

func describeConnectReply(session int64, failed bool) []string {
	switch {
	case failed:
		return nil
	case session == 0:
		return []string{"expired"}
	}
	return []string{"connected", fmt.Sprintf("0x%x", uint64(session))}
}

// appendConnectReply writes the frame that answers a ConnectRequest.
func appendConnectReply(b []byte, p *ConnectReply, modern bool) []byte {
	b, start := beginFrame(b)
	b = appendInt32(b, 0) // the version of the protocol
	b = appendInt32(b, int32(p.Timeout))
	b = appendInt64(b, p.Session)
	b = appendBuffer(b, p.Password[:])
	if modern {
		b = appendBool(b, false) // this server is not read-only
	}
	return endFrame(b, start)
}
