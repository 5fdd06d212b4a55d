package scenarios

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// Baseline lists violations that are known and accepted for the time being, each with its reason. It stands beside what
// scenarios expect: a team keeps it with its own locks, in a file that is checked in. What it lists must show: a
// violation that does not show any more is a difference, as is one that it does not list.
type Baseline struct {
	Source string // the file that it is from
	Known  []KnownViolation
}

// KnownViolation is one entry of a baseline.
type KnownViolation struct {
	Scenario, Implementation string
	// What is a property that is violated, a mechanism by its name or its R number, or LeakAllowed.
	What   string
	Reason string
	place  string // file, line and column
}

// baselineDocument mirrors the file.
type baselineDocument struct {
	Known []struct {
		Scenario       text `yaml:"scenario"`
		Implementation text `yaml:"implementation"`
		Find           text `yaml:"find"`
		Reason         text `yaml:"reason"`
	} `yaml:"known"`
}

// ReadBaseline reads a baseline from a file.
func ReadBaseline(name string) (*Baseline, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", name, errors.Unwrap(err))
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileBytes {
		return nil, fmt.Errorf("baseline %s: it is no file of at most 1 MiB", name)
	}
	source, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("baseline %s: %w", name, errors.Unwrap(err))
	}
	return ParseBaseline(name, source)
}

// ParseBaseline reads a baseline. An error is one line with the file's name, line and column, and what to do.
func ParseBaseline(name string, source []byte) (*Baseline, error) {
	var d baselineDocument
	err := decode(source, &d, "a baseline")
	if err != nil && strings.TrimSpace(string(source)) != "" {
		return nil, fmt.Errorf("%s:%w", name, oneLine(err))
	}
	b := &Baseline{Source: name}
	for _, raw := range d.Known {
		k := KnownViolation{
			Scenario: raw.Scenario.value, Implementation: raw.Implementation.value, What: raw.Find.value,
			Reason: strings.Join(strings.Fields(raw.Reason.value), " "),
		}
		first := firstPlace(raw.Scenario, raw.Implementation, raw.Find, raw.Reason)
		k.place = fmt.Sprintf("%s:%d:%d", name, first.line, first.column)
		if place, err := k.check(first, raw.Scenario, raw.Implementation, raw.Find, raw.Reason); err != nil {
			return nil, fmt.Errorf("%s:%w", name, at(orPlace(place, first), err))
		}
		for _, other := range b.Known {
			if other.same(k) {
				return nil, fmt.Errorf("%s:%w", name, at(first, fmt.Errorf("%s, %s, %s is listed twice; the other is at %s",
					k.Scenario, k.Implementation, k.What, other.place)))
			}
		}
		b.Known = append(b.Known, k)
	}
	return b, nil
}

// firstPlace is the place that comes first in the file, or the first line where none is known.
func firstPlace(values ...text) text {
	first := text{line: 1, column: 1}
	known := false
	for _, v := range values {
		if v.line > 0 && (!known || v.line < first.line || v.line == first.line && v.column < first.column) {
			first, known = v, true
		}
	}
	return first
}

func orPlace(place, fallback text) text {
	if place.line == 0 {
		return fallback
	}
	return place
}

// check says what is wrong with an entry, and where.
func (k *KnownViolation) check(first, scenario, implementation, find, reason text) (text, error) {
	if !isName(k.Scenario) {
		return scenario, fmt.Errorf("scenario %q: want the name of a scenario", k.Scenario)
	}
	entry, err := catalogue.Lookup(k.Implementation)
	if err != nil {
		return implementation, fmt.Errorf("implementation: %w", err)
	}
	k.Implementation = entry.Name
	if !isProperty(k.What) && !isMechanism(k.What) && k.What != string(LeakAllowed) {
		return find, fmt.Errorf("find %q: want a property, a mechanism or %s", k.What, LeakAllowed)
	}
	if k.Reason == "" {
		return orPlace(reason, first), errors.New("reason: say why this violation is accepted")
	}
	return first, nil
}

// same tells whether two entries are about the same.
func (k KnownViolation) same(other KnownViolation) bool {
	return k.Scenario == other.Scenario && k.Implementation == other.Implementation && k.What == other.What
}

// of lists the entries for a row.
func (b *Baseline) of(scenario, implementation string) []KnownViolation {
	if b == nil {
		return nil
	}
	var known []KnownViolation
	for _, k := range b.Known {
		if k.Scenario == scenario && k.Implementation == implementation {
			known = append(known, k)
		}
	}
	return known
}

// Updated is the baseline with which the rows come out as they did: what is violated and was not expected is added with
// a reason, what did not show in a row that was run to its end is taken out. Entries of other rows stay.
func (b *Baseline) Updated(rows []*Row, reason string) *Baseline {
	updated := &Baseline{}
	if b != nil {
		updated.Source = b.Source
		for _, k := range b.Known {
			if row := rowOf(rows, k); row == nil || !row.complete() || row.Shows(k.What) {
				updated.Known = append(updated.Known, k)
			}
		}
	}
	for _, row := range rows {
		for _, r := range row.Judgement.Reasons {
			if r.Property == "" {
				continue
			}
			k := KnownViolation{
				Scenario: row.Scenario.Name, Implementation: row.Implementation, What: string(r.Property), Reason: reason,
			}
			if !slices.ContainsFunc(updated.Known, k.same) {
				updated.Known = append(updated.Known, k)
			}
		}
	}
	slices.SortStableFunc(updated.Known, func(x, y KnownViolation) int {
		return slices.Compare([]string{x.Scenario, x.Implementation, x.What}, []string{y.Scenario, y.Implementation, y.What})
	})
	return updated
}

func rowOf(rows []*Row, k KnownViolation) *Row {
	for _, row := range rows {
		if row.Scenario.Name == k.Scenario && row.Implementation == k.Implementation {
			return row
		}
	}
	return nil
}

// complete tells whether every seed of the row was run.
func (row *Row) complete() bool { return row.Ran > 0 && row.Ran == row.Seeds.Len() }

// Shows tells whether some seed of the row showed a mechanism, a violated property or a leak.
func (row *Row) Shows(what string) bool {
	if what == string(LeakAllowed) {
		return len(row.Leaks) > 0
	}
	_, found := row.firstOf(what)
	return found
}

// String renders the baseline as ParseBaseline reads it.
func (b *Baseline) String() string {
	var text strings.Builder
	text.WriteString("# Violations that are known and accepted. Each must show: lockstep run --baseline reports one\n" +
		"# that does not show any more, and every one that is not listed.\n")
	if len(b.Known) == 0 {
		text.WriteString("known: []\n")
		return text.String()
	}
	text.WriteString("known:\n")
	for _, k := range b.Known {
		fmt.Fprintf(&text, "  - scenario: %s\n    implementation: %s\n    find: %s\n    reason: %s\n", k.Scenario,
			quoteYAML(k.Implementation), k.What, quoteYAML(k.Reason))
	}
	return text.String()
}

// quoteYAML quotes a text in the way that both YAML and Go read, unless it is plain.
func quoteYAML(plain string) string {
	for _, r := range plain {
		if r > '~' || !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.!+ ", r) {
			return doubleQuoted(plain)
		}
	}
	if plain == "" || strings.TrimLeft(plain, " -!.+0123456789") != plain || strings.HasSuffix(plain, " ") ||
		slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off"}, strings.ToLower(plain)) {
		return doubleQuoted(plain)
	}
	return plain
}

func doubleQuoted(plain string) string {
	var quoted strings.Builder
	quoted.WriteByte('"')
	for _, r := range plain {
		switch {
		case r == '"' || r == '\\':
			quoted.WriteByte('\\')
			quoted.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&quoted, `\x%02x`, r)
		default:
			quoted.WriteRune(r)
		}
	}
	quoted.WriteByte('"')
	return quoted.String()
}

// unmet lists the entries of a row that no seed showed.
func (row *Row) unmet() []KnownViolation {
	var unmet []KnownViolation
	for _, k := range row.Known {
		if !row.Shows(k.What) {
			unmet = append(unmet, k)
		}
	}
	return unmet
}

// known lists the properties that may be violated because of an entry: the property itself, or those that the
// mechanism broke.
func (row *Row) known() []checker.Property {
	var properties []checker.Property
	for _, k := range row.Known {
		properties = append(properties, checker.Property(k.What))
		for _, m := range row.Mechanisms {
			if isNamed(m.Mechanism, k.What) {
				properties = append(properties, m.Properties...)
			}
		}
	}
	return properties
}
