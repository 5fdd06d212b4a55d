package scenarios

import (
	"fmt"
	"strconv"
	"strings"
)

// SeedRange is the seeds from First to Last, both included.
type SeedRange struct{ First, Last uint64 }

// Seeds is a set of seeds: ranges in rising order that do not touch each other's seeds.
type Seeds []SeedRange

// SeedsUpTo is the seeds 1 to n.
func SeedsUpTo(n int) Seeds {
	if n < 1 {
		return nil
	}
	return Seeds{{1, uint64(n)}}
}

// maxSeeds bounds how many seeds one set may hold: the results of each are kept until its row is judged.
const maxSeeds = 10_000_000

// ParseSeeds reads ranges and single seeds with commas between them, such as "1-500", "7" or "1-50,100-120".
func ParseSeeds(text string) (Seeds, error) {
	var seeds Seeds
	total := uint64(0)
	for part := range strings.SplitSeq(text, ",") {
		r, err := parseSeedRange(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("seeds %q: %w", text, err)
		}
		if n := len(seeds); n > 0 && r.First <= seeds[n-1].Last {
			return nil, fmt.Errorf("seeds %q: %s does not come after %s: write them in rising order, each once",
				text, r, seeds[n-1])
		}
		if r.Last-r.First >= maxSeeds || total+r.Last-r.First >= maxSeeds {
			return nil, fmt.Errorf("seeds %q: more than %d seeds; split them over several runs", text, maxSeeds)
		}
		total += r.Last - r.First + 1
		seeds = append(seeds, r)
	}
	return seeds, nil
}

func parseSeedRange(text string) (SeedRange, error) {
	from, to, isRange := strings.Cut(text, "-")
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return SeedRange{}, fmt.Errorf("%q is no seed: want a number, or a range such as 1-500", text)
	}
	if !isRange {
		return SeedRange{first, first}, nil
	}
	last, err := strconv.ParseUint(to, 10, 64)
	if err != nil {
		return SeedRange{}, fmt.Errorf("%q is no number: want a range such as 1-500", to)
	}
	if last < first {
		return SeedRange{}, fmt.Errorf("the range %s ends before it begins: write %d-%d", text, last, first)
	}
	return SeedRange{first, last}, nil
}

// String renders the range as ParseSeeds reads it.
func (r SeedRange) String() string {
	if r.First == r.Last {
		return strconv.FormatUint(r.First, 10)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

// String renders the set as ParseSeeds reads it.
func (s Seeds) String() string {
	parts := make([]string, len(s))
	for i, r := range s {
		parts[i] = r.String()
	}
	return strings.Join(parts, ",")
}

// Len counts the seeds.
func (s Seeds) Len() int {
	n := uint64(0)
	for _, r := range s {
		n += r.Last - r.First + 1
	}
	return int(n)
}

// At is the i-th seed, from 0.
func (s Seeds) At(i int) uint64 {
	rest := uint64(i)
	for _, r := range s {
		if size := r.Last - r.First + 1; rest >= size {
			rest -= size
			continue
		}
		return r.First + rest
	}
	panic(fmt.Sprintf("seed number %d of %d", i, s.Len()))
}
