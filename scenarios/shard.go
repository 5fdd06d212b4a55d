package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of several parts of a campaign, which other machines may run. Each seed belongs to one part, and a
// part is the same whatever other seeds there are: part i of n has the seeds that leave the same rest as i when
// divided by n. The zero value is the whole.
type Shard struct {
	Index, Count int // Index counts from 1
}

// mostShards bounds the number of parts.
const mostShards = 10_000

// ParseShard reads a part, such as 2/4: the second of four.
func ParseShard(text string) (Shard, error) {
	index, count, found := strings.Cut(text, "/")
	i, err := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !found || err != nil || err2 != nil || i < 1 || n < i || n > mostShards {
		return Shard{}, fmt.Errorf("part %q: want one part of several, from 1/4 to 4/4, of at most %d", text, mostShards)
	}
	return Shard{i, n}, nil
}

// String renders the part as ParseShard reads it; the whole is 1/1.
func (s Shard) String() string {
	if s.Whole() {
		return "1/1"
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}

// Whole tells whether the part is all there is.
func (s Shard) Whole() bool { return s.Count <= 1 }

// Has tells whether a seed belongs to the part.
func (s Shard) Has(seed uint64) bool {
	return s.Whole() || seed%uint64(s.Count) == uint64(s.Index)%uint64(s.Count)
}
