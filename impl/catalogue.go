package impl

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Entry is what the catalogue says of one implementation.
type Entry struct {
	Name    string // "redis/getset"
	Backend string // "redis" or "zookeeper"
	About   string // one line
	// Promises are what its users are told; a scenario judges only what is promised.
	Promises Promises
	Knobs    []Knob
	// Ablations are the safeguards that can be switched off by name. Entry.Name + "!" + Ablation.Name names the
	// crippled lock.
	Ablations []Ablation
	// Servers says that the lock can be kept on several servers, and then uses Environment.Redises.
	Servers bool
	// TimeServer says that the lock asks the time service of Environment.TimeServer.
	TimeServer bool
	// Ablated names the safeguards that are off in every lock that New makes. It is set by Catalogue.Lookup.
	Ablated []string
	// New makes a handle. It connects nothing: the first call that needs a server dials it.
	New func(env Environment, settings Settings) (Lock, error)
}

// Promises are the guarantees that an implementation claims.
type Promises struct {
	Reentrant bool // the owner may lock again; as many unlocks free it
	Fenced    bool // it is a Fenced lock
	Leased    bool // a hold ends by itself after the lease
	Fair      bool // order of entry is order of arrival
	LossTold  bool // it is a Lossy lock
}

// Knob is a setting beyond the lease.
type Knob struct{ Name, Default, About string }

// Ablation is one safeguard that can be switched off, to prove that the bench notices.
type Ablation struct{ Name, About string }

// Validate checks settings against what the entry knows: a name, a lease, known knobs, known ablations.
func (e Entry) Validate(s Settings) error {
	if s.Name == "" {
		return fmt.Errorf("%s: Settings.Name is empty; give the lock a name", e.Name)
	}
	if s.Lease <= 0 {
		return fmt.Errorf("%s: Settings.Lease is %v; it must be above zero", e.Name, s.Lease)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Knobs)) {
		if !slices.Contains(e.knobNames(), name) {
			return fmt.Errorf("%s: no knob named %q; %s", e.Name, name, nearest(name, e.knobNames()))
		}
	}
	for _, name := range s.Ablations {
		if !slices.Contains(e.ablationNames(), name) {
			return fmt.Errorf("%s: no ablation named %q; %s", e.Name, name, nearest(name, e.ablationNames()))
		}
	}
	return nil
}

func (e Entry) knobNames() []string {
	names := make([]string, 0, len(e.Knobs))
	for _, knob := range e.Knobs {
		names = append(names, knob.Name)
	}
	return names
}

func (e Entry) ablationNames() []string {
	names := make([]string, 0, len(e.Ablations))
	for _, ablation := range e.Ablations {
		names = append(names, ablation.Name)
	}
	return names
}

// ablate returns the entry whose locks lack the named safeguards.
func (e Entry) ablate(names []string) (Entry, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	for i, name := range names {
		if !slices.Contains(e.ablationNames(), name) {
			return Entry{}, fmt.Errorf("%s: no ablation named %q; %s", e.Name, name, nearest(name, e.ablationNames()))
		}
		if i > 0 && names[i-1] == name {
			return Entry{}, fmt.Errorf("%s: the ablation %q is named twice; name it once", e.Name, name)
		}
	}
	whole := e.New
	e.Ablated = names
	e.Name += ablationMark + strings.Join(names, ablationJoin)
	e.New = func(env Environment, s Settings) (Lock, error) {
		s.Ablations = append(slices.Clone(s.Ablations), names...)
		return whole(env, s)
	}
	return e, nil
}

// How the name of a crippled lock is written: redis/getset-repaired!no-loss-report+token-reused.
const (
	ablationMark = "!"
	ablationJoin = "+"
)

// Catalogue is a set of implementations, found by name.
type Catalogue struct{ entries []Entry } // sorted by name

// NewCatalogue makes a catalogue. The names of the entries must be distinct, free of the marks of Lookup and not empty.
func NewCatalogue(entries ...Entry) (*Catalogue, error) {
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	for i, entry := range sorted {
		switch {
		case entry.Name == "" || strings.ContainsAny(entry.Name, ablationMark+ablationJoin+" \t\n"):
			return nil, fmt.Errorf("impl: %q cannot be the name of a lock: it is empty or holds a space, %q or %q",
				entry.Name, ablationMark, ablationJoin)
		case entry.New == nil:
			return nil, fmt.Errorf("impl: the entry %q has no New", entry.Name)
		case i > 0 && sorted[i-1].Name == entry.Name:
			return nil, fmt.Errorf("impl: two entries are named %q", entry.Name)
		}
	}
	return &Catalogue{sorted}, nil
}

// List returns all entries, sorted by name. Crippled locks are not listed: see Entry.Ablations.
func (c *Catalogue) List() []Entry { return slices.Clone(c.entries) }

// Lookup finds an implementation. A name may end in "!" and the safeguards to switch off, joined by "+", as in
// "redis/getset-repaired!no-loss-report+token-reused": the entry returned then makes locks that lack them, and its
// name holds them in sorted order.
func (c *Catalogue) Lookup(name string) (Entry, error) {
	base, ablations, crippled := strings.Cut(name, ablationMark)
	i, found := slices.BinarySearchFunc(c.entries, base, func(e Entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	if !found {
		return Entry{}, fmt.Errorf("no lock named %q; %s", base, nearest(base, c.names()))
	}
	if !crippled {
		return c.entries[i], nil
	}
	return c.entries[i].ablate(strings.Split(ablations, ablationJoin))
}

func (c *Catalogue) names() []string {
	names := make([]string, 0, len(c.entries))
	for _, entry := range c.entries {
		names = append(names, entry.Name)
	}
	return names
}
