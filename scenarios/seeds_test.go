package scenarios

import (
	"testing"

	"pgregory.net/rapid"
)

func TestParseSeeds(t *testing.T) {
	for _, test := range []struct {
		text    string
		want    string
		length  int
		problem string
	}{
		{text: "7", want: "7", length: 1},
		{text: "1-500", want: "1-500", length: 500},
		{text: "3-3", want: "3", length: 1},
		{text: "1-50, 100-120,200", want: "1-50,100-120,200", length: 72},
		{text: "0-2", want: "0-2", length: 3},
		{text: "18446744073709551615", want: "18446744073709551615", length: 1},
		{text: "5-1", problem: `seeds "5-1": the range 5-1 ends before it begins: write 1-5`},
		{text: "", problem: `seeds "": "" is no seed: want a number, or a range such as 1-500`},
		{text: "1,", problem: `seeds "1,": "" is no seed: want a number, or a range such as 1-500`},
		{text: "-3", problem: `seeds "-3": "-3" is no seed: want a number, or a range such as 1-500`},
		{text: "1-x", problem: `seeds "1-x": "x" is no number: want a range such as 1-500`},
		{text: "1.5", problem: `seeds "1.5": "1.5" is no seed: want a number, or a range such as 1-500`},
		{text: "4-6,5", problem: `seeds "4-6,5": 5 does not come after 4-6: write them in rising order, each once`},
		{text: "9,3", problem: `seeds "9,3": 3 does not come after 9: write them in rising order, each once`},
		{
			text:    "0-18446744073709551615",
			problem: `seeds "0-18446744073709551615": more than 10000000 seeds; split them over several runs`,
		},
		{
			text:    "1-6000000,6000001-12000000",
			problem: `seeds "1-6000000,6000001-12000000": more than 10000000 seeds; split them over several runs`,
		},
	} {
		got, err := ParseSeeds(test.text)
		switch {
		case err != nil && err.Error() != test.problem:
			t.Errorf("ParseSeeds(%q): error %q, want %q", test.text, err, test.problem)
		case err == nil && test.problem != "":
			t.Errorf("ParseSeeds(%q) = %v, want the error %q", test.text, got, test.problem)
		case err == nil && (got.String() != test.want || got.Len() != test.length):
			t.Errorf("ParseSeeds(%q) = %v with %d seeds, want %s with %d", test.text, got, got.Len(), test.want, test.length)
		}
	}
}

// TestSeedsRoundTrip checks that what String writes is read back, and that At counts every seed once, rising.
func TestSeedsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seeds Seeds
		next := uint64(0)
		for range rapid.IntRange(1, 5).Draw(t, "ranges") {
			first := next + rapid.Uint64Range(0, 1000).Draw(t, "gap")
			last := first + rapid.Uint64Range(0, 50).Draw(t, "length")
			seeds = append(seeds, SeedRange{first, last})
			next = last + 1
		}
		again, err := ParseSeeds(seeds.String())
		if err != nil || again.String() != seeds.String() {
			t.Fatalf("%v is read back as %v, %v", seeds, again, err)
		}
		place := 0
		for _, r := range seeds {
			for seed := r.First; seed <= r.Last; seed++ {
				if got := seeds.At(place); got != seed {
					t.Fatalf("seed number %d of %v is %d, want %d", place, seeds, got, seed)
				}
				place++
			}
		}
		if place != seeds.Len() {
			t.Fatalf("%v has %d seeds, Len says %d", seeds, place, seeds.Len())
		}
	})
}
