package foreign

import "github.com/lockstep-sim/lockstep/checker"

// Object is what the operations of a history are called on.
type Object string

// The objects.
const (
	Lock     Object = "lock"
	Register Object = "register"  // read, write and cas of one value
	KeyValue Object = "key-value" // get, put and append of one value for each key
)

// objectOf finds out the object by the names of the calls. Whatever has calls of a lock is the history of a lock.
func objectOf(h *checker.History) Object {
	object := Lock
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process < 0 || e.Type != checker.Invoke {
			continue
		}
		switch e.F {
		case checker.Acquire, checker.TryAcquire, checker.Release:
			return Lock
		case read, cas:
			object = Register
		case get, put, appendTo:
			object = KeyValue
		}
	}
	return object
}

// The calls of registers and key-value stores; that of writing a register is checker.Write.
const (
	read     = "read"
	cas      = "cas"
	get      = "get"
	put      = "put"
	appendTo = "append"
)
