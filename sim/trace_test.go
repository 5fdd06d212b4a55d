package sim

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// traced is a run with an entry of every kind.
func traced(t *testing.T, mode TraceMode) Result {
	return clean(t, Run(t, steady(Config{Seed: 3, Trace: mode}), func(w *World) {
		n := w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
		p := w.NewNode(NodeConfig{Name: "c1"}).Process()
		w.At(0, func() { w.Note(`the <harness> says "go"`) })
		p.Go("main", func() {
			d := p.NewDirectClient(DirectConfig{Address: "server"})
			d.Do(context.Background(), "SETNX", "job", "me")
			p.Clock().Sleep(time.Second)
			d.Do(context.Background(), "DEL", "job")
		})
		w.At(1003*time.Millisecond, func() { n.Crash(true) })
		w.RunUntil(time.Minute, nil)
	}))
}

func TestTraceAsJSONL(t *testing.T) {
	const golden = "testdata/trace.jsonl"
	r := traced(t, Full)
	var got bytes.Buffer
	if err := r.Trace.WriteJSONL(&got); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("the trace is not %s, where - is expected (UPDATE_GOLDEN=1 writes it anew):\n%s", golden, d)
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestTraceReportsWhatItCannotWrite(t *testing.T) {
	r := traced(t, Full)
	if err := r.Trace.WriteJSONL(fullDisk{}); err == nil {
		t.Error("no error")
	}
}

func TestTraceModes(t *testing.T) {
	full, hash, off := traced(t, Full), traced(t, HashOnly), traced(t, Off)
	if full.Hash != hash.Hash || full.Events != hash.Events || full.Trace.Hash() != hash.Trace.Hash() {
		t.Errorf("full %x (%d events), hash only %x (%d events)", full.Hash, full.Events, hash.Hash, hash.Events)
	}
	if full.Trace.Count() != uint64(len(full.Trace.Entries)) || len(hash.Trace.Entries) != 0 {
		kept, byHash := len(full.Trace.Entries), len(hash.Trace.Entries)
		t.Errorf("%d of %d entries kept in full, %d by the hash", kept, full.Events, byHash)
	}
	if off.Hash != 0 || off.Events != 0 || off.End != full.End {
		t.Errorf("off: hash %x, %d events", off.Hash, off.Events)
	}
}

// TestHashCoversWhatHappened changes one thing at a time.
func TestHashCoversWhatHappened(t *testing.T) {
	type variant struct {
		seed    uint64
		word    string
		node    string
		at      time.Duration
		note    string
		draws   int
		latency time.Duration
	}
	hash := func(v variant) uint64 {
		return clean(t, Run(t, Config{Seed: v.seed, Latency: Fixed(v.latency)}, func(w *World) {
			w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			c1, c2 := w.NewNode(NodeConfig{Name: "c1"}), w.NewNode(NodeConfig{Name: "c2"})
			w.At(v.at, func() {
				p := c1.Process()
				if v.node == "c2" {
					p = c2.Process()
				}
				p.Go("main", func() { p.NewDirectClient(DirectConfig{Address: "server"}).Do(context.Background(), v.word) })
				w.Note(v.note)
			})
			s := w.Stream("workload/c1")
			for range v.draws {
				s.Uint64()
			}
			w.RunUntil(time.Minute, nil)
		})).Hash
	}
	base := variant{1, "A", "c1", time.Second, "note", 1, time.Millisecond}
	seen := map[uint64]string{hash(base): "the same run"}
	for name, change := range map[string]func(*variant){
		"seed":    func(v *variant) { v.seed = 2 },
		"word":    func(v *variant) { v.word = "B" },
		"node":    func(v *variant) { v.node = "c2" },
		"time":    func(v *variant) { v.at++ },
		"note":    func(v *variant) { v.note = "other" },
		"draws":   func(v *variant) { v.draws = 2 },
		"latency": func(v *variant) { v.latency += time.Microsecond * 5 },
	} {
		v := base
		change(&v)
		h := hash(v)
		if other := seen[h]; other != "" {
			t.Errorf("another %s gives the hash of %s", name, other)
		}
		seen[h] = "another " + name
	}
	if seen[hash(base)] != "the same run" {
		t.Error("the same run gives another hash")
	}
}

func TestKindNames(t *testing.T) {
	if got := KindDeliver.String() + " " + KindNote.String() + " " + Kind(99).String(); got != "deliver note kind 99" {
		t.Errorf("got %q", got)
	}
}

// TestTraceTellsSkews checks that an entry has the skew of the machine at which it happened, and that looking at a
// clock with jitter changes nothing.
func TestTraceTellsSkews(t *testing.T) {
	run := func(mode TraceMode) Result {
		return clean(t, Run(t, steady(Config{Seed: 3, Trace: mode}), func(w *World) {
			server := w.NewNode(NodeConfig{Name: "server", Service: &echo{}})
			client := w.NewNode(NodeConfig{Name: "c1"})
			w.At(0, func() {
				server.SetClockOffset(2 * time.Second)
				client.SetClockDrift(1000)
				client.SetClockJitter(time.Millisecond)
			})
			p := client.Process()
			p.Go("main", func() {
				p.Clock().Sleep(time.Second)
				p.NewDirectClient(DirectConfig{Address: "server"}).Do(context.Background(), "PING")
			})
			w.RunUntil(time.Minute, nil)
		}))
	}
	full := run(Full)
	asked := 0
	for _, e := range full.Trace.Entries {
		if e.Text != "PING" {
			continue
		}
		asked++
		ahead := time.Duration(int64(e.Time) / 1000) // by the drift
		if e.Kind == KindDeliver {
			ahead = 2 * time.Second
		}
		if e.Skew != ahead {
			t.Errorf("%s: the clock is ahead by %v, want %v", e, e.Skew, ahead)
		}
	}
	if asked != 2 {
		t.Errorf("the request has %d entries, want 2", asked)
	}
	if hash := run(HashOnly); hash.Hash != full.Hash {
		t.Errorf("with the entries kept it is another run: %x, without %x", full.Hash, hash.Hash)
	}
}
