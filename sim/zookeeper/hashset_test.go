package zookeeper

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestHashSetOrder replays what a Java HashSet was seen to do: a line with the buckets at the start and the names put
// in or, with a minus, taken out; a line with the members in order; one with the members of a clone.
func TestHashSetOrder(t *testing.T) {
	recorded, err := os.ReadFile("testdata/java-hashset.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(recorded)), "\n")
	for i := 0; i+2 < len(lines); i += 3 {
		words := strings.Fields(lines[i])
		buckets, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		var s hashSet
		for _, word := range words[1:] {
			if name, removed := strings.CutPrefix(word, "-"); removed {
				s.remove(name)
			} else {
				s.add(word, buckets)
			}
		}
		if got := "= " + strings.Join(s.list(nil), " "); got != lines[i+1] {
			t.Errorf("line %d: got\n%s\nwant\n%s", i+1, got, lines[i+1])
		}
		if got := "c " + strings.Join(s.listClone(nil), " "); got != lines[i+2] {
			t.Errorf("line %d, clone: got\n%s\nwant\n%s", i+1, got, lines[i+2])
		}
	}
}

// TestHashSetMembers compares with a map whatever is added and removed.
func TestHashSetMembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s hashSet
		members := map[string]bool{}
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			key := rapid.StringMatching(`[a-c]{0,4}`).Draw(t, "key")
			if members[key] {
				s.remove(key)
			} else {
				s.add(key, childBuckets)
			}
			members[key] = !members[key]
		}
		var want []string
		for key, in := range members {
			if in {
				want = append(want, key)
			}
		}
		got := s.list(nil)
		if clone := s.listClone(nil); len(clone) != len(got) || s.size != len(got) {
			t.Fatalf("size %d, list of %d, clone of %d", s.size, len(got), len(clone))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}
