package zookeeper_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"
)

// The codec of the conformance scripts. It is written apart from the machine's own, so that a mistake in one is not
// hidden by the same mistake in the other, and it keeps everything that the bytes say: a missing vector is not an
// empty one, and bytes left over are reported.

// writer builds the body of a request.
type writer struct{ b []byte }

func (w *writer) int(v int32)  { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) long(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) string(v string) {
	w.int(int32(len(v)))
	w.b = append(w.b, v...)
}

// buffer writes bytes; nil is the missing buffer, whose length is -1.
func (w *writer) buffer(v []byte) {
	if v == nil {
		w.int(-1)
		return
	}
	w.string(string(v))
}

func (w *writer) strings(v []string) {
	w.int(int32(len(v)))
	for _, s := range v {
		w.string(s)
	}
}

// access is one entry of an access control list.
type access struct {
	perms      int32
	scheme, id string
}

// acl writes an access control list; nil is the missing list, whose length is -1.
func (w *writer) acl(list []access) {
	if list == nil {
		w.int(-1)
		return
	}
	w.int(int32(len(list)))
	for _, a := range list {
		w.int(a.perms)
		w.string(a.scheme)
		w.string(a.id)
	}
}

var errShort = errors.New("the reply ends too early")

// reader takes a reply apart. After the first mistake err is set and everything read is zero.
type reader struct {
	b   []byte
	err error
}

func (r *reader) take(n int) []byte {
	if r.err != nil || n < 0 || n > len(r.b) {
		r.err = errShort
		return make([]byte, min(max(n, 0), 8))
	}
	taken := r.b[:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) int() int32  { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *reader) long() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }
func (r *reader) bool() bool  { return r.take(1)[0] != 0 }

// buffer returns nil for the missing buffer.
func (r *reader) buffer() []byte {
	n := r.int()
	if n == -1 || r.err != nil {
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) string() string { return string(r.buffer()) }

// strings returns nil for the missing vector.
func (r *reader) strings() []string {
	n := r.int()
	if n == -1 || r.err != nil {
		return nil
	}
	list := []string{}
	for i := int32(0); i < n && r.err == nil; i++ {
		list = append(list, r.string())
	}
	return list
}

func (r *reader) acl() []access {
	n := r.int()
	list := []access{}
	for i := int32(0); i < n && r.err == nil; i++ {
		list = append(list, access{r.int(), r.string(), r.string()})
	}
	return list
}

// stat is a node's metadata as the server sends it.
type stat struct {
	czxid, mzxid, ctime, mtime   int64
	version, cversion, aversion  int32
	ephemeralOwner               int64
	dataLength, numberOfChildren int32
	pzxid                        int64
}

func (r *reader) stat() stat {
	return stat{
		r.long(), r.long(), r.long(), r.long(), r.int(), r.int(), r.int(), r.long(), r.int(), r.int(), r.long(),
	}
}

// wire is one connection to a server, cut into frames. What arrives is read at once and kept, so that a server that
// writes an event to one session never waits for a script that looks at another.
type wire struct {
	conn   net.Conn
	frames chan []byte // closed when the connection ends
}

func newWire(conn net.Conn) *wire {
	w := &wire{conn: conn, frames: make(chan []byte, 1<<12)}
	go func() {
		defer close(w.frames)
		for {
			var length [4]byte
			if _, err := io.ReadFull(conn, length[:]); err != nil {
				return
			}
			frame := make([]byte, binary.BigEndian.Uint32(length[:])&(1<<26-1))
			if _, err := io.ReadFull(conn, frame); err != nil {
				return
			}
			w.frames <- frame
		}
	}()
	return w
}

// send writes a frame. A connection that is gone is found out by the reader.
func (w *wire) send(body []byte) {
	_, _ = w.conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
}

// patience bounds every wait for a server: a hang is a failure, not a verdict on time.
const patience = 10 * time.Second

// errSilent says that a server sent nothing for too long.
var errSilent = errors.New("no reply")

// receive returns the next frame, io.EOF after the last.
func (w *wire) receive() ([]byte, error) {
	select {
	case frame, open := <-w.frames:
		if !open {
			return nil, io.EOF
		}
		return frame, nil
	default:
	}
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case frame, open := <-w.frames:
		if !open {
			return nil, io.EOF
		}
		return frame, nil
	case <-limit.C:
		return nil, errSilent
	}
}
