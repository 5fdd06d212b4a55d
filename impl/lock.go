package impl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jonboulle/clockwork"
)

// Lock is one owner's handle on a named distributed lock.
//
// A handle belongs to one Owner and is used by one goroutine at a time, as a Java lock object is used by one thread
// at a time; implementations say so where they allow more.
type Lock interface {
	// Lock blocks until the lock is held or ctx ends. A nil error means held.
	Lock(ctx context.Context) error
	// TryLock makes one attempt. An error means that the outcome is unknown or that the attempt could not be made.
	TryLock(ctx context.Context) (bool, error)
	// TryLockFor keeps trying for at most wait, measured on the machine's own clock.
	TryLockFor(ctx context.Context, wait time.Duration) (bool, error)
	// Unlock gives up one level of the hold. ErrNotOwner means that the lock is certainly not this owner's.
	Unlock(ctx context.Context) error
}

// Holder is a Lock that can ask the server whether this owner holds it.
type Holder interface {
	Held(ctx context.Context) (bool, error)
}

// Fenced is a Lock that numbers its holds. Tokens rise from one hold to the next and stay equal inside one hold.
type Fenced interface {
	// Token returns the fencing token of the current hold, 0 when nothing is held.
	Token() int64
}

// Leased is a Lock whose hold ends by itself.
type Leased interface {
	// Deadline returns the reading of this machine's clock at which the current hold must be taken as over.
	Deadline() time.Time
}

// Lossy is a Lock that reports when a hold ended without Unlock.
type Lossy interface {
	// Lost returns a channel that is closed when the current hold is known to be gone. It is made anew by each
	// outermost acquisition and is nil while nothing is held.
	Lost() <-chan struct{}
}

// Errors that every implementation uses for the same meaning. Wrap them with %w.
var (
	// ErrNotOwner answers an Unlock by somebody who does not hold the lock: a definite failure.
	ErrNotOwner = errors.New("not the owner of the lock")
	// ErrLost answers an Unlock whose hold had ended before: the section was not protected to its end.
	ErrLost = errors.New("the hold had ended before the unlock")
	// ErrHeld answers a Lock by the holder of a lock that is not reentrant: it would wait for itself.
	ErrHeld = errors.New("this handle holds the lock already and it is not reentrant")
)

// Owner identifies who holds a lock: a thread of a process of a machine.
type Owner struct {
	Machine string // a MAC address in the published locks, such as 28-D2-44-0E-0D-9A
	Process int64
	Thread  int64
}

// String renders the owner as machine/process/thread.
func (o Owner) String() string { return fmt.Sprintf("%s/%d/%d", o.Machine, o.Process, o.Thread) }

// Redis is all that a Redis lock asks of its client: send one command, get its reply.
//
// A reply is nil, string, int64, float64, bool, []any or map[any]any. A nil reply has a nil error. An error reply of
// the server is returned as a RedisError; every other error means that nobody knows whether the command took effect.
//
// Calls may come from several goroutines, and a client bounds how long each may take.
type Redis interface {
	Do(ctx context.Context, args ...any) (any, error)
}

// RedisSubscriber is a Redis client that can also listen to a channel.
type RedisSubscriber interface {
	Redis
	// Subscribe returns once the server has confirmed: what is published from then on is received, unless the connection
	// breaks.
	Subscribe(ctx context.Context, channel string) (Subscription, error)
}

// Subscription is what one connection hears of one channel.
type Subscription interface {
	// Receive waits for the next message and returns its text. An error means that the subscription is over and that
	// messages may have been missed: it is never made anew behind the caller's back. One goroutine at a time may wait.
	Receive() (string, error)
	// Close ends the subscription and whoever waits in Receive. It does not wait, and may be called from any goroutine.
	Close()
}

// RedisError is an error that the server answered: the command was received and refused.
type RedisError string

func (e RedisError) Error() string { return string(e) }

// TimeSource answers what time it is somewhere else.
type TimeSource interface {
	// Millis returns the source's clock in milliseconds since the Unix epoch.
	Millis(ctx context.Context) (int64, error)
}

// Environment is what a machine offers to a lock that runs on it. None of it tells whether it is real or simulated.
type Environment struct {
	Clock clockwork.Clock
	// Redis is set for backend "redis" where one server keeps the lock. A lock that listens to channels wants a
	// RedisSubscriber.
	Redis Redis
	// Redises are the servers of a lock that is kept on several, each by itself: no two of them share data. Everybody who
	// uses the lock names the same servers. Set for backend "redis", with Redis alone where there is one.
	Redises []Redis
	// ZooKeeper is set for backend "zookeeper".
	ZooKeeper ZooKeeper
	// SessionEvents is how a ZooKeeper lock learns what becomes of its session: the channel that zk.Connect returned
	// where one lock uses the connection, a channel of its own where several do (see zklock.Watch). The lock empties it
	// until it is closed.
	SessionEvents <-chan zk.Event
	// Dial opens a connection to another machine, as net.Dialer.DialContext does.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// TimeServer is the address (host:port) of the time service, empty where there is none.
	TimeServer string
	// Random gives the bytes of unique tokens: crypto/rand.Reader in production.
	Random io.Reader
	// Go starts a goroutine that belongs to this machine: func(f func()) { go f() } in production.
	Go func(f func())
}

// Settings are the choices that a user of one lock makes.
type Settings struct {
	Name  string // the key or path of the lock
	Owner Owner
	Lease time.Duration
	// Knobs holds values for Entry.Knobs by name; a missing name means the default.
	Knobs map[string]string
	// Ablations names the safeguards to switch off, see Entry.Ablations.
	Ablations []string
}
