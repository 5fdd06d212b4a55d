package measure_test

import (
	"fmt"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
)

// Two clients take turns: c2 waits for as long as c1 holds, and a little longer.
func Example() {
	c := measure.NewCollector(checker.Header{Lock: "job"})
	for i, e := range []checker.Event{
		{Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire},
		{Process: 1, Node: "c1", Type: checker.OK, F: checker.Acquire},
		{Process: 2, Node: "c2", Type: checker.Invoke, F: checker.Acquire},
		{Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Release},
		{Process: 1, Node: "c1", Type: checker.OK, F: checker.Release},
		{Process: 2, Node: "c2", Type: checker.OK, F: checker.Acquire},
	} {
		e.Index, e.Time, e.Key = int64(i+1), time.Duration(i)*time.Millisecond, "job"
		if err := c.Add(&e); err != nil {
			fmt.Println(err)
			return
		}
	}
	s := c.Finish().Summary()
	fmt.Println("longest wait:", time.Duration(s.Waits.Quantile(1000)))
	fmt.Println("hand-over:", time.Duration(s.HandOverTimes.Quantile(500)))
	fmt.Println("grants:", s.Got)
	// Output:
	// longest wait: 3ms
	// hand-over: 2ms
	// grants: 2
}
