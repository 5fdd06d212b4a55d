package reports

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// sameClock is how far a clock may be off and still count as right: what it shows is known to the millisecond.
const sameClock = 2 * time.Millisecond

// clocks translates what machines' wall clocks show into times since the start of the run.
type clocks struct {
	zero  time.Time // what a right clock showed at true time 0
	known bool
}

// readClocks finds out what a right clock shows at true time 0. A history does not say, but most clocks are right, so
// it is what most readings agree on, to the millisecond; of several such, the first.
func readClocks(events []checker.Event) clocks {
	votes := map[int64]int{}
	var best clocks
	most := 0
	for i := range events {
		e := &events[i]
		if e.Clock.IsZero() {
			continue
		}
		zero := e.Clock.Add(-e.Time)
		votes[zero.UnixMilli()]++
	}
	for i := range events {
		e := &events[i]
		if e.Clock.IsZero() {
			continue
		}
		if zero := e.Clock.Add(-e.Time); votes[zero.UnixMilli()] > most {
			most, best = votes[zero.UnixMilli()], clocks{zero: zero, known: true}
		}
	}
	return best
}

// reading renders what a clock shows, empty where it is right or nobody knows.
func (c clocks) reading(whose string, shown time.Time, at time.Duration) string {
	if !c.known || shown.IsZero() {
		return ""
	}
	local := shown.Sub(c.zero)
	if off := local - at; -sameClock < off && off < sameClock {
		return ""
	}
	return whose + " " + seconds(local)
}

// ofMilliseconds is the local time of a clock that shows so many Unix milliseconds.
func (c clocks) ofMilliseconds(unix int64) time.Duration { return time.UnixMilli(unix).Sub(c.zero) }

// leaseReading renders what the clock that judges leases shows, empty where it is right.
func (c clocks) leaseReading(r *checker.Record, at time.Duration) string {
	if r == nil || r.Now == 0 {
		return ""
	}
	return c.reading("lease clock", time.UnixMilli(r.Now), at)
}

// until renders when the lease of a record ends, seen from a fact at some time: "until 2.005 s". A deadline by a clock
// that is wrong says so.
func (c clocks) until(r *checker.Record, at time.Duration) string {
	switch {
	case r.Expires == 0:
		return "without an end"
	case !c.known && r.Now == 0:
		return "with an end"
	case !c.known:
		return "for " + seconds(time.Duration(r.Expires-r.Now)*time.Millisecond)
	case c.leaseReading(r, at) != "":
		return "until " + seconds(c.ofMilliseconds(r.Expires)) + " on the lease clock"
	}
	return "until " + seconds(c.ofMilliseconds(r.Expires))
}

// lapsed tells whether the clock that judges a record says that its lease is over; known is false where the record
// has no lease or nobody knows what that clock showed.
func lapsed(r *checker.Record) (over, known bool) {
	if r.Expires == 0 || r.Now == 0 {
		return false, false
	}
	return r.Expires < r.Now, true
}

// remaining is how long the lease of a record lasts from the moment at which its clock was read.
func remaining(r *checker.Record) time.Duration {
	return time.Duration(r.Expires-r.Now) * time.Millisecond
}

// seconds renders true time as "10.004 s", rounded to the millisecond.
func seconds(d time.Duration) string { return decimal(d, 3) + " s" }

// span renders two ends of an interval, "from 10.004 s to 12.310 s", with as many decimals as it takes to tell
// them apart.
func span(from, to time.Duration) string {
	for _, digits := range []int{3, 6} {
		if a, b := decimal(from, digits), decimal(to, digits); a != b || from == to {
			return fmt.Sprintf("from %s s to %s s", a, b)
		}
	}
	return fmt.Sprintf("from %s s to %s s", decimal(from, 9), decimal(to, 9))
}

// length renders how long something lasted, with more decimals where it lasted less than a millisecond.
func length(d time.Duration) string {
	for _, digits := range []int{3, 6} {
		if text := decimal(d, digits); d == 0 || text != decimal(0, digits) {
			return text + " s"
		}
	}
	return decimal(d, 9) + " s"
}

// decimal renders d in seconds with the given number of decimals, rounding half away from zero.
func decimal(d time.Duration, digits int) string {
	sign, ns := "", uint64(d)
	if d < 0 {
		sign, ns = "-", -ns
	}
	unit := uint64(1)
	for range 9 - digits {
		unit *= 10
	}
	ticks, perSecond := (ns+unit/2)/unit, uint64(time.Second)/unit
	return sign + strconv.FormatUint(ticks/perSecond, 10) + fmt.Sprintf(".%0*d", digits, ticks%perSecond)
}
