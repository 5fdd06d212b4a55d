package reports

import (
	"math"
	"strconv"
	"time"

	"gonum.org/v1/plot"
)

// secondTicks marks an axis of seconds at round values, with as many decimals as their distance takes.
type secondTicks struct{}

// Ticks implements plot.Ticker.
func (secondTicks) Ticks(low, high float64) []plot.Tick {
	step, digits := roundStep((high - low) / 8)
	var ticks []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		value := k*step + 0 // never -0
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'f', digits, 64)})
	}
	return ticks
}

// roundStep is the smallest of 1, 2 and 5 times a power of ten that is not below a length, and the decimals it has.
func roundStep(least float64) (step float64, digits int) {
	power := math.Floor(math.Log10(least))
	digits = max(0, -int(power))
	for _, factor := range []float64{1, 2, 5} {
		if step = factor * math.Pow(10, power); step >= least*(1-1e-9) {
			return step, digits
		}
	}
	return 10 * math.Pow(10, power), max(0, digits-1)
}

// durationTicks marks a logarithmic axis of seconds at 1, 2 and 5 times the powers of ten, labelled with their units.
type durationTicks struct{}

// Ticks implements plot.Ticker.
func (durationTicks) Ticks(low, high float64) []plot.Tick {
	return logarithmicTicks(low, high, durationLabel)
}

// durationLabel renders a round number of seconds in the unit that suits it.
func durationLabel(s float64) string {
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}, {time.Nanosecond, "ns"}} {
		if in := s / unit.size.Seconds(); in >= 1-1e-9 {
			return strconv.FormatFloat(math.Round(in), 'f', 0, 64) + " " + unit.name
		}
	}
	return "0 s"
}

// countTicks marks a logarithmic axis of numbers at 1, 2 and 5 times the powers of ten.
type countTicks struct{}

// Ticks implements plot.Ticker.
func (countTicks) Ticks(low, high float64) []plot.Tick {
	return logarithmicTicks(low, high, func(value float64) string { return strconv.FormatFloat(value, 'g', 6, 64) })
}

// logarithmicTicks marks 1, 2 and 5 times the powers of ten with a label, and what lies between without. Over many
// decades only powers of ten have a label.
func logarithmicTicks(low, high float64, label func(value float64) string) []plot.Tick {
	from, to := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	all := math.Log10(high/low) < 3.2
	var ticks []plot.Tick
	for power := from; power <= to; power++ {
		for factor := 1; factor <= 9; factor++ {
			value := float64(factor) * math.Pow(10, float64(power))
			if value < low*(1-1e-9) || value > high*(1+1e-9) {
				continue
			}
			tick := plot.Tick{Value: value}
			if factor == 1 || all && (factor == 2 || factor == 5) {
				tick.Label = label(value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// shareTicks marks an axis of shares at quarters.
func shareTicks() plot.Ticker {
	var ticks plot.ConstantTicks
	for i := range 5 {
		ticks = append(ticks, plot.Tick{Value: float64(i) / 4, Label: strconv.Itoa(25*i) + " %"})
	}
	return ticks
}

// wholeTicks marks an axis of counts at whole numbers.
type wholeTicks struct{}

// Ticks implements plot.Ticker.
func (wholeTicks) Ticks(low, high float64) []plot.Tick {
	step, _ := roundStep(max((high-low)/8, 1))
	var ticks []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		ticks = append(ticks, plot.Tick{Value: k*step + 0, Label: strconv.FormatFloat(k*step+0, 'f', 0, 64)})
	}
	return ticks
}
