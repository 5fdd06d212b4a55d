package scenarios

import (
	"encoding/binary"
	"net"
	"slices"

	"github.com/lockstep-sim/lockstep/sim"
)

// zkConn is a connection of go-zookeeper to the ZooKeeper machine. It makes up for two things that would leave chance
// in a run.
//
// The library has room for two results of a request, the second for a Close at the same moment. A write that fails
// makes a third, and the library's main goroutine would stay blocked for good; so the connection takes what a machine
// writes after its end as if it went out.
//
// When its session is attached again the library asks for all its watches at once, in the order of a map. They go out
// sorted.
type zkConn struct {
	net.Conn
	process *sim.Process
}

func (c zkConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(sortWatches(p))
	if err != nil && c.process.Context().Err() != nil {
		return len(p), nil
	}
	return n, err
}

// The layout of a setWatches request: its length, a number that no other request has, its type, the latest change that
// the client has seen, and three lists of paths. A list is a count and so many texts, each with its length before it.
const (
	setWatchesType = 101
	typeAt         = 8
	listsAt        = 20
	listsOfWatches = 3
)

// sortWatches returns a request as it is, or, if it sets watches, with each of its lists sorted.
func sortWatches(request []byte) []byte {
	if len(request) < listsAt || binary.BigEndian.Uint32(request[typeAt:]) != setWatchesType {
		return request
	}
	sorted, rest := slices.Clone(request[:listsAt]), request[listsAt:]
	for range listsOfWatches {
		paths, after, ok := readPaths(rest)
		if !ok {
			return request
		}
		slices.Sort(paths)
		sorted = binary.BigEndian.AppendUint32(sorted, uint32(len(paths)))
		for _, path := range paths {
			sorted = append(binary.BigEndian.AppendUint32(sorted, uint32(len(path))), path...)
		}
		rest = after
	}
	return append(sorted, rest...)
}

// readPaths reads a list of paths and returns what comes after it; false means that there is none.
func readPaths(p []byte) (paths []string, rest []byte, ok bool) {
	const size = 4 // of a number
	if len(p) < size {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(p)
	for p = p[size:]; n > 0; n-- {
		if len(p) < size {
			return nil, nil, false
		}
		length := uint64(binary.BigEndian.Uint32(p))
		if p = p[size:]; length > uint64(len(p)) {
			return nil, nil, false
		}
		paths, p = append(paths, string(p[:length])), p[length:]
	}
	return paths, p, true
}
