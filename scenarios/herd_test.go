package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
)

func loadHerd(t *testing.T) *Scenario {
	t.Helper()
	s, err := Load("zk-herd")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHerdGrows holds the locks to what they were built for: where everybody polls, a hand-over costs the more requests
// the more are waiting, and none is woken; in a queue it costs the same and wakes one.
func TestHerdGrows(t *testing.T) {
	s := loadHerd(t)
	crowds := []int{2, 10, 40}
	measured := map[string][]HerdPoint{}
	for _, e := range s.Implementations {
		for _, clients := range crowds {
			p, err := Herd(t, s, e.Implementation, clients, 1)
			if err != nil {
				t.Fatal(err)
			}
			if p.Implementation != e.Implementation || p.Clients != clients || p.Seed != 1 || p.HandOvers != clients-1 ||
				p.HandOverTime <= 0 || p.HandOverTime > 20*time.Millisecond {
				t.Errorf("%s with %d clients: %+v", e.Implementation, clients, p)
			}
			measured[e.Implementation] = append(measured[e.Implementation], p)
		}
	}
	for _, name := range []string{"zk/fair", "zk/fair-repaired", "zk/go-zookeeper"} {
		for i, p := range measured[name] {
			// At least the delete of a node, and within a factor of 2 of what it is with two clients.
			if few := measured[name][0].Requests; p.Requests < p.HandOvers || p.Requests > 2*few*p.HandOvers {
				t.Errorf("%s, %d clients: %d requests in %d hand-overs; with %d clients one took %d", name, crowds[i], p.Requests,
					p.HandOvers, crowds[0], few)
			}
			if p.WakeUps != p.HandOvers || p.Knobs != "" {
				t.Errorf("%s, %d clients: %d wake-ups in %d hand-overs, knobs %q", name, crowds[i], p.WakeUps, p.HandOvers,
					p.Knobs)
			}
		}
	}
	polling := measured["zk/polling"]
	for i, p := range polling {
		if p.WakeUps != 0 || p.Knobs != "interval=10ms" {
			t.Errorf("zk/polling, %d clients: %d wake-ups, knobs %q", crowds[i], p.WakeUps, p.Knobs)
		}
		// Four times the clients are at least twice the requests, for each hand-over.
		if i > 0 && p.Requests*polling[i-1].HandOvers < 2*polling[i-1].Requests*p.HandOvers {
			t.Errorf("zk/polling: %d requests in %d hand-overs with %d clients, %d in %d with %d", polling[i-1].Requests,
				polling[i-1].HandOvers, crowds[i-1], p.Requests, p.HandOvers, crowds[i])
		}
	}
}

// TestHerdRepeats checks that a point is a function of scenario, implementation, clients and seed.
func TestHerdRepeats(t *testing.T) {
	s := loadHerd(t)
	var points [3]HerdPoint
	for i, seed := range []uint64{1, 1, 2} {
		var err error
		if points[i], err = Herd(t, s, "zk/polling", 12, seed); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(points[0], points[1]); diff != "" {
		t.Errorf("the second time it is another point: %s", diff)
	}
	if points[0].HandOverTime == points[2].HandOverTime {
		t.Error("another seed takes the same time to the nanosecond")
	}
}

func TestHerdLeavesTheScenarioAlone(t *testing.T) {
	s := loadHerd(t)
	crowd := s.withClients(s.Clients + 2)
	if got := crowd.Programs[Client(s.Clients+2)]; !cmp.Equal(got, s.Programs[Client(2)], cmp.AllowUnexported(Step{})) {
		t.Errorf("a further client does %v", got)
	}
	if _, has := s.Programs[Client(s.Clients+1)]; has || crowd.Clients != s.Clients+2 || s.Clients != loadHerd(t).Clients {
		t.Error("the scenario itself has got more clients")
	}
}

func TestHerdRefuses(t *testing.T) {
	for _, test := range []struct {
		name, old, new, implementation string
		clients                        int
		want                           string
	}{
		{"one client", "", "", "zk/fair", 1, "1 clients: want 2 to 1000"},
		{"too many", "", "", "zk/fair", 1001, "1001 clients: want 2 to 1000"},
		{"unknown lock", "", "", "zk/fare", 2, `no lock named "zk/fare"`},
		{"another server", "", "", "redis/getset", 2, "keeps its lock on redis"},
		{"a late client", "wait 20ms..150ms", "wait 400ms", "zk/fair", 3, "asks for the lock only at 40"},
		{"two rounds", "4ms, unlock", "4ms, unlock, repeat 2", "zk/fair", 3, "got 5 times, want once by each client"},
		{"not all get it", "until: 30s", "until: 0s", "zk/fair", 3, "want once by each client"},
		{
			"two hold at once", "lock, write, work 4ms", "lock for 10ms, write, work 4ms", "zk/fair", 3,
			"nothing was handed over",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			source, err := LibraryText("zk-herd")
			if err != nil {
				t.Fatal(err)
			}
			s, err := Parse("herd.yaml", []byte(strings.Replace(string(source), test.old, test.new, 1)))
			if err != nil {
				t.Fatal(err)
			}
			_, err = Herd(t, s, test.implementation, test.clients, 1)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("Herd returns %v, want something with %q", err, test.want)
			}
		})
	}
}

// TestHerdCounts measures a history that was written by hand: what came before the first release and after the last
// grant is not counted.
func TestHerdCounts(t *testing.T) {
	request := func(command string) checker.Event {
		return checker.Event{Process: checker.ProcessServer, Type: checker.Info, F: checker.Request, Command: command}
	}
	call := func(process int, kind checker.Type, f string) checker.Event {
		return checker.Event{Process: process, Node: Client(process), Type: kind, F: f}
	}
	h := &checker.History{Header: checker.Header{Lock: "/lock"}}
	for i, e := range []checker.Event{
		call(1, checker.Invoke, checker.Acquire), request("create"), call(1, checker.OK, checker.Acquire),
		call(2, checker.Invoke, checker.Acquire), call(3, checker.Invoke, checker.Acquire), request("event"),
		call(1, checker.Invoke, checker.Release), request("delete"), request("event"), request("event"),
		call(1, checker.OK, checker.Release), request("create"), call(2, checker.OK, checker.Acquire),
		call(2, checker.Invoke, checker.Release), call(2, checker.OK, checker.Release), call(3, checker.OK, checker.Acquire),
		request("create"), request("event"), call(3, checker.Invoke, checker.Release), call(3, checker.OK, checker.Release),
	} {
		e.Index, e.Time, e.Key = int64(i+1), time.Duration(i+1)*time.Millisecond, "/lock"
		h.Events = append(h.Events, e)
	}
	got := HerdPoint{Clients: 3}
	if err := got.measure(h); err != nil {
		t.Fatal(err)
	}
	want := HerdPoint{Clients: 3, HandOvers: 2, Requests: 2, WakeUps: 2, HandOverTime: 4 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
