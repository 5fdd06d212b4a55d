package strategy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// shared is a Service that counts its requests and answers each with how many there were.
type shared struct{ log []string }

func (s *shared) Accept(*sim.ServiceConn) sim.Session { return &sharedSession{s} }
func (s *shared) Describe([]byte) []string            { return nil }
func (s *shared) Restart(bool)                        {}

type sharedSession struct{ *shared }

func (s *sharedSession) Command(args []string) (any, []byte, bool) {
	s.log = append(s.log, args[1])
	reply := fmt.Sprint(len(s.log))
	return reply, []byte(reply), false
}
func (s *sharedSession) Bytes([]byte) {}
func (s *sharedSession) Closed()      {}

// explored runs a small world under every schedule of an explorer: two clients send two requests each. It returns the
// orders in which the server saw them, and how often a run was given up.
func explored(t *testing.T, e *Explorer) map[string]bool {
	orders := map[string]bool{}
	for e.Next() {
		schedule := e.Schedule()
		server := &shared{}
		config := sim.Config{
			Seed: 1, Latency: sim.Range{Min: time.Millisecond, Max: 9 * time.Millisecond}, Scheduler: schedule,
			Preparation: time.Second,
		}
		result := sim.Run(t, config, func(w *sim.World) {
			schedule.Enter(w, NewMarks())
			w.NewNode(sim.NodeConfig{Name: "server", Service: server})
			for _, name := range []string{"a", "b"} {
				p := w.NewNode(sim.NodeConfig{Name: name}).Process()
				d := p.NewDirectClient(sim.DirectConfig{Address: "server"})
				p.Go("main", func() {
					d.Connect(p.Context())
					p.Clock().Sleep(time.Second)
					for i := range 2 {
						d.Do(p.Context(), "ADD", fmt.Sprintf("%s%d", name, i+1))
					}
				})
			}
			w.RunUntil(time.Minute, schedule.GivenUp)
		})
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		if !schedule.GivenUp() {
			orders[strings.Join(server.log, " ")] = true
		}
	}
	return orders
}

// TestExplorerFindsEveryOrder: of two clients with two requests each there are six orders, all of which the network
// allows. The explorer finds each, with pruning and without, and says that there is no other.
func TestExplorerFindsEveryOrder(t *testing.T) {
	want := []string{"a1 a2 b1 b2", "a1 b1 a2 b2", "a1 b1 b2 a2", "b1 a1 a2 b2", "b1 a1 b2 a2", "b1 b2 a1 a2"}
	for _, prune := range []bool{true, false} {
		e := NewExplorer(40)
		if !prune {
			e = NewExplorer(9) // far from all
			e.KeepAll()
		}
		var got []string
		for order := range explored(t, e) {
			got = append(got, order)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("pruning %v: found %q", prune, got)
		}
		if prune && e.Cut || prune != (e.Pruned > 0) {
			t.Errorf("pruning %v: %d schedules, %d given up, cut %v", prune, e.Runs, e.Pruned, e.Cut)
		}
		t.Logf("pruning %v: %d schedules, %d given up", prune, e.Runs, e.Pruned)
	}
}

// TestExplorerKeepsToItsBound: without deviations there is one schedule, and the explorer says that there would be
// more.
func TestExplorerKeepsToItsBound(t *testing.T) {
	e := NewExplorer(0)
	if orders := explored(t, e); len(orders) != 1 || e.Runs != 1 || !e.Cut {
		t.Errorf("%d orders in %d schedules, cut %v", len(orders), e.Runs, e.Cut)
	}
}

// TestExplorerGoesThroughDraws: the numbers of narrow ranges are all tried, in order, and wide ranges give their least.
func TestExplorerGoesThroughDraws(t *testing.T) {
	e := NewExplorer(0)
	var got []string
	for e.Next() {
		got = append(got, fmt.Sprint(e.Between(1, 2), e.Between(5, 7), e.Between(0, 1_000_000), e.Between(4, 4)))
	}
	want := []string{"1 5 0 4", "1 6 0 4", "1 7 0 4", "2 5 0 4", "2 6 0 4", "2 7 0 4"}
	if !slices.Equal(got, want) {
		t.Errorf("drew %q, want %q", got, want)
	}
}
