package measure

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
)

// Distribution counts how often values occurred, such as waiting times in nanoseconds. Up to MostValues different
// values are kept exactly. Beyond that, values are rounded down to eight binary digits, which is less than 1 part in
// 128.
//
// Distributions can be merged, and it does not matter in which order. The zero value is empty and ready to use.
type Distribution struct {
	counts  map[int64]int64
	rounded bool
	total   int64
	order   []int64 // the values in order; nil = to be made
}

// MostValues bounds the different values that a Distribution keeps exactly.
const MostValues = 4096

// significant is how many binary digits of a value are kept once values are rounded.
const significant = 8

// Add counts a value. What is below zero counts as zero.
func (d *Distribution) Add(value int64) { d.add(max(value, 0), 1) }

func (d *Distribution) add(value, times int64) {
	if d.counts == nil {
		d.counts = map[int64]int64{}
	}
	if d.rounded {
		value = round(value)
	}
	d.counts[value] += times
	d.total += times
	d.order = nil
	if !d.rounded && len(d.counts) > MostValues {
		d.coarsen()
	}
}

// Merge counts all that another distribution has counted.
func (d *Distribution) Merge(other *Distribution) {
	if other.rounded && !d.rounded {
		d.coarsen()
	}
	for _, v := range other.Values() {
		d.add(v, other.counts[v])
	}
}

func (d *Distribution) coarsen() {
	values := d.Values()
	counts := make(map[int64]int64, len(values))
	for _, v := range values {
		counts[round(v)] += d.counts[v]
	}
	d.counts, d.rounded, d.order = counts, true, nil
}

// round keeps the leading binary digits. Rounding twice is rounding once.
func round(value int64) int64 {
	if drop := bits.Len64(uint64(value)) - significant; drop > 0 {
		return value >> drop << drop
	}
	return value
}

// Rounded says that values are known to 1 part in 128 only.
func (d *Distribution) Rounded() bool { return d.rounded }

// Total is how many values were counted.
func (d *Distribution) Total() int64 { return d.total }

// Values lists the different values, the least first.
func (d *Distribution) Values() []int64 {
	if d.order == nil {
		d.order = slices.Sorted(maps.Keys(d.counts))
	}
	return d.order
}

// Count tells how often a value occurred.
func (d *Distribution) Count(value int64) int64 { return d.counts[value] }

// Quantile is the least value that so many thousandths of all do not exceed: 500 asks for the median. Of nothing it is
// 0.
func (d *Distribution) Quantile(thousandths int64) int64 {
	if d.total == 0 {
		return 0
	}
	thousandths = min(max(thousandths, 0), 1000)
	// Whole thousands and the rest apart, so that no product overflows.
	rank := d.total/1000*thousandths + (d.total%1000*thousandths+999)/1000
	seen := int64(0)
	values := d.Values()
	for _, v := range values {
		if seen += d.counts[v]; seen >= max(rank, 1) {
			return v
		}
	}
	return values[len(values)-1]
}

// Box is what a box plot shows: the quartiles, and the values that a twentieth of all lie below and above.
type Box struct{ Low, First, Median, Third, High int64 }

// Box takes the five figures of a box plot.
func (d *Distribution) Box() Box {
	return Box{d.Quantile(50), d.Quantile(250), d.Quantile(500), d.Quantile(750), d.Quantile(950)}
}

// document is a Distribution as JSON: each value with its count.
type document struct {
	Values  [][2]int64 `json:"values"`
	Rounded bool       `json:"rounded,omitempty"`
}

// MarshalJSON writes the values in order.
func (d *Distribution) MarshalJSON() ([]byte, error) {
	out := document{Values: [][2]int64{}, Rounded: d.rounded}
	for _, v := range d.Values() {
		out.Values = append(out.Values, [2]int64{v, d.counts[v]})
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (d *Distribution) UnmarshalJSON(text []byte) error {
	var in document
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	*d = Distribution{rounded: in.Rounded}
	for _, pair := range in.Values {
		if pair[0] < 0 || pair[1] < 1 {
			return fmt.Errorf("distribution: value %d occurs %d times: want values from 0 and counts from 1", pair[0], pair[1])
		}
		d.add(pair[0], pair[1])
	}
	return nil
}
