package mechanism

import (
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// The mechanisms of locks that queue with nodes on ZooKeeper.
var (
	FailsOpen = Mechanism{
		"fails-open", "Z1", "an attempt that met an error returned as if the lock were held",
	}
	TimedTrySucceeds = Mechanism{
		"timed-try-succeeds", "Z2", "a timed attempt ran out of time and returned as if the lock were held",
	}
	WakeUpIsOwnership = Mechanism{
		"wake-up-is-ownership", "Z3",
		"a waiter woke because the node in front was gone, and did not look who else was in front",
	}
	AnyEventWakes = Mechanism{
		"any-event-wakes", "Z4", "a waiter took the news of a lost connection for its turn",
	}
	AbsentPredecessor = Mechanism{
		"absent-predecessor", "Z5", "the node in front was gone when it was to be watched, which was taken for a free lock",
	}
	StalePath = Mechanism{
		"stale-path", "Z7", "a client went by the path of a node that was gone, and made none",
	}
	SessionLost = Mechanism{
		"session-lost", "Z8", "the session of a holder ended, and its node with it; the holder went on",
	}
	ThreadBlind = Mechanism{
		"thread-blind", "Z9", "a second thread of the machine was let in as a re-entry of the first",
	}
	PrefixOrder = Mechanism{
		"prefix-order", "Z11", "nodes were ordered by their whole names, and the prefix of a late comer sorts first",
	}
	CounterWrap = Mechanism{
		"counter-wrap", "Z12", "the counter behind the names went below zero, and the late comers sort first",
	}
	NoDirectory = Mechanism{
		"no-directory", "Z15",
		"the lock's directory was missing, no node could be made, and the attempt returned as if the lock were held",
	}
	LostWakeUp = Mechanism{
		"lost-wake-up", "Z16", "the node in front went away before there was anything to wake; the first of the queue sleeps",
	}
	LostCreate = Mechanism{
		"lost-create", "Z17", "a node was made and the reply lost, so its owner does not know that it is first",
	}
	FailedTryStays = Mechanism{
		"failed-try-stays", "Z18", "an attempt that failed left its node in the queue, and nobody stands behind it",
	}
	ForeignChild = Mechanism{
		"foreign-child", "Z19", "a node that belongs to no client stands in front of the queue",
	}
	DeleteFails = Mechanism{
		"delete-fails", "Z20", "the delete of a node failed, and its owner believes that it has released",
	}
)

// StuckHandle is a fault of the lock that comes with go-zookeeper; the number is that of the list for that library.
var StuckHandle = Mechanism{
	"stuck-handle", "G2",
	"the node of a holder was gone, so its handle could not be unlocked, and for that it could not be locked",
}

// queueMechanisms lists them in order of their numbers.
func queueMechanisms() []Mechanism {
	return []Mechanism{
		FailsOpen, TimedTrySucceeds, WakeUpIsOwnership, AnyEventWakes, AbsentPredecessor, StalePath, SessionLost,
		ThreadBlind, PrefixOrder, CounterWrap, NoDirectory, LostWakeUp, LostCreate, FailedTryStays, ForeignChild, DeleteFails,
		StuckHandle,
	}
}

// The commands of requests that tell these mechanisms apart, and the command under which a watch event is recorded.
const (
	commandCreate   = "create"
	commandExists   = "exists"
	commandRead     = "getData"
	commandChildren = "getChildren"
	commandEvent    = "event"
)

// isQueue tells whether the requests for this lock are on record, as those of queue locks are.
func (l *lock) isQueue() bool { return len(l.requests) > 0 }

// requested are the requests of a machine, and the events that it was sent, from the call of c to its return.
func (l *lock) requested(c *call) []*checker.Event {
	last := int64(1<<63 - 1)
	if c.end != nil {
		last = c.end.Index
	}
	from := sort.Search(len(l.requests), func(i int) bool { return l.requests[i].Index > c.begin.Index })
	var requests []*checker.Event
	for _, r := range l.requests[from:] {
		if r.Index > last {
			break
		}
		if r.Node == c.node() {
			requests = append(requests, r)
		}
	}
	return requests
}

// outOfTurn explains how two processes came to hold at once: either the node of the one that held first went away, or
// one of them entered without being the first of the queue.
func (l *lock) outOfTurn(v checker.Violation) *Finding {
	if len(v.Processes) != 2 {
		return nil
	}
	one, two := l.acquired(v.Processes[0], v.From), l.acquired(v.Processes[1], v.From)
	if one == nil || two == nil {
		return nil
	}
	if one.end.Index > two.end.Index {
		one, two = two, one
	}
	if one.node() == two.node() && len(l.requested(two)) == 0 {
		return finding(ThreadBlind, []*checker.Event{one.begin, two.begin}, "a second thread of %s asked while the first "+
			"held, and was let in without a word to the server", two.node())
	}
	turn := l.turn(one)
	if turn == nil {
		return l.entered(one, two)
	}
	if loss := l.loss(turn, one.begin.Owner, two.end.Index); loss != nil {
		if loss.Command == checker.CommandExpire {
			return finding(SessionLost, []*checker.Event{turn, loss}, "the node of %s went away with its session at %s, and %s "+
				"went on", one.node(), loss.Time, one.node())
		}
		return nil
	}
	return l.entered(two, one)
}

// turn is the fact by which the owner of a call became the first of the queue, if it was that when the call returned.
func (l *lock) turn(c *call) *checker.Event {
	k := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Index > c.end.Index })
	if k > 0 && names(l.facts[k-1], c.begin.Owner) {
		return l.facts[k-1]
	}
	return nil
}

// entered explains why a call returned with success although it was not its owner's turn; other is who else held.
func (l *lock) entered(c, other *call) *Finding {
	requests := l.requested(c)
	var made, looked *checker.Event // the last create, and the last look at the node in front
	listed := false
	for _, r := range requests {
		switch r.Command {
		case commandCreate:
			made, looked, listed = r, nil, false
		case commandChildren:
			listed = true
		case commandExists, commandRead:
			if made != nil && r.Value != made.Value { // a look at the own node is not one at the node in front
				looked = r
			}
		}
	}
	name, events := c.node(), []*checker.Event{c.begin}
	for _, e := range []*checker.Event{made, looked} {
		if e != nil {
			events = append(events, e)
		}
	}
	switch {
	case made == nil && listed:
		return finding(StalePath, events, "%s made no node and went by the path of one that was gone", name)
	case made == nil:
		return finding(FailsOpen, events, "the request of %s for a node did not get through, and %s went on as if it held",
			name, name)
	case made.Error == "NoNode":
		return finding(NoDirectory, events, "%s asked for a node in a directory that is not there, and went on as if it "+
			"held", name)
	case made.Error != "" || !listed:
		return finding(FailsOpen, events, "%s learned nothing of its node, and went on as if it held", name)
	case looked == nil:
		return l.sortedFirst(c, other, made)
	case looked.Error == "NoNode":
		return finding(AbsentPredecessor, events, "%s found the node in front gone, and did not look who else was there",
			name)
	}
	return l.woken(c, looked, requests, events)
}

// woken explains a waiter that went on before its turn.
func (l *lock) woken(c *call, looked *checker.Event, requests, events []*checker.Event) *Finding {
	name := c.node()
	for _, r := range requests {
		if r.Command == commandEvent && r.Value == looked.Value && r.Index > looked.Index {
			return finding(WakeUpIsOwnership, append(events, r), "%s woke because %s was gone, and did not look who else was "+
				"in front", name, looked.Value)
		}
	}
	if c.begin.Wait > 0 && c.end.Time-c.begin.Time >= c.begin.Wait {
		return finding(TimedTrySucceeds, events, "%s was ready to wait for %s, waited for %s, and went on as if it held",
			name, c.begin.Wait, (c.end.Time - c.begin.Time).Round(time.Millisecond))
	}
	return finding(AnyEventWakes, events, "%s woke although %s was still there", name, looked.Value)
}

// sortedFirst explains a client that took its node for the first although another was made before.
func (l *lock) sortedFirst(c, other *call, made *checker.Event) *Finding {
	var before *checker.Event
	for _, r := range l.requested(other) {
		if r.Command == commandCreate && r.Error == "" {
			before = r
		}
	}
	if before == nil {
		return nil
	}
	own, others := readings(made.Value), readings(before.Value)
	events := []*checker.Event{before, made}
	mechanism := PrefixOrder
	for _, a := range own {
		for _, b := range others {
			if a.prefix != b.prefix {
				continue
			} else if a.number >= b.number {
				return nil
			}
			mechanism = CounterWrap
		}
	}
	return finding(mechanism, events, "the node %s of %s came after %s and sorts before it", made.Value, c.node(),
		before.Value)
}

// reading is one way to take the name of a sequential node apart.
type reading struct {
	prefix string
	number int64
}

// digits is how many the server appends to a sequential name, after a minus sign once the counter has wrapped.
const digits = 10

// A client library may put a mark and a GUID in front of a name, to find its node again after a lost reply.
const (
	protectedMark   = "_c_"
	protectedLength = len(protectedMark) + 32 + len("-")
)

// readings are the ways to read a name: a dash in front of the number may belong to the prefix, or be its sign.
func readings(node string) []reading {
	name := path.Base(node)
	if strings.HasPrefix(name, protectedMark) && len(name) > protectedLength {
		name = name[protectedLength:] // who made it; no part of the order
	}
	cut := len(name) - digits
	if cut < 0 {
		return nil
	}
	var ways []reading
	if n, err := strconv.ParseInt(name[cut:], 10, 32); err == nil && name[cut] != '-' {
		ways = append(ways, reading{name[:cut], n})
	}
	if cut > 0 && name[cut-1] == '-' {
		if n, err := strconv.ParseInt(name[cut-1:], 10, 32); err == nil {
			ways = append(ways, reading{name[:cut-1], n})
		}
	}
	return ways
}

// asleep explains a queue that does not move: it looks at whose node is first and why its owner does not go on.
func (l *lock) asleep(v checker.Violation) *Finding {
	k := sort.Search(len(l.facts), func(i int) bool { return l.facts[i].Time >= v.To })
	var first *checker.Event
	for _, f := range slices.Backward(l.facts[:k]) {
		if f.Record != nil {
			first = f
			break
		}
		if f.Time < v.From {
			return nil
		}
	}
	if first == nil {
		return nil
	}
	if strings.HasPrefix(first.Record.Owner, "/") {
		return finding(ForeignChild, []*checker.Event{first}, "%s belongs to no client, and everybody waits for it to go "+
			"away", first.Record.Owner)
	}
	return l.idle(first)
}

// idle explains the owner of the first node of a queue that does not move.
func (l *lock) idle(first *checker.Event) *Finding {
	var made *checker.Event
	for _, r := range l.requests {
		if r.Command == commandCreate && r.Value == first.Value && r.Error == "" {
			made = r
		}
	}
	if made == nil {
		return nil
	}
	maker := l.during(made)
	if maker == nil {
		return nil
	}
	name, events := made.Node, []*checker.Event{made, first}
	calls := l.byNode[name]
	last := calls[len(calls)-1]
	switch {
	case l.madeAnother(maker, made):
		return finding(LostCreate, events, "%s does not know that %s is its own, and asked for another", name, first.Value)
	case maker.end == nil:
		return finding(LostWakeUp, events, "%s is first with %s and still waits to be woken", name, first.Value)
	case maker.outcome() == checker.Fail:
		return finding(FailedTryStays, events, "the attempt of %s failed and left %s behind", name, first.Value)
	case !l.listedAfter(maker, made):
		return finding(LostCreate, events, "%s does not know that %s is its own", name, first.Value)
	case last.releases() || maker != last:
		return finding(DeleteFails, events, "%s believes that it has released, but %s is still there", name, first.Value)
	}
	return nil
}

// madeAnother tells whether a call asked for one more node after it had made one.
func (l *lock) madeAnother(c *call, made *checker.Event) bool {
	for _, r := range l.requested(c) {
		if r.Index > made.Index && r.Command == commandCreate {
			return true
		}
	}
	return false
}

// listedAfter tells whether a call went on to look at the queue after it had made a node.
func (l *lock) listedAfter(c *call, made *checker.Event) bool {
	for _, r := range l.requested(c) {
		if r.Index > made.Index && r.Command == commandChildren {
			return true
		}
	}
	return false
}

// uselessHandle explains a client that is told of an error each time it asks although nothing is wrong: an unlock of it
// failed before, and nothing was sent to the server since.
func (l *lock) uselessHandle(v checker.Violation) *Finding {
	if len(v.Processes) == 0 {
		return nil
	}
	var failed *call
	for _, c := range l.byProcess[v.Processes[0]] {
		if c.begin.Time > v.From && failed == nil {
			return nil
		}
		if c.releases() && c.outcome() != checker.OK {
			failed = c
		} else if failed != nil && c.acquires() && len(l.requested(c)) > 0 {
			failed = nil
		}
	}
	if failed == nil {
		return nil
	}
	return finding(StuckHandle, []*checker.Event{failed.begin}, "the unlock of %s at %s failed, and none of its calls "+
		"has reached the server since", failed.node(), failed.begin.Time)
}
