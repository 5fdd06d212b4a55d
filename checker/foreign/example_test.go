package foreign_test

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// A history that Jepsen has recorded is read and judged. The second client was let in too early.
func ExampleRead() {
	file := `{:type :invoke, :f :acquire, :process 0, :time 1000000000}
{:type :ok,     :f :acquire, :process 0, :time 1500000000}
{:type :invoke, :f :acquire, :process 1, :time 2000000000}
{:type :ok,     :f :acquire, :process 1, :time 2500000000}
{:type :invoke, :f :release, :process 0, :time 4000000000}
{:type :ok,     :f :release, :process 0, :time 4500000000}`
	recording, err := foreign.Read(strings.NewReader(file), foreign.Auto)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(recording.Format, recording.Object)
	for _, assumed := range recording.Assumed {
		fmt.Println("assumed:", assumed)
	}
	for _, v := range checker.Check(&recording.History, checker.Options{
		Properties: []checker.Property{checker.MutualExclusion, checker.Linearizability},
	}) {
		fmt.Println(v.Property, v.Result)
		for _, x := range v.Violations {
			fmt.Println(x.Text)
		}
	}
	// Output:
	// edn lock
	// assumed: all operations without a key are on one lock, named lock
	// assumed: no lease is known: a hold lasts until its release is called or its loss is told
	// assumed: each process is a client of its own
	// mutual-exclusion violated
	// process 0 and process 1 both believed they held lock from 2.500 s to 4.000 s
	// linearizability violated
	// process 1 was given lock at 2.500 s although process 0 held it
}

// What is wrong with a file is told in one line.
func ExampleRead_error() {
	_, err := foreign.Read(strings.NewReader(`[{"type":"invoke","f":"acquire","process":1},
 {"type":"ok","f":"acq`), foreign.Auto)
	fmt.Println(err)
	// Output: json history: line 2: the file ends inside a string: it was cut off
}

func ExampleLinearizable() {
	recording, err := foreign.Read(strings.NewReader(`INFO  jepsen.util - 0	:invoke	:write	3
INFO  jepsen.util - 0	:ok	:write	3
INFO  jepsen.util - 1	:invoke	:read	nil
INFO  jepsen.util - 1	:ok	:read	4`), foreign.JepsenLog)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(foreign.Linearizable(&recording.History, recording.Object, 0))
	// Output:
	// linearizability: violated: no order of the calls explains that event 3 answers read with ok "4"
}

func ExampleWriteEDN() {
	h := checker.History{Events: []checker.Event{
		{Time: time.Second, Process: 1, Node: "c1", Type: checker.Invoke, F: checker.Acquire, Key: "job"},
		{Index: 1, Time: 2 * time.Second, Process: 1, Node: "c1", Type: checker.OK, F: checker.Acquire, Key: "job", Token: 7},
	}}
	if err := foreign.WriteEDN(os.Stdout, &h); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {:index 0 :time 1000000000 :process 1 :type :invoke :f :acquire :value nil :node "c1" :key "job"}
	// {:index 1 :time 2000000000 :process 1 :type :ok :f :acquire :value nil :node "c1" :key "job" :token 7}
}
