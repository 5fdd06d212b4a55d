package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
)

func variations(t *testing.T, text string) []Variation {
	t.Helper()
	v, err := ParseVariations(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseVariations(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"clients=16,2,4", "clients=2 clients=4 clients=16"},
		{"lease=10s, 500ms", "lease=500ms lease=10s"},
		{"latency=5ms,1ms..3ms", "latency=1ms..3ms latency=5ms"},
	} {
		var got []string
		for _, v := range variations(t, test.text) {
			got = append(got, v.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%q gives %v, want %s", test.text, got, test.want)
		}
	}
	for _, bad := range []string{
		"", "clients", "clients=", "clients=2,", "clients=0", "clients=1001", "clients=2,2", "clients=x", "lease=0s",
		"lease=-1s",
		"lease=1", "latency=3ms..1ms", "latency=0s", "colour=red",
	} {
		if got, err := ParseVariations(bad); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseVariations(%q) returns %v, %v", bad, got, err)
		}
	}
}

// FuzzParseVariations checks that what is read comes in order and reads back as it is written.
func FuzzParseVariations(f *testing.F) {
	for _, seed := range []string{
		"clients=2,4,8", "lease=1s,10s", "latency=1ms,2ms..5ms", "clients=,", "=", "lease=1s..2s",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseVariations(text)
		if err != nil {
			return
		}
		for i, v := range all {
			if i > 0 && v.Number() < all[i-1].Number() {
				t.Errorf("%q: %s comes after %s", text, v, all[i-1])
			}
			again, err := ParseVariations(v.String())
			if err != nil || len(again) != 1 || again[0] != v {
				t.Errorf("%q: %s reads back as %v, %v", text, v, again, err)
			}
		}
	})
}

func TestVariationsApply(t *testing.T) {
	s := loadHerd(t)
	s.Grace = 2 * s.Lease
	clients, err := variations(t, "clients=3")[0].apply(s)
	if err != nil || clients.Clients != 3 || s.Clients != 20 {
		t.Errorf("clients: %v, %v", clients.Clients, err)
	}
	lease, err := variations(t, "lease=1s")[0].apply(s)
	if err != nil || lease.Lease != time.Second || lease.Grace != 2*time.Second || s.Lease != 10*time.Second {
		t.Errorf("lease: %v, %v, %v", lease.Lease, lease.Grace, err)
	}
	latency, err := variations(t, "latency=1ms..4ms")[0].apply(s)
	if err != nil || latency.Latency.Min != time.Millisecond || latency.Latency.Max != 4*time.Millisecond {
		t.Errorf("latency: %v, %v", latency.Latency, err)
	}
}

// TestSweepAgreesWithHerd holds the sweep's counts against those of the measurement of one hand-over after the other.
func TestSweepAgreesWithHerd(t *testing.T) {
	s := loadHerd(t)
	sweep := &Sweep{
		Scenario: s, Implementations: []string{"zk/fair-repaired", "zk/polling"}, Variations: variations(t, "clients=2,6"),
		Seeds: SeedsUpTo(2), Workers: testWorkers(2, "serve"),
	}
	done := 0
	sweep.Progress = func(n, all int) {
		if done++; n != done || all != 8 {
			t.Errorf("the progress is %d of %d, want %d of 8", n, all, done)
		}
	}
	runs, err := sweep.Run(t.Context())
	if err != nil || len(runs) != 8 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	for _, r := range runs {
		p, err := Herd(t, s, r.Implementation, r.Clients, r.Seed)
		if err != nil {
			t.Fatal(err)
		}
		if r.Summary == nil || r.Result != checker.Holds {
			t.Fatalf("%s, %s: %q %s", r.Implementation, r.Variation, r.Result, r.Error)
		}
		got := fmt.Sprint(r.Knobs, r.Summary.Got, r.Summary.Handed, r.Summary.Requests, r.Summary.WakeUps)
		if want := fmt.Sprint(p.Knobs, p.Clients, p.HandOvers, p.Requests, p.WakeUps); got != want {
			t.Errorf("%s, %s, seed %d: %s, want %s", r.Implementation, r.Variation, r.Seed, got, want)
		}
	}
}

// TestSweepOfRedis checks that the commands of Redis are counted, and that a run with another number of workers is the
// same.
func TestSweepOfRedis(t *testing.T) {
	s, err := Load("renewal")
	if err != nil {
		t.Fatal(err)
	}
	var results []string
	for _, number := range []int{1, 3} {
		sweep := &Sweep{
			Scenario: s, Implementations: []string{"redis/setnx-px"}, Variations: variations(t, "clients=2,5"),
			Seeds: SeedsUpTo(3), Workers: testWorkers(number, "serve"),
		}
		runs, err := sweep.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range runs {
			if r.Summary == nil || r.Summary.Requests < r.Summary.Handed || r.Summary.Handed == 0 {
				t.Errorf("%s, seed %d: %+v %s", r.Variation, r.Seed, r.Summary, r.Error)
			}
		}
		text, err := json.Marshal(runs)
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, string(text))
	}
	if diff := cmp.Diff(results[0], results[1]); diff != "" {
		t.Error(diff)
	}
}

func TestSweepTellsFailures(t *testing.T) {
	sweep := &Sweep{
		Scenario: loadHerd(t), Implementations: []string{"zk/polling"}, Variations: variations(t, "clients=2"),
		Seeds: SeedsUpTo(4), Workers: testWorkers(1, "die at seed 3"),
	}
	runs, err := sweep.Run(t.Context())
	if err != nil || len(runs) != 4 {
		t.Fatalf("%d runs: %v", len(runs), err)
	}
	for _, r := range runs {
		if failed := r.Seed == 3; (r.Error != "") != failed || (r.Summary == nil) != failed || (r.Result == "") != failed {
			t.Errorf("seed %d: %q, %q", r.Seed, r.Result, r.Error)
		}
	}
}

func TestSweepRefusesAndStops(t *testing.T) {
	s := loadHerd(t)
	sweep := &Sweep{
		Scenario: s, Implementations: []string{"redis/getset"}, Variations: variations(t, "clients=2"), Seeds: SeedsUpTo(1),
		Workers: testWorkers(1, "serve"),
	}
	if _, err := sweep.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "keeps its lock on redis") {
		t.Errorf("a lock of another server: %v", err)
	}
	sweep.Implementations = []string{"zk/polling"}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if runs, err := sweep.Run(ended); err != nil || len(runs) != 0 {
		t.Errorf("interrupted it gives %d runs, %v", len(runs), err)
	}
	enough := make(chan struct{})
	close(enough)
	sweep.Enough = enough
	if runs, err := sweep.Run(t.Context()); err != nil || len(runs) != 0 {
		t.Errorf("without time it gives %d runs, %v", len(runs), err)
	}
}

func TestWorst(t *testing.T) {
	holds, violated := seedVerdict{Result: checker.Holds}, seedVerdict{Result: checker.Violated}
	untested, gaveUp := seedVerdict{Result: checker.Unknown}, seedVerdict{Result: checker.Unknown, GaveUp: true}
	skipped := seedVerdict{Result: checker.Unknown, Skipped: true}
	for _, test := range []struct {
		verdicts []seedVerdict
		want     checker.Result
	}{
		{nil, checker.Unknown},
		{[]seedVerdict{skipped, untested}, checker.Unknown},
		{[]seedVerdict{skipped, untested, holds}, checker.Holds},
		{[]seedVerdict{holds, gaveUp}, checker.Unknown},
		{[]seedVerdict{gaveUp, violated, holds}, checker.Violated},
	} {
		if got := worst(test.verdicts); got != test.want {
			t.Errorf("%+v come to %s, want %s", test.verdicts, got, test.want)
		}
	}
}
