package zookeeper

import "unicode/utf16"

// hashSet is a set of strings that lists its members in the order in which a Java HashSet lists them: by bucket of a
// table that only grows, and within a bucket by age. ZooKeeper lists children, and removes the ephemeral nodes of a
// session, in the order of such a set, and a lock that forgets to sort must not be helped by a sorted answer.
//
// Not modelled is the order within a bucket of more than eight names in a table of at least 64, which Java keeps as a
// tree; short sequential names do not collide like that.
type hashSet struct {
	table []*hashEntry
	size  int
}

type hashEntry struct {
	key  string
	hash uint32
	next *hashEntry
}

// Java's own numbers.
const (
	defaultBuckets  = 16 // of a HashSet that was not told
	childBuckets    = 8  // of the children of a node
	crowdedBucket   = 8  // entries from which on a small table grows before its time
	smallestForTree = 64 // buckets from which on a table counts as large
)

// javaHash is String.hashCode with its high half folded in, as HashMap does.
func javaHash(s string) uint32 {
	h := uint32(0)
	for i := range len(s) {
		if s[i] >= 0x80 {
			return fold(javaHashWide(s))
		}
		h = 31*h + uint32(s[i])
	}
	return fold(h)
}

func javaHashWide(s string) uint32 {
	h := uint32(0)
	for _, unit := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(unit)
	}
	return h
}

func fold(h uint32) uint32 { return h ^ h>>16 }

// add puts in a key that is not there. buckets is the size of the table when the set is new.
func (s *hashSet) add(key string, buckets int) {
	if s.table == nil {
		s.table = make([]*hashEntry, buckets)
	}
	e := &hashEntry{key: key, hash: javaHash(key)}
	place, crowd := s.bucket(e.hash), 0
	for *place != nil {
		place, crowd = &(*place).next, crowd+1
	}
	*place = e
	if crowd >= crowdedBucket && len(s.table) < smallestForTree {
		s.grow()
	}
	if s.size++; s.size > len(s.table)/4*3 {
		s.grow()
	}
}

func (s *hashSet) bucket(hash uint32) **hashEntry { return &s.table[hash&uint32(len(s.table)-1)] }

// grow doubles the table. Entries of one bucket keep their order.
func (s *hashSet) grow() {
	old := s.table
	s.table = make([]*hashEntry, 2*len(old))
	for i, e := range old {
		low, high := &s.table[i], &s.table[i+len(old)]
		for e != nil {
			next := e.next
			e.next = nil
			if e.hash&uint32(len(old)) == 0 {
				*low, low = e, &e.next
			} else {
				*high, high = e, &e.next
			}
			e = next
		}
	}
}

// remove takes a key out, if it is there.
func (s *hashSet) remove(key string) {
	if s.table == nil {
		return
	}
	for place := s.bucket(javaHash(key)); *place != nil; place = &(*place).next {
		if (*place).key == key {
			*place = (*place).next
			s.size--
			return
		}
	}
}

// list appends the members in order.
func (s *hashSet) list(to []string) []string {
	for _, e := range s.table {
		for ; e != nil; e = e.next {
			to = append(to, e.key)
		}
	}
	return to
}

// listClone appends the members in the order of a clone of the set, whose table is as large as its size asks for and
// not as it once was.
func (s *hashSet) listClone(to []string) []string {
	if s.size == 0 {
		return to
	}
	buckets := 1
	for buckets < s.size*4/3+1 {
		buckets *= 2
	}
	clone := hashSet{}
	for _, key := range s.list(nil) {
		clone.add(key, buckets)
	}
	return clone.list(to)
}
