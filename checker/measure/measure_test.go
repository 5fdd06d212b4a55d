package measure

import (
	"encoding/json"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
)

// randomHistory makes well-formed histories in which locks do as they please.
type randomHistory struct {
	checker.History
	now  time.Duration
	open map[int]*checker.Event
	dead map[int]bool
}

func (r *randomHistory) add(e checker.Event) {
	e.Index, e.Time = int64(len(r.Events)+1), r.now
	r.Events = append(r.Events, e)
}

func (r *randomHistory) step(t *rapid.T) {
	r.now += time.Duration(rapid.SampledFrom([]int{0, 1, 1, 5, 20}).Draw(t, "pause"))
	process := rapid.IntRange(0, 5).Draw(t, "process")
	e := checker.Event{
		Process: process, Node: fmt.Sprintf("c%d", process/2), Key: rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "key"),
	}
	what := rapid.IntRange(0, 30).Draw(t, "what")
	call := r.open[process]
	switch {
	case r.dead[process]:
		e.F, e.Type = checker.Acquire, checker.OK // it unwinds
	case what == 0:
		e.F, e.Type = checker.Crash, checker.Info
		r.dead[process] = true
		delete(r.open, process)
	case what == 1:
		e.F, e.Type = checker.Lost, checker.Info
		e.Key = rapid.SampledFrom([]string{"", "a"}).Draw(t, "lost")
	case what == 2:
		e.F, e.Type, e.Deadline = checker.Renew, checker.Info, r.now+7
	case what == 3:
		e.Process, e.F, e.Type = checker.ProcessServer, checker.Request, checker.Info
	case call == nil:
		e.F = rapid.SampledFrom([]string{
			checker.Acquire, checker.TryAcquire, checker.Release, checker.Release, checker.Write,
		}).Draw(t, "f")
		e.Type, e.Wait = checker.Invoke, time.Duration(rapid.IntRange(0, 1).Draw(t, "wait"))
		if e.F == checker.Release {
			e.Count = int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "count"))
		}
		r.open[process] = &e
	default:
		e.F, e.Key = call.F, call.Key
		e.Type = rapid.SampledFrom([]checker.Type{
			checker.OK, checker.OK, checker.OK, checker.Fail, checker.Info,
		}).Draw(t, "type")
		if e.F == checker.Acquire && e.Type == checker.Fail {
			e.Type = checker.Info
		}
		e.Deadline = rapid.SampledFrom([]time.Duration{0, 0, r.now + 10}).Draw(t, "deadline")
		delete(r.open, process)
	}
	r.add(e)
}

func drawHistory(t *rapid.T) *checker.History {
	r := &randomHistory{open: map[int]*checker.Event{}, dead: map[int]bool{}}
	for range rapid.IntRange(1, 120).Draw(t, "events") {
		r.step(t)
	}
	if err := r.Validate(); err != nil {
		t.Fatalf("the generator is wrong: %v", err)
	}
	return &r.History
}

// collect takes a history in small batches.
func collect(t interface{ Fatal(...any) }, h *checker.History, batch int) *Run {
	c := NewCollector(h.Header)
	c.batch, c.least = batch, batch
	for i := range h.Events {
		if err := c.Add(&h.Events[i]); err != nil {
			t.Fatal(err)
		}
	}
	r := c.Finish()
	return r
}

// TestHoldsAreClaims checks that a history taken batch by batch has the holds that the checker finds in all of it.
func TestHoldsAreClaims(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := drawHistory(t)
		r := collect(t, h, rapid.SampledFrom([]int{1, 2, 7, 50, batch}).Draw(t, "batch"))
		var got, want []string
		for _, x := range r.Holds {
			got = append(got, fmt.Sprint(r.Locks[x.Lock], r.Clients[x.Client].Process, x.Start, x.End))
		}
		began := map[int64]bool{}
		for _, c := range checker.Claims(h) {
			want = append(want, fmt.Sprint(c.Lock, c.Process, c.Start, c.End))
			began[c.Acquire] = true
		}
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		outcomes(t, h, r, began)
	})
}

// outcomes compares calls with what a plain reading of the history says.
func outcomes(t *rapid.T, h *checker.History, r *Run, began map[int64]bool) {
	open, dead := map[int]int{}, map[int]bool{}
	var want []Outcome
	for _, e := range h.Events {
		k, called := open[e.Process]
		switch {
		case e.Process < 0 || dead[e.Process]:
		case e.F == checker.Crash:
			dead[e.Process] = true
		case e.Type == checker.Invoke:
			open[e.Process] = len(want)
			want = append(want, Open)
		case called && e.F != checker.Lost && e.F != checker.Renew:
			acquire := e.F == checker.Acquire || e.F == checker.TryAcquire
			switch {
			case e.Type == checker.OK && acquire && !began[e.Index]:
				want[k] = Reentered
			default:
				want[k] = map[checker.Type]Outcome{checker.OK: Done, checker.Fail: Refused, checker.Info: Unknown}[e.Type]
			}
			delete(open, e.Process)
		}
	}
	for i := range r.Calls {
		if r.Calls[i].Outcome != want[i] {
			t.Fatalf("call %d came out %v, want %v", i, r.Calls[i].Outcome, want[i])
		}
	}
}

// TestCountsAgainstNaive compares overtakes, overlaps and hand-overs with the plainest way to find them.
func TestCountsAgainstNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := collect(t, drawHistory(t), batch)
		var overtakes []int64
		for i, a := range r.Calls {
			if !a.Waits || a.Outcome != Done {
				continue
			}
			n := int64(0)
			for k, b := range r.Calls {
				if k > i && b.Waits && b.Outcome == Done && b.Lock == a.Lock && b.Asked+b.Took < a.Asked+a.Took {
					n++
				}
			}
			overtakes = append(overtakes, n)
		}
		compare(t, "overtakes", r.Overtakes(), overtakes)
		var overlap, handOver []int64
		for lock := range r.Locks {
			overlap = append(overlap, naiveOverlaps(r, lock)...)
			handOver = append(handOver, naiveHandOvers(r, lock)...)
		}
		compare(t, "overlaps", r.Overlaps(), overlap)
		compare(t, "hand-overs", r.HandOverTimes(), handOver)
	})
}

// naiveOverlaps looks at every instant.
func naiveOverlaps(r *Run, lock int) []int64 {
	var all []int64
	run := int64(0)
	for at := time.Duration(0); at <= r.End+1; at++ {
		holders := 0
		for _, h := range r.Holds {
			if int(h.Lock) == lock && h.Start <= at && at < h.End {
				holders++
			}
		}
		if holders > 1 {
			run++
		} else if run > 0 {
			all, run = append(all, run), 0
		}
	}
	return all
}

func naiveHandOvers(r *Run, lock int) []int64 {
	var all []int64
	var before []Hold
	for _, h := range r.Holds {
		if int(h.Lock) != lock {
			continue
		}
		end := time.Duration(-1)
		for _, b := range before {
			end = max(end, b.End)
		}
		waits := false
		for _, c := range r.Calls {
			waits = waits || c.Waits && int(c.Lock) == lock && c.Asked <= end && end < c.Asked+c.Took
		}
		if len(before) > 0 && h.Start >= end && waits {
			all = append(all, int64(h.Start-end))
		}
		before = append(before, h)
	}
	return all
}

func compare(t *rapid.T, what string, got *Distribution, want []int64) {
	slices.Sort(want)
	if values := expand(got); !slices.Equal(values, want) {
		t.Fatalf("%s: got %v, want %v", what, values, want)
	}
}

// expand lists every value as often as it occurred.
func expand(d *Distribution) []int64 {
	var all []int64
	for _, v := range d.Values() {
		for range d.Count(v) {
			all = append(all, v)
		}
	}
	return all
}

// TestQuantiles compares with the definition: the least value that the share does not exceed.
func TestQuantiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Int64Range(0, 50), 1, 80).Draw(t, "values")
		q := rapid.Int64Range(0, 1000).Draw(t, "thousandths")
		var d Distribution
		for _, v := range values {
			d.Add(v)
		}
		slices.Sort(values)
		want := values[len(values)-1]
		for i, v := range values {
			if int64(i+1)*1000 >= q*int64(len(values)) {
				want = v
				break
			}
		}
		if got := d.Quantile(q); got != want {
			t.Fatalf("quantile %d of %v is %d, want %d", q, values, got, want)
		}
		box := d.Box()
		if !slices.IsSorted([]int64{box.Low, box.First, box.Median, box.Third, box.High}) {
			t.Fatalf("the box %v is not in order", box)
		}
	})
}

// TestMergeInAnyOrder checks that it does not matter who counted what, also where values are rounded.
func TestMergeInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := make([]*Distribution, 4)
		var all Distribution
		for i := range parts {
			parts[i] = &Distribution{}
			start, n := rapid.Int64Range(0, 1<<40).Draw(t, "start"), rapid.SampledFrom([]int64{0, 3, 1500, 5000}).Draw(t, "n")
			for k := range n {
				parts[i].Add(start + k*k)
				all.Add(start + k*k)
			}
		}
		var forth, back Distribution
		for i := range parts {
			forth.Merge(parts[i])
			back.Merge(parts[len(parts)-1-i])
		}
		want, _ := json.Marshal(&all)
		for _, d := range []*Distribution{&forth, &back} {
			got, err := json.Marshal(d)
			if err != nil || string(got) != string(want) {
				t.Fatalf("merged it is another: %v", err)
			}
			var again Distribution
			if err := json.Unmarshal(got, &again); err != nil || again.Total() != all.Total() ||
				again.Rounded() != all.Rounded() {
				t.Fatalf("read back it is another: %v", err)
			}
		}
		if len(all.Values()) > MostValues || all.Rounded() && all.Total() <= MostValues {
			t.Fatalf("of %d values it keeps %d, and says rounded: %v", all.Total(), len(all.Values()), all.Rounded())
		}
	})
}

func TestRoundingIsSmall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int64Range(0, 1<<62).Draw(t, "value")
		r := round(v)
		if r > v || v-r > v/128 || round(r) != r {
			t.Fatalf("%d is rounded to %d", v, r)
		}
	})
}

func TestDistributionRefuses(t *testing.T) {
	for _, text := range []string{`{"values":[[-1,1]]}`, `{"values":[[1,0]]}`, `{"values":7}`, `[`} {
		var d Distribution
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

// TestJain compares with the formula in numbers without bounds.
func TestJain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := int64(1)<<rapid.IntRange(1, 62).Draw(t, "bits") - 1
		values := rapid.SliceOfN(rapid.Int64Range(0, most), 0, 50).Draw(t, "values")
		sum, squares := new(big.Int), new(big.Int)
		for _, v := range values {
			x := big.NewInt(v)
			sum.Add(sum, x)
			squares.Add(squares, new(big.Int).Mul(x, x))
		}
		want := int64(million)
		if squares.Sign() > 0 {
			top := new(big.Int).Mul(new(big.Int).Mul(sum, sum), big.NewInt(million))
			want = top.Div(top, squares.Mul(squares, big.NewInt(int64(len(values))))).Int64()
		}
		if got := Jain(values); got < want-20 || got > want+20 {
			t.Fatalf("Jain's index of %v is %d, want %d", values, got, want)
		}
	})
	for _, test := range []struct {
		values []int64
		want   int64
	}{
		{nil, million},
		{[]int64{0, 0}, million},
		{[]int64{5, 5, 5}, million},
		{[]int64{0, 0, 9, 0}, million / 4},
		{[]int64{1, 2, 3}, 857142},
	} {
		if got := Jain(test.values); got != test.want {
			t.Errorf("Jain's index of %v is %d, want %d", test.values, got, test.want)
		}
	}
}

// TestSeriesKeepsExtremes checks what a series of too many samples still tells.
func TestSeriesKeepsExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, MostPoints, MostPoints + 1, 3*MostPoints + 5, 20_000}).Draw(t, "samples")
		odd := rapid.IntRange(0, n-1).Draw(t, "odd")
		var s Series
		for i := range n {
			v := int64(i % 7)
			if i == odd {
				v = 1000
			}
			s.Add(time.Duration(i), v)
		}
		if len(s.Points) > MostPoints || s.Exact() != (n <= MostPoints) {
			t.Fatalf("%d samples make %d points, exact %v", n, len(s.Points), s.Exact())
		}
		next, most := time.Duration(0), int64(0)
		for _, p := range s.Points {
			if p.From != next || p.To < p.From || p.Least > min(p.First, p.Last) || p.Greatest < max(p.First, p.Last) {
				t.Fatalf("the point %+v does not follow what ended before %d", p, next)
			}
			next, most = p.To+1, max(most, p.Greatest)
		}
		if next != time.Duration(n) || most != 1000 {
			t.Fatalf("the points reach %d of %d and %d", next, n, most)
		}
	})
}

// TestClocks checks how far each clock is off, and that the clock of leases is one of its own only where it is another.
func TestClocks(t *testing.T) {
	right := time.UnixMilli(946684800000)
	for name, test := range map[string]struct {
		lease time.Duration
		want  string
	}{
		"the server's": {time.Millisecond, "c1 0s..0s c2 3s..3s server 0s..0s"},
		"another":      {-time.Second, "c1 0s..0s c2 3s..3s lease clock -1s..-1s server 0s..0s"},
	} {
		h := &checker.History{}
		for i := range int64(20) {
			at := time.Duration(i) * time.Second
			e := checker.Event{Index: i + 1, Time: at, Type: checker.Invoke, F: checker.Write, Process: int(i), Node: "c1"}
			e.Clock = right.Add(at)
			switch {
			case i%5 == 1:
				e.Node, e.Clock = "c2", e.Clock.Add(3*time.Second)
			case i%5 == 2:
				e.Process, e.Type, e.F = checker.ProcessServer, checker.Info, checker.RecordSet
				e.Record = &checker.Record{Now: e.Clock.Add(test.lease).UnixMilli()}
			}
			h.Events = append(h.Events, e)
		}
		r, err := Of(h)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range r.Clocks {
			first := c.Off.Points[0]
			got = append(got, fmt.Sprintf("%s %v..%v", c.Machine, time.Duration(first.Least), time.Duration(first.Greatest)))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, " "), test.want)
		}
	}
}

func TestCollectorRefuses(t *testing.T) {
	call := checker.Event{Index: 1, Type: checker.Invoke, F: checker.Acquire, Key: "a", Time: 5}
	for name, events := range map[string][]checker.Event{
		"a return without its call":  {{Index: 1, Type: checker.OK, F: checker.Acquire, Key: "a"}},
		"a return of something else": {call, {Index: 2, Type: checker.OK, F: checker.Acquire, Key: "b", Time: 5}},
		"a second call":              {call, {Index: 2, Type: checker.Invoke, F: checker.Write, Time: 6}},
		"a call after the crash": {
			call,
			{Index: 2, Type: checker.Info, F: checker.Crash, Time: 6},
			{Index: 3, Type: checker.Invoke, F: checker.Write, Time: 7},
		},
		"time that goes back": {call, {Index: 2, Type: checker.OK, F: checker.Acquire, Key: "a", Time: 4}},
	} {
		if _, err := Of(&checker.History{Events: events}); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// crowd feeds a collector with clients that take turns.
func crowd(c *Collector, operations int) error {
	const clients = 16
	e, index, now := checker.Event{}, int64(0), time.Duration(0)
	for i := range operations / 2 {
		process := i % clients
		for k, step := range []checker.Event{
			{Type: checker.Invoke, F: checker.Acquire},
			{Type: checker.OK, F: checker.Acquire},
			{Type: checker.Invoke, F: checker.Release},
			{Type: checker.OK, F: checker.Release},
		} {
			index, now = index+1, now+time.Duration(1000+(i*7919+k)%5000)
			e = step
			e.Index, e.Time, e.Process, e.Node, e.Key = index, now, process, "c1", "job"
			if err := c.Add(&e); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestMemoryOfLongHistories checks that a call costs some words and not its events, in what is allocated along the way
// and in what stays.
func TestMemoryOfLongHistories(t *testing.T) {
	const few, many = 50_000, 200_000
	allocated, kept := cost(t, few)
	more, keptMore := cost(t, many)
	perCall, keptPerCall := (more-allocated)/(many-few), (keptMore-kept)/(many-few)
	if perCall > 1200 || keptPerCall > 150 {
		t.Errorf("a call costs %d bytes along the way and %d that stay: a million of them do not fit into 500 MB", perCall,
			keptPerCall)
	}
	t.Logf("bytes for each call: %d along the way, %d that stay", perCall, keptPerCall)
}

func cost(t *testing.T, operations int) (allocated, kept int64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := NewCollector(checker.Header{Lock: "job"})
	if err := crowd(c, operations); err != nil {
		t.Fatal(err)
	}
	r := c.Finish()
	if s := r.Summary(); s.Got != operations/2 {
		t.Fatalf("%d of %d got the lock", s.Got, operations/2)
	}
	runtime.ReadMemStats(&after)
	allocated = int64(after.TotalAlloc - before.TotalAlloc)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(r)
	return allocated, int64(after.HeapAlloc) - int64(before.HeapAlloc)
}

func BenchmarkCollect(b *testing.B) {
	for b.Loop() {
		c := NewCollector(checker.Header{Lock: "job"})
		if err := crowd(c, 1_000_000); err != nil {
			b.Fatal(err)
		}
		c.Finish().Summary()
	}
}
