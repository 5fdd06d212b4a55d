package redis_test

import (
	"fmt"
	"time"

	"github.com/lockstep-sim/lockstep/sim/redis"
)

// A server needs no world: a clock is enough.
func ExampleServer() {
	now := time.UnixMilli(1_700_000_000_000)
	server := redis.New(redis.Config{Now: func() time.Time { return now }})
	conn := server.Connect(1, nil)
	do := func(words ...string) {
		reply, _, _ := conn.Command(words)
		fmt.Println(words, "->", reply)
	}
	do("SET", "lock", "a", "NX", "PX", "30000")
	do("SET", "lock", "b", "NX", "PX", "30000")
	now = now.Add(-time.Hour) // the lease is an hour longer now
	do("PTTL", "lock")
	now = now.Add(2 * time.Hour)
	do("SET", "lock", "b", "NX", "PX", "30000")
	// Output:
	// [SET lock a NX PX 30000] -> OK
	// [SET lock b NX PX 30000] -> <nil>
	// [PTTL lock] -> 3630000
	// [SET lock b NX PX 30000] -> OK
}
