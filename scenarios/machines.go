package scenarios

import (
	"errors"
	"strconv"

	"github.com/lockstep-sim/lockstep/impl/timeserver"
	"github.com/lockstep-sim/lockstep/sim"
)

// timeService is the time server as a machine of the world: its protocol is the real one, its clock the machine's.
type timeService struct{ node *sim.Node }

type timeSession struct {
	service *timeService
	conn    *sim.ServiceConn
	session timeserver.Session
	answers []byte
}

func (t *timeService) Accept(conn *sim.ServiceConn) sim.Session {
	return &timeSession{service: t, conn: conn}
}

func (t *timeService) Describe(request []byte) []string { return timeserver.Describe(request) }
func (t *timeService) Restart(bool)                     {}

func (s *timeSession) Bytes(p []byte) {
	var err error
	s.answers, err = s.session.Answer(s.answers[:0], p, s.service.node.Wall().UnixMilli())
	if len(s.answers) > 0 {
		s.conn.Write(s.answers)
	}
	if err != nil {
		s.conn.Close()
	}
}

// Command is never used: every client of the time server speaks its protocol.
func (s *timeSession) Command([]string) (any, []byte, bool) {
	return nil, []byte("the time server has a wire protocol only"), false
}

func (s *timeSession) Closed() {}

// storeService is the resource that the lock protects. A write names its token; a token below the highest seen is
// refused, unless the writer has none (0). What was written is known to the recorder alone.
type storeService struct {
	highest int64
	applied func(client string, process int, token int64, accepted bool)
}

type storeSession struct {
	store  *storeService
	client string
}

func (s *storeService) Accept(conn *sim.ServiceConn) sim.Session {
	return &storeSession{s, conn.Client().Name()}
}

func (s *storeService) Describe([]byte) []string { return nil }

func (s *storeService) Restart(empty bool) {
	if empty {
		s.highest = 0
	}
}

// errWrite answers what is no write.
var errWrite = errors.New("want WRITE process token, two numbers")

// Command executes "WRITE process token".
func (s *storeSession) Command(args []string) (any, []byte, bool) {
	if len(args) != 3 || args[0] != "WRITE" {
		return errWrite, []byte(errWrite.Error()), false
	}
	process, err := strconv.Atoi(args[1])
	token, err2 := strconv.ParseInt(args[2], 10, 64)
	if err != nil || err2 != nil {
		return errWrite, []byte(errWrite.Error()), false
	}
	accepted := token == 0 || token >= s.store.highest
	s.store.highest = max(s.store.highest, token)
	s.store.applied(s.client, process, token, accepted)
	if accepted {
		return "written", []byte("written"), false
	}
	return "stale", []byte("stale"), false
}

func (s *storeSession) Bytes([]byte) {}
func (s *storeSession) Closed()      {}
