package checker_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// Two clients of a lock, recorded by hand. The second is let in while the first still relies on its hold.
func ExampleCheck() {
	h := checker.History{Events: []checker.Event{
		{Index: 0, Time: 1 * time.Second, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 1, Time: 2 * time.Second, Process: 1, Node: "c1", Type: checker.OK, F: checker.Acquire, Key: "job"},
		{Index: 2, Time: 3 * time.Second, Process: 2, Node: "c2", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 3, Time: 4 * time.Second, Process: 2, Node: "c2", Type: checker.OK, F: checker.Acquire, Key: "job"},
		{Index: 4, Time: 5 * time.Second, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Release, Key: "job"},
	}}
	for _, v := range checker.Check(&h, checker.Options{
		Properties: []checker.Property{checker.MutualExclusion, checker.ResourceFenced},
	}) {
		fmt.Println(v.Property, v.Result, v.Skipped)
		for _, x := range v.Violations {
			fmt.Println(x.Text)
		}
	}
	// Output:
	// mutual-exclusion violated false
	// c1 and c2 both believed they held job from 4.000 s to 5.000 s
	// resource-fenced unknown true
}

func ExampleReadHistory() {
	file := `{"schema":"lockstep-history/1","scenario":"by-hand","seed":7}
{"index":0,"time":1000000,"process":1,"node":"c1","type":"invoke","f":"acquire","key":"job"}
{"index":1,"time":2000000,"process":1,"node":"c1","type":"ok","f":"acquire","key":"jb"}
`
	_, err := checker.ReadHistory(strings.NewReader(file))
	fmt.Println(err)
	h, err := checker.ReadHistory(strings.NewReader(strings.Replace(file, `"jb"`, `"job"`, 1)))
	fmt.Println(h.Header.Scenario, h.Header.Seed, len(h.Events), err)
	// Output:
	// history: line 3: event 1 returns acquire of "jb" for process 1, which called acquire of "job" at event 0
	// by-hand 7 2 <nil>
}

// A file of any length is read event by event.
func ExampleDecoder() {
	decoder, err := checker.NewDecoder(strings.NewReader(`{"schema":"lockstep-history/1","seed":7}
{"index":0,"time":1000000,"process":1,"node":"c1","type":"invoke","f":"acquire","key":"job"}
{"index":1,"time":2000000,"process":1,"node":"c1","type":"ok","f":"acquire","key":"job","token":"3"}
`))
	for err == nil {
		var e checker.Event
		if err = decoder.Decode(&e); err == nil {
			fmt.Println(e.Time, e.Node, e.Type, e.F)
		}
	}
	fmt.Println(err) // io.EOF after the last event
	// Output:
	// 1ms c1 invoke acquire
	// history: line 3: column 97: want an integer of at most 64 bits, found "\"3\"}"
}

func ExampleWriteHistory() {
	h := checker.History{
		Header: checker.Header{Implementation: "redis/getset", Seed: 7, Plan: []string{"crash c1 at 2s"}},
		Events: []checker.Event{
			{Time: time.Second, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
			{
				Index: 1, Time: 2 * time.Second, Process: checker.ProcessFault, Type: checker.Info,
				F: checker.FaultApplied, Command: "crash c1 at 2s",
			},
		},
	}
	if err := checker.WriteHistory(os.Stdout, &h); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"schema":"lockstep-history/1","implementation":"redis/getset","seed":7,"plan":["crash c1 at 2s"]}
	// {"index":0,"time":1000000000,"process":1,"node":"c1","type":"invoke","f":"acquire","key":"job"}
	// {"index":1,"time":2000000000,"process":"nemesis","type":"info","f":"fault","command":"crash c1 at 2s"}
}
