package redis

import (
	"bufio"
	"math"
	"math/rand/v2"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// databases is how many databases SELECT offers, as in an unconfigured Redis.
const databases = 16

// Config says what a Server takes from the machine that it runs on.
type Config struct {
	// Now reads the machine's wall clock, which may step back. It is required.
	Now func() time.Time
	// After calls f once the duration has passed on the machine, unless cancelled before. It serves the time-outs of
	// blocking commands; without it they wait for ever.
	After func(d time.Duration, f func()) (cancel func())
	// Seed decides what the random commands answer (RANDOMKEY, SRANDMEMBER, SPOP, ...).
	Seed uint64
	// OnCommand, when set, sees every executed command after its effect.
	OnCommand func(Executed)
	// ScriptBudget bounds the instructions of one script. 0 means DefaultScriptBudget.
	ScriptBudget int
}

// Executed is a command that the server has carried out. Args and Raw must not be changed or kept.
type Executed struct {
	Conn uint64
	Args []string
	Raw  []byte // the reply as bytes of the protocol
	// Nested is set for a command that was called by a script or queued in a transaction. The EVAL or EXEC itself
	// is reported after what it called.
	Nested bool
}

// Port is where a connection's answers go. The sim package's ServiceConn is one.
type Port interface {
	// Write sends bytes to the peer as one segment.
	Write(p []byte)
	// Reply answers a direct command whose Command returned later.
	Reply(value any, raw []byte)
	// Push sends a subscriber of the direct transport a message.
	Push(value any, raw []byte)
	// Close cuts the connection from this side.
	Close()
}

// Server is a Redis server without a network and without goroutines: every call does its work before it returns.
// Calls must not be concurrent.
type Server struct {
	config Config
	store  *miniredis.Miniredis
	table  *server.Server // the store's command table
	dbs    [databases]*miniredis.RedisDB

	// The store writes its replies to writer, which appends to what sink points at.
	writer *bufio.Writer
	sink   sink

	clock    wallClock
	conns    []*Conn // in the order in which they came
	dirty    []*Conn // connections with output, in the order in which it arose
	lastID   int64   // of the connections, for CLIENT ID
	executed int64   // top-level commands since the start, for INFO
	accepted int64

	blocked []*waiter  // in the order in which they began to wait
	ready   []keyOf    // keys that came to be since the last command, see collectReady
	resumed []*Conn    // connections that stopped waiting and may have more to do
	topics  topics     // subscriptions
	scripts scriptBook // the script cache
	nested  *Conn      // runs what scripts call
	journal *journal   // nil = none is kept

	random      *rand.Rand // made when first needed
	storeSeeded bool
	uses        int // worlds served, see the pool
}

// keyOf names a key in one database.
type keyOf struct {
	db  int
	key string
}

// sink appends what is written to it to a connection's output.
type sink struct{ out *[]byte }

func (s *sink) Write(p []byte) (int, error) {
	*s.out = append(*s.out, p...)
	return len(p), nil
}

// New makes an empty server. Short-lived servers are cheaper from a pool, see Get.
func New(config Config) *Server {
	s := &Server{store: startStore()}
	s.table = s.store.Server()
	s.writer = bufio.NewWriterSize(&s.sink, 4096)
	s.begin(config)
	return s
}

// startStore makes a store that answers commands and listens nowhere. The store registers its commands on the
// first Dial only, so that one connection is opened and closed.
func startStore() *miniredis.Miniredis {
	store := miniredis.NewMiniRedis()
	conn, err := store.Dial()
	if err != nil { // an in-memory pipe cannot fail
		panic(err)
	}
	_ = conn.Close()
	return store
}

// begin gives an empty store a new life under a configuration.
func (s *Server) begin(config Config) {
	if config.ScriptBudget == 0 {
		config.ScriptBudget = DefaultScriptBudget
	}
	s.config = config
	s.random, s.storeSeeded, s.journal = nil, false, nil
	s.resetProcess()
	s.startClock()
}

// resetProcess forgets what lives in the memory of the server's process besides the data.
func (s *Server) resetProcess() {
	for _, w := range s.blocked {
		w.stopTimer()
	}
	s.conns, s.dirty, s.blocked, s.ready, s.resumed = nil, nil, nil, nil, nil
	s.topics = topics{}
	s.scripts.flush()
	s.scripts.random = 0x1234abcd330e
	s.lastID, s.executed, s.accepted = 0, 0, 0
	s.nested = s.newConn(0, nil)
	s.nested.scripted = true
}

// Connect opens a connection. The identity must be unused and not 0.
func (s *Server) Connect(id uint64, port Port) *Conn {
	c := s.newConn(id, port)
	s.conns = append(s.conns, c)
	s.accepted++
	s.lastID++
	c.clientID = s.lastID
	return c
}

func (s *Server) newConn(id uint64, port Port) *Conn {
	return &Conn{server: s, id: id, port: port, peer: server.NewPeer(s.writer)}
}

// Restart ends all connections without a word to them, as the end of a process does, with all that belongs to
// them, the subscriptions and the script cache. The keys and their expiry stay, as with an append-only file that
// lost nothing, or are gone.
func (s *Server) Restart(empty bool) {
	for _, c := range s.conns {
		c.gone = true
	}
	s.resetProcess()
	if empty {
		s.flushAll()
	}
}

// flushAll removes all keys of all databases.
func (s *Server) flushAll() {
	s.store.FlushAll()
	s.clock.earliest = math.MaxInt64
	s.clock.fieldExpiry = false
}

// db returns a database by number. The store's handles stay valid: SWAPDB exchanges them.
func (s *Server) db(i int) *miniredis.RedisDB {
	if s.dbs[i] == nil {
		s.dbs[i] = s.store.DB(i)
	}
	return s.dbs[i]
}

// Peek reads a string key of database 0 without any effect: nothing expires, nothing counts as used. ttl is -1 for
// a key that does not expire. ok is false for keys that are missing, over or no strings.
func (s *Server) Peek(key string) (value string, ttl time.Duration, ok bool) {
	db := s.db(0)
	if db.Type(key) != "string" {
		return "", 0, false
	}
	deadline, expires := s.deadline(db, key)
	now := s.config.Now().UnixMilli()
	if expires && now > deadline {
		return "", 0, false
	}
	// MGET is the one reader of the store that leaves the time of last use alone.
	c := s.nested
	saved := struct {
		out   []byte
		db    int
		resp3 bool
	}{c.out, c.db, c.resp3} // a script may be running
	c.out, c.db, c.resp3 = nil, 0, false
	c.dispatch([]string{"MGET", key})
	reply, _, err := decodeReply(c.out)
	c.out, c.db, c.resp3 = saved.out, saved.db, saved.resp3
	values, isArray := reply.([]any)
	if err != nil || !isArray || len(values) != 1 {
		return "", 0, false
	}
	value, ok = values[0].(string)
	ttl = -1
	if expires {
		ttl = time.Duration(deadline-now) * time.Millisecond
	}
	return value, ttl, ok
}

// rng returns the generator behind the random commands.
func (s *Server) rng() *rand.Rand {
	if s.random == nil {
		s.random = rand.New(rand.NewPCG(s.config.Seed, 0x5eed0f7ed15))
	}
	return s.random
}

// seedStore makes the store's own generator follow the seed. It is costly and therefore left until a command needs
// it.
func (s *Server) seedStore() {
	if !s.storeSeeded {
		s.storeSeeded = true
		s.store.Seed(int(s.rng().Int64()))
	}
}
