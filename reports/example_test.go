package reports_test

import (
	"fmt"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
)

// A history may come from anywhere. This one has no facts of a server: two clients were told that they hold.
func ExampleTell() {
	history, err := checker.ReadHistory(strings.NewReader(
		`{"schema":"lockstep-history/1","seed":0,"lock":"job"}
{"index":1,"time":0,"process":1,"node":"c1","type":"invoke","f":"acquire","key":"job"}
{"index":2,"time":3000000,"process":1,"node":"c1","type":"ok","f":"acquire","key":"job"}
{"index":3,"time":4000000,"process":"nemesis","node":"c1","type":"info","f":"fault","command":"pause c1 for 2s at 4ms"}
{"index":4,"time":1000000000,"process":2,"node":"c2","type":"invoke","f":"acquire","key":"job"}
{"index":5,"time":1500000000,"process":2,"node":"c2","type":"ok","f":"acquire","key":"job"}
{"index":6,"time":2010000000,"process":1,"node":"c1","type":"invoke","f":"release","key":"job"}
{"index":7,"time":2012000000,"process":1,"node":"c1","type":"fail","f":"release","key":"job"}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, verdict := range checker.Check(&history, checker.Options{
		Properties: []checker.Property{checker.MutualExclusion},
	}) {
		for _, violation := range verdict.Violations {
			fmt.Print(reports.Tell(&history, verdict.Property, violation, nil))
		}
	}
	// Output:
	// mutual-exclusion violated
	//
	// Two holders at once: c1 and c2 both believed they held job from 1.500 s to 2.010 s.
	//
	//  1. 0.000 s  c1  asks for job
	//  2. 0.003 s  c1  is told that it holds job
	//  3. 0.004 s  c1  stands still for 2.000 s
	//  4. 1.000 s  c2  asks for job
	//  5. 1.500 s  c2  is told that it holds job; c1 still believes the same
	//  6. 2.004 s  c1  goes on
	//  7. 2.010 s  c1  stops working under job and unlocks it
	//  8. 2.012 s  c1  is told that it is not the owner of job
	//
	// For 0.510 s c1 and c2 both worked under one lock.
}
