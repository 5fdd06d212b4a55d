package impl

import "github.com/go-zookeeper/zk"

// ZooKeeper is all that a ZooKeeper lock asks of its client. *zk.Conn of github.com/go-zookeeper/zk has these methods
// as they are.
//
// No call takes a context: one that waits for a broken connection ends when the client gives up on it. An error that
// is the server's answer, such as zk.ErrNoNode, means that the request was refused. After zk.ErrConnectionClosed and
// other errors of the way there and back nobody knows whether the request took effect.
//
// Calls may come from several goroutines.
type ZooKeeper interface {
	Create(path string, data []byte, flags int32, acl []zk.ACL) (string, error)
	Delete(path string, version int32) error
	Exists(path string) (bool, *zk.Stat, error)
	ExistsW(path string) (bool, *zk.Stat, <-chan zk.Event, error)
	Get(path string) ([]byte, *zk.Stat, error)
	GetW(path string) ([]byte, *zk.Stat, <-chan zk.Event, error)
	Children(path string) ([]string, *zk.Stat, error)
	// SessionID names the session of this moment; 0 before the first and between two. The client opens a new session
	// by itself when one has expired.
	SessionID() int64
}

var _ ZooKeeper = (*zk.Conn)(nil)
