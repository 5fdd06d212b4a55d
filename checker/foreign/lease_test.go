package foreign_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
)

// TestSupplyLease checks that a lease is supplied where the file has none, and is told in the place of its lack.
func TestSupplyLease(t *testing.T) {
	const calls = `{:type :invoke, :f :acquire, :process 0, :time 5}
{:type :ok, :f :acquire, :process 0, :time 9}
{:type :info, :f :renew, :process 0, :time 12}
{:type :invoke, :f :acquire, :process 1, :time 20}
{:type :ok, :f :acquire, :process 1, :time 30, :deadline 77}
{:type :invoke, :f :release, :process 1, :time 31}
{:type :ok, :f :release, :process 1, :time 32}
`
	for _, test := range []struct {
		name, file string
		lease      time.Duration
		supplied   bool
		deadlines  []time.Duration
		told       string
	}{
		{"none", calls, 0, false, []time.Duration{0, 0, 0, 0, 77, 0, 0}, ""},
		{"some", calls, 100, true, []time.Duration{0, 105, 112, 0, 77, 0, 0}, "ends by itself 100ns after the call"},
		{
			"longer than time lasts", calls, 1<<63 - 1, true,
			[]time.Duration{0, 1<<63 - 1, 1<<63 - 1, 0, 77, 0, 0},
			"ends by itself",
		},
		{"on record", `{"schema":"lockstep-history/1","lease":3,"lock":"job"}
{"index":0,"time":5,"process":1,"node":"c1","type":"invoke","f":"acquire","key":"job"}
`, 100, false, []time.Duration{0}, ""},
		{"no lock", "{:type :invoke, :f :read, :process 0}", 100, false, []time.Duration{0}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := foreign.Read(strings.NewReader(test.file), foreign.Auto)
			if err != nil {
				t.Fatal(err)
			}
			before := slices.Clone(r.Assumed)
			if got := r.SupplyLease(test.lease); got != test.supplied {
				t.Errorf("it supplies a lease: %t, want %t", got, test.supplied)
			}
			for i, want := range test.deadlines {
				if got := r.Events[i].Deadline; got != want {
					t.Errorf("event %d ends at %d, want %d", i, got, want)
				}
			}
			if !test.supplied {
				if !slices.Equal(before, r.Assumed) {
					t.Errorf("it assumes %q, and assumed %q before", r.Assumed, before)
				}
				return
			}
			if r.Header.Lease != test.lease {
				t.Errorf("the lease is %v, want %v", r.Header.Lease, test.lease)
			}
			told := strings.Join(r.Assumed, "; ")
			if !strings.Contains(told, test.told) || strings.Contains(told, "no lease is known") {
				t.Errorf("it assumes %q", told)
			}
			if err := r.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSupplyLeaseJudged checks that a lease makes a difference: who comes after its end comes rightly.
func TestSupplyLeaseJudged(t *testing.T) {
	for lease, want := range map[time.Duration]checker.Result{50: checker.Holds, 5000: checker.Violated} {
		r, err := foreign.Read(strings.NewReader(`{:type :invoke, :f :acquire, :process 0, :time 0}
{:type :ok, :f :acquire, :process 0, :time 9}
{:type :invoke, :f :acquire, :process 1, :time 100}
{:type :ok, :f :acquire, :process 1, :time 110}
`), foreign.Auto)
		if err != nil {
			t.Fatal(err)
		}
		r.SupplyLease(lease)
		v := checker.Check(&r.History, checker.Options{
			Properties: []checker.Property{checker.MutualExclusion}, Promises: checker.Promises{Leased: true},
		})[0]
		if v.Result != want {
			t.Errorf("with a lease of %d: %s (%s), want %s", lease, v.Result, v.Why, want)
		}
	}
}
