package sim

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Without the layout, Sub and UnixMilli of simulated readings cannot differ, and locks that mix them are judged
// wrongly. A Go release that changes time.Time must be noticed here, not in results.
func TestTimeHasTheLayoutThatInstantNeeds(t *testing.T) {
	if !layoutHolds {
		t.Fatal("time.Time of this Go release is laid out otherwise than instantLayout; adapt instant.go")
	}
}

func TestInstantMovesTheTwoReadingsApart(t *testing.T) {
	base := time.Now()
	rapid.Check(t, func(t *rapid.T) {
		span := rapid.Int64Range(-int64(100*365*24*time.Hour), int64(100*365*24*time.Hour))
		wall, monotonic := time.Duration(span.Draw(t, "wall")), time.Duration(span.Draw(t, "monotonic"))
		got, zero := instant(base, monotonic, wall), instant(base, 0, 0)
		if d := got.Sub(zero); d != monotonic {
			t.Fatalf("Sub says %v, want the monotonic %v", d, monotonic)
		}
		if got.Add(time.Second).Sub(got) != time.Second || !zero.Round(0).Equal(base.Round(0)) {
			t.Fatal("a reading does not add up")
		}
		if d := got.Round(0).Sub(base.Round(0)); d != wall {
			t.Fatalf("the wall reading moved by %v, want %v", d, wall)
		}
		if !ofMachine(got) || !ofMachine(got.Add(time.Second)) || ofMachine(base) {
			t.Fatal("a machine's reading is not told from the runtime's")
		}
		if _, offset := got.Zone(); offset != 0 {
			t.Fatalf("the reading is %d s off UTC", offset)
		}
	})
}

func TestInstantOutsideOfTheLayout(t *testing.T) {
	base := time.Now()
	const centuries = 290 * 365 * 24 * time.Hour
	if _, ok := bend(base, 0, -centuries); ok {
		t.Fatal("a wall clock before 1885 fits?")
	}
	got := instant(base, time.Second, -centuries)
	if d := got.Sub(base.Round(0)); d != -centuries || !ofMachine(got) {
		t.Errorf("a reading that does not fit moved by %v, want the wall clock's %v", d, -centuries)
	}
}
