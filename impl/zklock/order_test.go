package zklock

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSequence(t *testing.T) {
	for _, test := range []struct {
		name   string
		number int32
		ok     bool
	}{
		{"lock-0000000000", 0, true},
		{"lock-0000000017", 17, true},
		{"lock-2147483647", math.MaxInt32, true},
		{"lock--2147483648", math.MinInt32, true},
		{"lock--000000001", -1, true},
		{"lock-1", 0, false},
		{"lock-00000000017", 0, false},
		{"lock-2147483648", 0, false},
		{"lock--0000000001", 0, false},
		{"lock-+000000001", 0, false},
		{"lock-000000000x", 0, false},
		{"lock-", 0, false},
		{"", 0, false},
		{"a-0000000001", 0, false},
		{"_c_0123456789abcdef0123456789abcdef-lock-0000000001", 0, false},
	} {
		number, ok := sequence(test.name, "lock-")
		if ok != test.ok || ok && number != test.number {
			t.Errorf("%q: %d, %v", test.name, number, ok)
		}
	}
}

// FuzzSequence: what is read as a number is what the server writes for that number.
func FuzzSequence(f *testing.F) {
	for _, name := range []string{"lock-0000000001", "lock--2147483648", "-0000000001", "x"} {
		f.Add(name, "lock-")
	}
	f.Fuzz(func(t *testing.T, name, prefix string) {
		number, ok := sequence(name, prefix)
		if ok && fmt.Sprintf("%s%010d", prefix, number) != name {
			t.Errorf("%q after %q is not %d", name, prefix, number)
		}
	})
}

// TestBefore: the order of creation, wherever the counter stands, also past its end.
func TestBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int32().Draw(t, "first")
		later := rapid.Int32Range(1, math.MaxInt32).Draw(t, "later")
		second := first + later
		if !before(first, second) || before(second, first) || before(first, first) {
			t.Fatalf("%d and then %d", first, second)
		}
	})
}

// TestPlaces sorts what the server has given out one after the other.
func TestPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		next := rapid.Int32().Draw(t, "first")
		var made []string
		for range rapid.IntRange(0, 8).Draw(t, "nodes") {
			made = append(made, fmt.Sprintf("lock-%010d", next))
			next += rapid.Int32Range(1, 1000).Draw(t, "gap")
		}
		listed := append(rapid.Permutation(made).Draw(t, "order"), "config", "a-0000000001")
		var got []string
		for _, place := range (&site{name: "lock-"}).places(listed) {
			got = append(got, place.name)
		}
		if diff := cmp.Diff(made, got); diff != "" {
			t.Fatal(diff)
		}
	})
}
