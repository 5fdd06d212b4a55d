package scenarios

import (
	"slices"
	"strconv"

	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
	"github.com/lockstep-sim/lockstep/sim/redis"
)

// This file is what the injector asks of a run: who plays a role, and what only a program can do.

// role finds the machine that plays a role right now: the first holder in order of machines, the one that has waited
// longest, or the one whose turn is next, which is the same where the server keeps no queue. A holder that enters again
// is no waiter.
func (r *run) role(role faults.NodeRef) string {
	if role == faults.Next && r.queue != nil {
		return r.queue.next()
	}
	candidates, holder := r.clients, true
	if role != faults.Holder {
		candidates, holder = r.recorder.waiting, false
	}
	for _, c := range candidates {
		if _, holds := r.recorder.holds[c]; holds == holder {
			return c.node.Name()
		}
	}
	return ""
}

// act carries out what only the program of a machine can do.
func (r *run) act(machine string, fault faults.Fault) bool {
	switch {
	case fault.Kind == faults.CancelCall:
		return r.cancelCalls(machine, fault)
	case r.zookeeper != nil:
		return r.actOnZooKeeper(machine, fault)
	default:
		return r.actOnRedis(machine, fault)
	}
}

// actOnRedis is what a third party does to the data of a Redis machine.
func (r *run) actOnRedis(machine string, fault faults.Fault) bool {
	server := r.redisServer(machine)
	if server == nil {
		return false
	}
	did := func(args ...string) bool {
		reply := server.ThirdParty(args...)
		return reply != nil && reply != int64(0)
	}
	switch fault.Kind {
	case faults.RollBack:
		return server.RollBack(fault.By)
	case faults.AddPath:
		if fault.List {
			return !did("EXISTS", fault.Path) && did("RPUSH", fault.Path, foreign)
		}
		return did("SET", fault.Path, foreign, "NX")
	case faults.RemovePath:
		return did("DEL", fault.Path)
	case faults.PresetCounter:
		return did("SET", fault.Path, strconv.FormatInt(fault.Count, 10))
	}
	return false
}

// redisServer finds a Redis machine by its name; nil when it is none.
func (r *run) redisServer(machine string) *redis.Server {
	for _, m := range r.redises {
		if m.Node().Name() == machine {
			return m.Server
		}
	}
	return nil
}

// keepJournals has the Redis machines that a fault of the plan rolls back write down what they are told.
func (r *run) keepJournals() {
	for _, fault := range r.setup.Plan {
		if server := r.redisServer(string(fault.Node)); fault.Kind == faults.RollBack && server != nil {
			server.KeepJournal()
		}
	}
}

// foreign is what a third party writes.
const foreign = "foreign"

// failScript has a script on a Redis machine fail.
func (r *run) failScript(machine string, conn uint64, n int64, strike func() bool) {
	if server := r.redisServer(machine); server != nil {
		server.FailScript(conn, n, strike)
	}
}

// swarm draws what the scenario's pool adds to the plan.
func (r *run) swarm() faults.Plan {
	pool := faults.Swarm{
		Kinds: r.scenario.Swarm, Servers: r.scenario.servers(), Horizon: r.scenario.Heal, Lease: r.scenario.Lease,
	}
	if r.scenario.Server != zooKeeperMachine { // only there are sessions
		pool.Kinds = slices.DeleteFunc(slices.Clone(pool.Kinds), func(k faults.Kind) bool {
			return k == faults.ExpireSession
		})
	}
	for i := 1; i <= r.scenario.Clients; i++ {
		pool.Clients = append(pool.Clients, Client(i))
	}
	return pool.Draw(func(kind string) faults.Stream { return sim.NewStream(r.setup.Seed, "swarm/"+kind) })
}
