package faults

import (
	"testing"
	"time"

	"github.com/lockstep-sim/lockstep/sim"
)

// BenchmarkParse reads a fault of usual length.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("delay request of c1>redis by 11s on c1 between GET and GETSET #2"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkString writes the same fault.
func BenchmarkString(b *testing.B) {
	fault, err := Parse("delay request of c1>redis by 11s on c1 between GET and GETSET #2")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = fault.String()
	}
}

// BenchmarkDraw makes the plan of one seed from three templates: what every run of a campaign pays.
func BenchmarkDraw(b *testing.B) {
	templates, err := ParseTemplates("maybe 1/2 pause holder for 8s..15s on holder after SETNX #1..3\n" +
		"clock c2 step -5s..+5s at 2s..9s\ncrash c1 at 5s..20s")
	if err != nil {
		b.Fatal(err)
	}
	streams := []Stream{newStream(1, 0), newStream(1, 1), newStream(1, 2)}
	for b.Loop() {
		Draw(templates, func(i int) Stream { return streams[i] })
	}
}

// echoes has a client send requests in a world with these taps.
func echoes(taps ...sim.Tap) {
	const requests = 2000
	sim.Run(new(testing.T), sim.Config{Seed: 1, Taps: taps}, func(w *sim.World) {
		w.NewNode(sim.NodeConfig{Name: "server", Service: echoService{}})
		p := w.NewNode(sim.NodeConfig{Name: "c1"}).Process()
		p.Go("program", func() {
			client := p.NewDirectClient(sim.DirectConfig{Address: "server"})
			for range requests {
				if _, err := client.Do(p.Context(), "ECHO"); err != nil {
					panic(err)
				}
			}
		})
		w.RunUntil(time.Hour, nil)
	})
}

type echoService struct{}

func (echoService) Accept(*sim.ServiceConn) sim.Session       { return echoService{} }
func (echoService) Describe([]byte) []string                  { return nil }
func (echoService) Restart(bool)                              {}
func (echoService) Command(args []string) (any, []byte, bool) { return "echo", []byte("echo"), false }
func (echoService) Bytes([]byte)                              {}
func (echoService) Closed()                                   {}

// BenchmarkPlanWithoutFaults runs the same requests without an injector and with one that has nothing to do, in turns.
// The ratio is what a run costs for being able to have faults.
func BenchmarkPlanWithoutFaults(b *testing.B) {
	idle := NewInjector(nil, nil, InjectorOptions{})
	var spent [2]time.Duration
	for n := 0; b.Loop(); n++ {
		for _, injected := range []int{n % 2, 1 - n%2} { // neither always comes first
			taps := [][]sim.Tap{nil, {idle.Tap}}[injected]
			start := time.Now()
			echoes(taps...)
			spent[injected] += time.Since(start)
		}
	}
	b.ReportMetric(float64(spent[1])/float64(spent[0]), "x-floor")
}

// TestPlanWithoutFaultsLooksAtNothing is the same as a fact: not even the message is touched.
func TestPlanWithoutFaultsLooksAtNothing(t *testing.T) {
	idle := NewInjector(nil, nil, InjectorOptions{})
	if allocs := testing.AllocsPerRun(100, func() { idle.Tap(sim.PointSend, nil) }); allocs != 0 {
		t.Errorf("a request costs %v allocations", allocs)
	}
}
