package sim

import (
	"time"
	"unsafe"
)

// A time.Time from time.Now carries two readings, wall and monotonic; Sub uses the monotonic one when both sides have
// it. Code under test relies on that difference, so a simulated clock must return such values too, and the standard
// library has no way to make one whose two readings moved by different amounts. instantLayout mirrors time.Time for
// that single purpose; layoutHolds checks once that the mirror is true, and where it is not, readings carry the wall
// clock only.
type instantLayout struct {
	wall uint64 // 1 bit "has monotonic", 33 bits seconds since 1885, 30 bits nanoseconds
	ext  int64  // monotonic reading
	loc  *time.Location
}

const (
	nanosecondBits = 30
	secondsMask    = 1<<33 - 1
	monotonicBit   = 1 << 63
)

var layoutHolds = checkLayout()

func checkLayout() bool {
	if unsafe.Sizeof(instantLayout{}) != unsafe.Sizeof(time.Time{}) {
		return false
	}
	base := time.Now()
	bent, ok := bend(base, 3*time.Second, 5*time.Second)
	return ok && bent.Sub(base) == 3*time.Second && bent.Round(0).Sub(base.Round(0)) == 5*time.Second
}

// instant returns base with its monotonic reading moved by monotonic and its wall reading moved by wall.
func instant(base time.Time, monotonic, wall time.Duration) time.Time {
	if layoutHolds {
		if t, ok := bend(base, monotonic, wall); ok {
			return t
		}
	}
	return base.Round(0).Add(wall)
}

// bend does the work of instant. It is false where the two readings do not fit into one value.
func bend(base time.Time, monotonic, wall time.Duration) (time.Time, bool) {
	t := base
	mirror := (*instantLayout)(unsafe.Pointer(&t))
	if mirror.wall&monotonicBit == 0 {
		return t, false
	}
	seconds := int64(mirror.wall << 1 >> (nanosecondBits + 1))
	nanoseconds := int64(mirror.wall&(1<<nanosecondBits-1)) + int64(wall%time.Second)
	seconds += int64(wall / time.Second)
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
	mirror.wall = monotonicBit | uint64(seconds)<<nanosecondBits | uint64(nanoseconds)
	mirror.ext += int64(monotonic)
	return t, true
}
