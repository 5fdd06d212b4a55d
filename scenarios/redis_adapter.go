package scenarios

import (
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

type redisMachineAdapter struct {
	server    *redis.Server
	onAccept  func(conn uint64, from *sim.Node)
	onRestart func()
}

func (m *redisMachineAdapter) Accept(conn *sim.ServiceConn) sim.Session {
	m.onAccept(conn.ID(), conn.Client())
	return m.server.Connect(conn.ID(), conn)
}
func (m *redisMachineAdapter) Describe(p []byte) []string { return redis.Describe(p) }
func (m *redisMachineAdapter) Restart(empty bool) {
	m.server.Restart(empty)
	m.onRestart()
}
