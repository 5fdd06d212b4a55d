package sim

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// onPipe gives main two ends of a wire connection, on machines a and b, as net.Pipe would.
func onPipe(t *testing.T, main func(t *testing.T, p *Process, a, b net.Conn)) {
	t.Helper()
	both(t, func(t *testing.T, config Config) {
		clean(t, Run(t, config, func(w *World) {
			a, b := w.NewNode(NodeConfig{Name: "a"}).Process(), w.NewNode(NodeConfig{Name: "b"}).Process()
			accepted := make(chan net.Conn)
			b.Go("listen", func() {
				l, err := b.Listen("tcp", "b:80")
				if err != nil {
					t.Error(err)
					return
				}
				c, _ := l.Accept()
				accepted <- c
			})
			a.Go("main", func() {
				c, err := a.Dial(context.Background(), "tcp", "b:80")
				if err != nil {
					t.Error(err)
					return
				}
				main(t, a, c, <-accepted)
			})
			w.RunUntil(time.Hour, nil)
		}))
	})
}

func isTimeout(t *testing.T, err error) {
	t.Helper()
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("error %v, want a time-out", err)
	}
}

func TestWireCarriesBytes(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		want := make([]byte, 1<<20)
		NewStream(1, "bytes").Read(want)
		p.Go("chunks", func() {
			sizes := NewStream(2, "sizes")
			for rest := want; len(rest) > 0; {
				n := min(int(sizes.Between(1, 5000)), len(rest))
				if k, err := a.Write(rest[:n]); k != n || err != nil {
					t.Errorf("Write = %d, %v", k, err)
				}
				rest = rest[n:]
			}
			a.Close()
		})
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, error %v, equal: %v", len(got), err, bytes.Equal(got, want))
		}
		b.Close()
	})
}

func TestWireReadsInSmallPieces(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		a.Write([]byte("abc"))
		a.Write(nil) // says nothing
		a.Write([]byte("de"))
		p.Clock().Sleep(10 * time.Millisecond)
		got := ""
		for range 5 {
			c := make([]byte, 1)
			n, err := b.Read(c)
			if n != 1 || err != nil {
				t.Fatalf("Read = %d, %v", n, err)
			}
			got += string(c)
		}
		if n, err := b.Read(nil); n != 0 || err != nil {
			t.Errorf("a read of nothing = %d, %v", n, err)
		}
		if got != "abcde" {
			t.Errorf("read %q", got)
		}
	})
}

func TestWirePingPong(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		side := func(c net.Conn, first byte) func() {
			return func() {
				buffer := []byte{first}
				for buffer[0] < 100 {
					if first > 0 || buffer[0] > 0 {
						c.Write(buffer)
					}
					if _, err := io.ReadFull(c, buffer); err != nil {
						return
					}
					buffer[0]++
				}
				c.Close()
			}
		}
		p.Go("ping", side(a, 1))
		side(b, 0)()
	})
}

func TestWireRacyReaders(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		a.Write(make([]byte, 1000))
		var group sync.WaitGroup
		var mutex sync.Mutex
		total := 0
		for range 10 {
			group.Add(1)
			p.Go("reader", func() {
				defer group.Done()
				buffer := make([]byte, 30)
				for {
					b.SetReadDeadline(time.Now().Add(time.Second))
					n, err := b.Read(buffer)
					mutex.Lock()
					total += n
					mutex.Unlock()
					if err != nil {
						isTimeout(t, err)
						return
					}
				}
			})
		}
		group.Wait()
		if total != 1000 {
			t.Errorf("ten readers got %d bytes of 1000", total)
		}
	})
}

func TestWireRacyWriters(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		var group sync.WaitGroup
		for i := range 10 {
			group.Add(1)
			p.Go("writer", func() {
				defer group.Done()
				for range 10 {
					a.SetWriteDeadline(p.Clock().Now().Add(time.Second))
					if _, err := a.Write(bytes.Repeat([]byte{byte('a' + i)}, 10)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		a.Close()
		got, err := io.ReadAll(b)
		if err != nil || len(got) != 1000 {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
		for i := 0; i < len(got); i += 10 {
			if !bytes.Equal(got[i:i+10], bytes.Repeat(got[i:i+1], 10)) {
				t.Fatalf("two writes were mixed: %q", got[i:i+10])
			}
		}
	})
}

func TestWireReadDeadlines(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		buffer := make([]byte, 10)
		took := func(what string, want time.Duration, f func()) {
			start := p.Node().world.Now()
			f()
			if d := p.Node().world.Now() - start; d.Round(100*time.Microsecond) != want {
				t.Errorf("%s took %v, want %v", what, d, want)
			}
		}
		blocked := func() { _, err := a.Read(buffer); isTimeout(t, err) }
		a.SetReadDeadline(time.Unix(233431200, 0))
		took("a deadline long past", 0, blocked)
		took("the same once more", 0, blocked)
		a.SetReadDeadline(p.Clock().Now().Add(20 * time.Millisecond))
		took("a deadline to come", 20*time.Millisecond, blocked)
		a.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
		took("a deadline by package time", 30*time.Millisecond, blocked)

		a.SetReadDeadline(p.Clock().Now().Add(20 * time.Millisecond))
		p.Go("mover", func() {
			p.Clock().Sleep(10 * time.Millisecond)
			a.SetReadDeadline(p.Clock().Now().Add(50 * time.Millisecond))
		})
		took("a deadline moved on while reading", 60*time.Millisecond, blocked)
		a.SetReadDeadline(p.Clock().Now().Add(time.Second))
		p.Go("mover", func() {
			p.Clock().Sleep(10 * time.Millisecond)
			a.SetReadDeadline(p.Clock().Now().Add(5 * time.Millisecond))
		})
		took("a deadline moved nearer while reading", 15*time.Millisecond, blocked)
		a.SetReadDeadline(p.Clock().Now().Add(20 * time.Millisecond))
		p.Go("remover", func() {
			p.Clock().Sleep(10 * time.Millisecond)
			a.SetReadDeadline(time.Time{})
			p.Clock().Sleep(50 * time.Millisecond)
			b.Write([]byte("x"))
		})
		took("a deadline removed while reading", 61*time.Millisecond, func() {
			if n, err := a.Read(buffer); n != 1 || err != nil {
				t.Errorf("Read = %d, %v", n, err)
			}
		})
		a.SetReadDeadline(p.Clock().Now().Add(time.Second))
		p.Go("interrupter", func() {
			p.Clock().Sleep(10 * time.Millisecond)
			a.SetReadDeadline(time.Unix(1, 0))
		})
		took("a deadline set to the past while reading", 10*time.Millisecond, blocked)
	})
}

func TestWireWriteDeadlines(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		a.SetWriteDeadline(time.Unix(1, 0))
		_, err := a.Write([]byte("x"))
		isTimeout(t, err)
		a.SetDeadline(p.Clock().Now().Add(10 * time.Millisecond))
		if _, err := a.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		p.Clock().Sleep(20 * time.Millisecond)
		_, err = a.Write([]byte("x"))
		isTimeout(t, err)
		_, err = a.Read(make([]byte, 1))
		isTimeout(t, err)
		a.SetDeadline(time.Time{})
		if _, err := a.Write([]byte("x")); err != nil {
			t.Error(err)
		}
	})
}

func TestWireCloseWhileReading(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		p.Go("closer", func() {
			p.Clock().Sleep(time.Millisecond)
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read says %v", err)
		}
		for what, err := range map[string]error{
			"Close": a.Close(), "SetDeadline": a.SetDeadline(time.Time{}), "SetReadDeadline": a.SetReadDeadline(time.Now()),
			"CloseWrite": func() error { _, err := a.Write([]byte("x")); return err }(),
		} {
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s after Close says %v", what, err)
			}
		}
		if _, err := b.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the other side reads %v", err)
		}
	})
}

// TestWireWriteIsNotKept: the caller may use its buffer again.
func TestWireWriteIsNotKept(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		buffer := []byte("first")
		a.Write(buffer)
		copy(buffer, "again")
		a.Write(buffer)
		got := make([]byte, 10)
		io.ReadFull(b, got)
		if string(got) != "firstagain" {
			t.Errorf("read %q", got)
		}
	})
}

func TestDialGivesUpWithItsContext(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		clean(t, Run(t, config, func(w *World) {
			server := w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			p := w.NewNode(NodeConfig{Name: "c1"}).Process()
			ctx, cancel := context.WithCancel(context.Background())
			server.Pause()
			p.Go("wire", func() {
				_, err := p.Dial(ctx, "tcp", "server:1")
				j.log(p, "wire %v", err)
			})
			p.Go("direct", func() {
				d := p.NewDirectClient(DirectConfig{Address: "server", Timeout: time.Minute})
				_, err := d.Do(ctx, "A")
				j.log(p, "direct %v", err)
				_, err = d.Do(ctx, "A")
				j.log(p, "direct %v", err)
			})
			p.Clock().AfterFunc(20*time.Millisecond, cancel)
			w.RunUntil(time.Second, nil)
			server.Resume()
			w.RunUntil(time.Minute, nil)
		}))
		got := j.lines
		if len(got) != 3 {
			t.Fatalf("reported %q", got)
		}
		for _, line := range got {
			if line != "20.0ms c1 wire dial tcp server:1: context canceled" &&
				line != "20.0ms c1 direct dial server: context canceled" && line != "20.0ms c1 direct context canceled" {
				t.Errorf("reported %q", line)
			}
		}
	})
}

func TestListen(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		var j journal
		clean(t, Run(t, config, func(w *World) {
			p := w.NewNode(NodeConfig{Name: "s"}).Process()
			c1 := w.NewNode(NodeConfig{Name: "c1"}).Process()
			p.Go("listen", func() {
				for _, where := range []string{"nonsense", "other:80", ":80", "s:80"} {
					l, err := p.Listen("tcp", where)
					j.log(p, "%s: %v", where, err)
					if l != nil {
						defer func() {
							p.Clock().Sleep(10 * time.Millisecond)
							j.log(p, "close %v: %v, %v", l.Addr(), l.Close(), l.Close())
							_, err := l.Accept()
							j.log(p, "%v", err)
							_, err = p.Listen("tcp", ":80")
							j.log(p, "again: %v", err)
						}()
					}
				}
			})
			c1.Go("dial", func() {
				c, err := c1.Dial(context.Background(), "tcp", "s:80")
				j.log(c1, "%v", err)
				_, err = c.Read(make([]byte, 1))
				j.log(c1, "nobody accepted: %v", err)
			})
			w.RunUntil(time.Second, nil)
		}))
		expect(
			t, &j,
			"0.0ms s nonsense: listen nonsense: want s:PORT",
			"0.0ms s other:80: listen other:80: want s:PORT",
			"0.0ms s :80: <nil>",
			"0.0ms s s:80: listen s:80: address already in use",
			"2.0ms c1 <nil>",
			"10.0ms s close s:80: <nil>, close tcp s:80: use of closed network connection",
			"10.0ms s accept tcp s:80: use of closed network connection",
			"10.0ms s again: <nil>",
			"11.0ms c1 nobody accepted: read tcp s:80: connection reset by peer",
		)
	})
}

// TestAcceptorsShareABacklog: two connections come before anybody accepts, and two goroutines wait.
func TestAcceptorsShareABacklog(t *testing.T) {
	both(t, func(t *testing.T, config Config) {
		accepted := 0
		clean(t, Run(t, config, func(w *World) {
			s := w.NewNode(NodeConfig{Name: "s"})
			p := s.Process()
			p.Go("listen", func() {
				l, _ := p.Listen("tcp", ":80")
				for range 2 {
					p.Go("acceptor", func() {
						if _, err := l.Accept(); err == nil {
							p.Do(0, func() { accepted++ })
						}
					})
				}
			})
			for _, name := range []string{"c1", "c2"} {
				c := w.NewNode(NodeConfig{Name: name}).Process()
				c.Go("dial", func() { c.Dial(context.Background(), "tcp", "s:80") })
			}
			w.At(time.Millisecond, s.Pause)
			w.At(5*time.Millisecond, s.Resume) // both arrive in one instant
			w.RunUntil(time.Second, nil)
		}))
		if accepted != 2 {
			t.Errorf("%d of 2 connections were accepted", accepted)
		}
	})
}

// TestDeadlinesDrawNothing: reading the clock to place a deadline must not move the jitter of the own readings of a
// program.
func TestDeadlinesDrawNothing(t *testing.T) {
	onPipe(t, func(t *testing.T, p *Process, a, b net.Conn) {
		p.Node().clock.jitter = int64(time.Millisecond)
		deadline := p.Clock().Now().Add(time.Second)
		draws := p.Node().clock.stream.Draws()
		a.SetDeadline(deadline)
		a.Write([]byte("x"))
		if now := p.Node().clock.stream.Draws(); now != draws || draws == 0 {
			t.Errorf("a deadline drew %d readings, the program %d", now-draws, draws)
		}
	})
}
