package zookeeper_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
)

// relay stands between a client and a server, and is where their connection fails. It works on whole frames.
type relay struct {
	on target

	mutex  sync.Mutex
	open   []net.Conn
	closed bool  // refuses connections
	mute   bool  // passes nothing on, in either direction
	lose   int32 // of the next request of this kind the reply is lost, and with it the connection
	lost   chan struct{}
}

func newRelay(on target) *relay { return &relay{on: on, lost: make(chan struct{}, 1)} }

var errRefused = errors.New("connection refused")

// dial connects a client.
func (l *relay) dial() (net.Conn, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return nil, errRefused
	}
	server, err := l.on.dial()
	if err != nil {
		return nil, err
	}
	client, near := net.Pipe()
	l.open = append(l.open, server, near)
	doomed := make(chan int32, 1) // the number of the request whose reply is lost
	go l.pass(server, near, func(frame []byte) bool { return l.request(frame, doomed) })
	go l.pass(near, server, l.reply(doomed))
	return client, nil
}

// pass copies frames until either side is gone or keep says that the connection is.
func (l *relay) pass(to, from net.Conn, keep func(frame []byte) bool) {
	defer to.Close()
	defer from.Close()
	for {
		frame := make([]byte, 4)
		if _, err := io.ReadFull(from, frame); err != nil {
			return
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
		if _, err := io.ReadFull(from, frame[4:]); err != nil || !keep(frame) {
			return
		}
		l.mutex.Lock()
		mute := l.mute
		l.mutex.Unlock()
		if mute {
			continue
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
	}
}

// request looks at what the client sends.
func (l *relay) request(frame []byte, doomed chan<- int32) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lose != 0 && len(frame) >= 12 && int32(binary.BigEndian.Uint32(frame[8:])) == l.lose {
		l.lose = 0
		doomed <- int32(binary.BigEndian.Uint32(frame[4:]))
	}
	return true
}

// reply looks at what the server sends.
func (l *relay) reply(doomed <-chan int32) func([]byte) bool {
	var xid int32
	return func(frame []byte) bool {
		select {
		case xid = <-doomed:
		default:
		}
		if xid == 0 || int32(binary.BigEndian.Uint32(frame[4:])) != xid {
			return true
		}
		l.lost <- struct{}{}
		return false
	}
}

// cut ends all connections.
func (l *relay) cut() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open = nil
}

// set changes the relay's behaviour.
func (l *relay) set(change func(*relay)) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change(l)
}
