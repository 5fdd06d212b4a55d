package scenarios

import (
	"fmt"
	"os"
	"testing"

	"github.com/lockstep-sim/lockstep/sim"
)

func TestTry(t *testing.T) {
	name, implementation := os.Getenv("SC"), os.Getenv("IMPL")
	if name == "" {
		t.Skip()
	}
	s, err := Load(name)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	n := 50
	fmt.Sscan(os.Getenv("N"), &n)
	first := 1
	if os.Getenv("ONLY") != "" {
		first = n
	}
	for seed := first; seed <= n; seed++ {
		mode := sim.HashOnly
		if os.Getenv("FULL") != "" {
			mode = sim.Full
		}
		o, err := Run(t, Setup{Scenario: s, Implementation: implementation, Seed: uint64(seed), Trace: mode, Transport: Transport(os.Getenv("TR"))})
		if err != nil {
			t.Fatal(err)
		}
		if o.Err != nil || len(o.Leaks) > 0 {
			fmt.Println(seed, o.Err, o.Leaks)
		}
		if os.Getenv("ONLY") != "" {
			for _, e := range o.Trace.Entries {
				fmt.Println(e)
			}
			for _, e := range o.History.Events {
				fmt.Printf("%4d %10.6f %3d %-4s %-6s %-12s own %.17s n %d tok %d dl %v %s %s", e.Index, e.Time.Seconds(), e.Process, e.Node, e.Type, e.F, e.Owner, e.Count, e.Token, e.Deadline, e.Command, e.Error)
				if e.Previous != nil {
					fmt.Printf(" PREV %.17s/%d exp-now %d", e.Previous.Owner, e.Previous.Count, e.Previous.Expires-e.Previous.Now)
				}
				if e.Record != nil {
					fmt.Printf(" REC %.17s/%d exp-now %d", e.Record.Owner, e.Record.Count, e.Record.Expires-e.Record.Now)
				}
				fmt.Println()
			}
			for _, v := range o.Verdicts {
				fmt.Println(v)
			}
		} else if n <= 3 {
			fmt.Printf("%x %v %v\n", o.Hash, o.Events, o.End)
			for _, e := range o.Trace.Entries {
				fmt.Println(e)
			}
			for _, e := range o.History.Events {
				fmt.Printf("%+v prev %+v rec %+v\n", e, e.Previous, e.Record)
			}
		}
		for i, k := range o.Strikes {
			found[fmt.Sprint("strike ", i)] += k
		}
		for _, v := range o.Verdicts {
			found[string(v.Property)+" "+string(v.Result)+fmt.Sprint(v.Skipped)]++
			if n <= 3 || v.Result == "violated" && seed < 10 && os.Getenv("V") != "" {
				fmt.Println(seed, v)
			}
		}
		for _, m := range o.Mechanisms {
			found[m.Mechanism.Ref+" "+m.Mechanism.Name]++
			if n <= 3 || seed < 10 && os.Getenv("V") != "" {
				fmt.Println(seed, m.Mechanism.Ref, m.Text, m.Events)
			}
		}
	}
	for _, k := range sortedKeys(found) {
		fmt.Println(k, found[k])
	}
}

func TestTransportsAgree(t *testing.T) {
	for _, s := range Library() {
		for _, e := range s.Implementations {
			same := 0
			for seed := uint64(1); seed <= 5; seed++ {
				var o [2]*Outcome
				for i, transport := range []Transport{Direct, Wire} {
					var err error
					o[i], err = Run(t, Setup{Scenario: s, Implementation: e.Implementation, Seed: seed, Transport: transport, Trace: sim.Full})
					if err != nil {
						t.Fatal(err)
					}
				}
				if o[0].Hash == o[1].Hash {
					same++
				} else if os.Getenv("DIFF") != "" {
					fmt.Println(sim.FirstDifference(&o[0].Trace, &o[1].Trace))
				}
			}
			fmt.Println(s.Name, e.Implementation, same)
		}
	}
}
