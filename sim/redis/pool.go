package redis

import (
	"sync"
	"time"
)

// pool keeps servers that nobody uses. A server holds no goroutine, timer or channel, so that it may go from one
// synctest bubble to the next.
var pool struct {
	sync.Mutex
	free []*Server
}

const (
	maxPooled = 64
	// maxUses bounds how many worlds one server serves: the store counts the versions of keys for ever.
	maxUses = 1000
)

// Get returns an empty server, a used one if there is one: it answers exactly as a new one would.
func Get(config Config) *Server {
	pool.Lock()
	last := len(pool.free) - 1
	if last < 0 {
		pool.Unlock()
		return New(config)
	}
	s := pool.free[last]
	pool.free[last] = nil
	pool.free = pool.free[:last]
	pool.Unlock()
	s.begin(config)
	return s
}

// Put gives back a server that came from Get or New. It and its connections must not be used afterwards.
func Put(s *Server) {
	s.Restart(true)
	s.config = Config{Now: func() time.Time { return time.Time{} }}
	s.uses++
	if s.uses >= maxUses {
		return
	}
	pool.Lock()
	defer pool.Unlock()
	if len(pool.free) < maxPooled {
		pool.free = append(pool.free, s)
	}
}
