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
	for seed := 1; seed <= n; seed++ {
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
		if n <= 3 {
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
