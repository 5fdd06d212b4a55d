package sim

import (
	"time"
	"unsafe"
)

// A time.Time from time.Now carries two readings, wall and monotonic; Sub uses the monotonic one when both sides have
// it. Code under test relies on that difference, so a simulated clock must return such values too. Neither the bubble's
// time.Now, which leaves the monotonic reading out, nor anything else in the standard library makes one whose two
// readings move by different amounts. instantLayout mirrors time.Time for that single purpose; layoutHolds checks once
// that the mirror is true, and where it is not, readings carry the wall clock only.
type instantLayout struct {
	wall uint64 // 1 bit "has monotonic", 33 bits seconds since 1885, 30 bits nanoseconds
	ext  int64  // monotonic reading
	loc  *time.Location
}

const (
	nanosecondBits = 30
	secondsMask    = 1<<33 - 1
	monotonicBit   = 1 << 63
	secondsTo1970  = 31_045 * 86_400 // from 1885
)

// machineZone is UTC under an identity of its own: it marks readings of a machine's clock, so that a deadline of a
// connection that was computed from one is not taken for a time of the runtime's clock. It also keeps the host's time
// zone out of what machines print.
var machineZone = time.FixedZone("UTC", 0)

var layoutHolds = checkLayout()

func checkLayout() bool {
	if unsafe.Sizeof(instantLayout{}) != unsafe.Sizeof(time.Time{}) {
		return false
	}
	base := time.Unix(946_684_800, 999_999_999)
	early, _ := bend(base, 0, 0)
	late, ok := bend(base, 3*time.Second, 5*time.Second)
	return ok && late.Sub(early) == 3*time.Second && late.Round(0).Sub(base) == 5*time.Second &&
		early.Equal(base) && early.Location() == machineZone
}

// instant returns the reading of a clock whose monotonic reading is monotonic and whose wall reading is wall after
// base, in machineZone.
func instant(base time.Time, monotonic, wall time.Duration) time.Time {
	if layoutHolds {
		if t, ok := bend(base, monotonic, wall); ok {
			return t
		}
	}
	return base.In(machineZone).Add(wall)
}

// ofMachine tells whether t was read from a machine's clock or computed from such a reading.
func ofMachine(t time.Time) bool { return t.Location() == machineZone }

// bend does the work of instant. It is false where the two readings do not fit into one value.
func bend(base time.Time, monotonic, wall time.Duration) (t time.Time, ok bool) {
	seconds := base.Unix() + secondsTo1970 + int64(wall/time.Second)
	nanoseconds := int64(base.Nanosecond()) + int64(wall%time.Second)
	if nanoseconds < 0 {
		nanoseconds += int64(time.Second)
		seconds--
	} else if nanoseconds >= int64(time.Second) {
		nanoseconds -= int64(time.Second)
		seconds++
	}
	if seconds < 0 || seconds > secondsMask {
		return t, false
	}
	mirror := (*instantLayout)(unsafe.Pointer(&t))
	mirror.wall = monotonicBit | uint64(seconds)<<nanosecondBits | uint64(nanoseconds)
	mirror.ext = int64(monotonic)
	mirror.loc = machineZone
	return t, true
}
