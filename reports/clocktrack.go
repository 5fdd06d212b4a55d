package reports

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// ClockTrack is by how much the wall clock of a machine was ahead of true time. Unlike what a history tells, which is
// what was read and where no reading lies between two, it says when a clock was bent.
type ClockTrack struct {
	Machine string
	Points  []measure.Point
	// Bends are the times at which the clock was stepped, or its drift, jitter or unit set.
	Bends []time.Duration
}

// ClockTracks takes from a trace what it says of clocks, by name of machine. Of points on one line only the ends are
// kept.
func ClockTracks(trace []spacetime.Entry) []ClockTrack {
	var tracks []ClockTrack
	number := map[string]int{} // of a machine's track
	for i := range trace {
		x := &trace[i]
		name := x.From
		if kind := x.KindOf(); kind == spacetime.Deliver || kind == spacetime.Drop {
			name = x.To
		}
		if name == "" {
			continue
		}
		k, known := number[name]
		if !known {
			k = len(tracks)
			number[name], tracks = k, append(tracks, ClockTrack{Machine: name})
		}
		tracks[k].add(x)
	}
	slices.SortFunc(tracks, func(a, b ClockTrack) int { return natural(a.Machine, b.Machine) })
	return tracks
}

// add takes in what an entry says of the clock.
func (t *ClockTrack) add(x *spacetime.Entry) {
	skew := int64(x.Skew)
	point := measure.Point{From: x.Time, To: x.Time, First: skew, Last: skew, Least: skew, Greatest: skew}
	if x.KindOf() == spacetime.Node && bendsClock(x.Text) {
		t.Bends = append(t.Bends, x.Time)
		t.Points = append(t.Points, point)
		return
	}
	n := len(t.Points)
	bent := n >= 2 && len(t.Bends) > 0 && t.Bends[len(t.Bends)-1] > t.Points[n-2].From
	if n >= 2 && !bent && straight(t.Points[n-2], t.Points[n-1], point) {
		t.Points = t.Points[:n-1]
	}
	t.Points = append(t.Points, point)
}

// straight tells whether the second of three points lies between the others on a line, to the microsecond.
func straight(a, b, c measure.Point) bool {
	if c.From == a.From {
		return a.First == c.First
	}
	share := (b.From - a.From).Seconds() / (c.From - a.From).Seconds()
	between := float64(a.First) + share*float64(c.First-a.First)
	return math.Abs(between-float64(b.First)) < 1e3
}

// bendsClock tells whether an entry about a machine says that its clock was bent, as in "wall clock stepped by 2s" and
// "clock drift set to 100 ppm".
func bendsClock(text string) bool {
	return strings.HasPrefix(text, "wall clock ") || strings.HasPrefix(text, "clock drift ")
}

// readings are the clocks of a sample as tracks: what the trace says where there is one, and otherwise what was read,
// with a bend wherever a fault that is about clocks struck or ended.
func (s *Sample) readings() []ClockTrack {
	if len(s.Tracks) > 0 {
		return slices.Clone(s.Tracks)
	}
	var bends []time.Duration
	about := false
	for _, fault := range s.Faults {
		about = about || first(strings.Fields(fault.Text)) == "clock"
		if about { // a fault that ends bends the clocks back
			bends = append(bends, fault.At)
		}
	}
	var tracks []ClockTrack
	for _, clock := range s.Clocks {
		tracks = append(tracks, ClockTrack{Machine: clock.Machine, Points: clock.Off.Points, Bends: bends})
	}
	slices.SortStableFunc(tracks, func(a, b ClockTrack) int { return natural(a.Machine, b.Machine) })
	return tracks
}

// pieces cuts the points of a track where its clock was bent. What lies between two points of one piece is known well
// enough to be joined by a line; between two pieces nothing is.
func (t *ClockTrack) pieces() [][]measure.Point {
	var pieces [][]measure.Point
	var piece []measure.Point
	bends := t.Bends
	for _, p := range t.Points {
		bent := false
		for len(bends) > 0 && bends[0] <= p.From {
			bends, bent = bends[1:], true
		}
		if bent && len(piece) > 0 {
			pieces, piece = append(pieces, piece), nil
		}
		piece = append(piece, p)
	}
	if len(piece) > 0 {
		pieces = append(pieces, piece)
	}
	return pieces
}

// alike tells whether two clocks show the same all the time: neither was ever bent, and each is off by one and
// the same.
func (t ClockTrack) alike(other ClockTrack) bool {
	if len(t.Points) == 0 || len(other.Points) == 0 || len(t.Bends)+len(other.Bends) > 0 {
		return false
	}
	off := t.Points[0].First
	stays := func(p measure.Point) bool { return p.Least == off && p.Greatest == off }
	for _, points := range [][]measure.Point{t.Points, other.Points} {
		if slices.ContainsFunc(points, func(p measure.Point) bool { return !stays(p) }) {
			return false
		}
	}
	return true
}
