package sim

import (
	"math/bits"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Stream is a keyed source of integers. Its numbers depend on the run's seed and its own label only, so a draw more
// in one stream moves no other.
//
// A Stream belongs to one goroutine at a time.
type Stream struct {
	state uint64
	draws uint64
}

// NewStream returns the stream of a label under a seed.
func NewStream(seed uint64, label string) *Stream {
	return &Stream{state: mix(seed ^ mix(xxhash.Sum64String(label)))}
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood, 2014): a bijection that spreads every bit.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 returns the next 64 bits.
func (s *Stream) Uint64() uint64 {
	s.draws++
	out := mix(s.state)
	s.state += 0x9e3779b97f4a7c15
	return out
}

// Draws tells how many numbers were taken.
func (s *Stream) Draws() uint64 { return s.draws }

// Between returns a number in [low, high], each equally likely to within 2^-64. It takes exactly one draw, also when
// low equals high, so that a changed range moves nothing after it. high < low counts as low.
func (s *Stream) Between(low, high int64) int64 {
	n := s.Uint64()
	if high <= low {
		return low
	}
	span := uint64(high-low) + 1
	if span == 0 {
		return int64(n)
	}
	offset, _ := bits.Mul64(n, span)
	return low + int64(offset)
}

// Duration returns a duration in r.
func (s *Stream) Duration(r Range) time.Duration {
	return time.Duration(s.Between(int64(r.Min), int64(r.Max)))
}

// Chance is true in numerator of denominator draws.
func (s *Stream) Chance(numerator, denominator int64) bool {
	return s.Between(1, denominator) <= numerator
}

// Read fills p, so that a Stream serves as the io.Reader of random tokens. It never fails.
func (s *Stream) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += 8 {
		word := s.Uint64()
		for j := i; j < len(p) && j < i+8; j++ {
			p[j] = byte(word)
			word >>= 8
		}
	}
	return len(p), nil
}

// Range is a closed interval of durations.
type Range struct{ Min, Max time.Duration }

// Fixed is the range of one value.
func Fixed(d time.Duration) Range { return Range{d, d} }

// Mix folds two numbers into a running hash.
func Mix(h, a, b uint64) uint64 { return mix(mix(h^a) ^ b) }
