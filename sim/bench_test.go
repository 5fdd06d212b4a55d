package sim

import (
	"fmt"
	"testing"
	"time"
)

// inWorld runs main on a client machine beside an echo machine until it returns.
func inWorld(b *testing.B, config Config, main func(p *Process, n int)) {
	b.ReportAllocs()
	n := b.N
	config.Seed, config.MaxEvents = 1, 1<<60
	Run(&testing.T{}, config, func(w *World) {
		w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		done := false
		p.Go("main", func() {
			main(p, n)
			p.Do(0, func() { done = true })
		})
		w.RunUntil(1<<62, func() bool { return done })
	})
}

func withAndWithoutTimers(b *testing.B, f func(b *testing.B, config Config)) {
	for _, timers := range []bool{false, true} {
		b.Run(fmt.Sprintf("runtimeTimers=%v", timers), func(b *testing.B) { f(b, Config{RuntimeTimers: timers}) })
	}
}

func BenchmarkDirectEcho(b *testing.B) {
	withAndWithoutTimers(b, func(b *testing.B, config Config) {
		inWorld(b, config, func(p *Process, n int) {
			d := p.NewDirectClient(DirectConfig{Address: "server"})
			for range n {
				d.Do(p.Context(), "SETNX", "job")
			}
		})
	})
}

func BenchmarkWireEcho(b *testing.B) {
	withAndWithoutTimers(b, func(b *testing.B, config Config) {
		inWorld(b, config, func(p *Process, n int) {
			c, err := p.Dial(p.Context(), "tcp", "server:1")
			if err != nil {
				b.Error(err)
				return
			}
			request, reply := []byte("SETNX job"), make([]byte, 64)
			for range n {
				c.SetReadDeadline(p.Clock().Now().Add(time.Second))
				c.Write(request)
				c.Read(reply)
			}
		})
	})
}

func BenchmarkTimer(b *testing.B) {
	withAndWithoutTimers(b, func(b *testing.B, config Config) {
		inWorld(b, config, func(p *Process, n int) {
			for range n {
				p.Clock().Sleep(time.Millisecond)
			}
		})
	})
}

// BenchmarkWorld is a world with a server and three clients in which nothing happens.
func BenchmarkWorld(b *testing.B) {
	withAndWithoutTimers(b, func(b *testing.B, config Config) {
		b.ReportAllocs()
		for range b.N {
			Run(&testing.T{}, config, func(w *World) {
				w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
				for _, name := range []string{"c1", "c2", "c3"} {
					w.NewNode(NodeConfig{Name: name})
				}
				w.RunUntil(time.Second, nil)
			})
		}
	})
}
