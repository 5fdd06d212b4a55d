package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/faults"
)

// YAML writes the scenario as a file that Parse reads back to an equal one, whatever file it was read from: a scenario
// that was changed in memory is a file again. What stands at its default is left out, and so are comments.
func (s *Scenario) YAML() []byte {
	var w yamlWriter
	w.key("name", s.Name)
	if s.About != "" {
		w.line("about: %s", quoted(s.About))
	}
	if s.Server != redisMachine {
		w.key("server", s.Server)
	}
	if s.Servers > 1 {
		w.line("servers: %d", s.Servers)
	}
	w.line("lock: {name: %s, lease: %s}", quoted(s.Lock), spanText(s.Lease))
	w.line("clients: %d", s.Clients)
	w.sharing(s)
	if !s.TimeServer {
		w.key("timeserver", "false")
	}
	w.key("network", rangeText(s.Latency))
	w.programs(s)
	if len(s.Differ) > 0 {
		w.line("differ:")
		for _, machine := range sortedKeys(s.Differ) {
			w.line("  %s: %s", machine, yamlMap(s.Differ[machine]))
		}
	}
	w.faults("", s.Faults)
	if s.Strategy != "" {
		w.key("strategy", s.Strategy)
	}
	w.key("heal", spanText(s.Heal))
	w.key("until", spanText(s.Until))
	w.key("grace", spanText(s.Grace))
	w.expectations(s.Implementations)
	return []byte(w.String())
}

// yamlWriter writes lines.
type yamlWriter struct{ strings.Builder }

func (w *yamlWriter) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *yamlWriter) key(name, value string) { w.line("%s: %s", name, value) }

// sharing writes what clients and their threads have in common, and what their library does by itself.
func (w *yamlWriter) sharing(s *Scenario) {
	switch {
	case s.PrefixIdentity:
		w.key("identity", "prefixes")
	case s.SharedIdentity:
		w.key("identity", "shared")
	}
	if s.SharedRandom {
		w.key("random", "shared")
	}
	if !s.Threads.areOwners() {
		w.key("threads", string(s.Threads))
	}
	if s.Retries > 0 {
		w.key("retries", strconv.Itoa(s.Retries))
	}
	if s.Swarm != nil {
		w.key("swarm", faults.KindsText(s.Swarm))
	}
}

// programs writes one line for each program; clients that do the same share theirs.
func (w *yamlWriter) programs(s *Scenario) {
	w.line("program:")
	texts := map[string]string{}
	for name, program := range s.Programs { // order-free: a map is made of a map
		texts[name] = program.String()
	}
	names := programNames(s.Programs)
	for i, name := range names {
		if slices.ContainsFunc(names[:i], func(n string) bool { return texts[n] == texts[name] }) {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return texts[n] != texts[name] })
		w.line("  %s: [%s]", strings.Join(same, ", "), texts[name])
	}
}

// programNames sorts the names of programs by the number of their machine: c2 comes before c10.
func programNames(programs map[string]Program) []string {
	names := sortedKeys(programs)
	slices.SortStableFunc(names, func(a, b string) int {
		machineA, _, _ := strings.Cut(a, "/")
		machineB, _, _ := strings.Cut(b, "/")
		return len(machineA) - len(machineB)
	})
	return names
}

// String renders the program as the list of a scenario: its steps, and how often they are run.
func (p Program) String() string {
	words := make([]string, 0, len(p.Steps)+1)
	for _, step := range p.Steps {
		words = append(words, step.String())
	}
	switch p.Rounds {
	case 0:
		words = append(words, "repeat")
	case 1:
	default:
		words = append(words, fmt.Sprintf("repeat %d", p.Rounds))
	}
	return strings.Join(words, ", ")
}

// faults writes a block of faults. An empty one is written only where it replaces another.
func (w *yamlWriter) faults(indent string, templates []faults.Template) {
	switch {
	case templates == nil:
		return
	case len(templates) == 0:
		w.line(`%sfaults: ""`, indent)
		return
	}
	w.line("%sfaults: |", indent)
	for _, template := range templates {
		w.line("%s  %s", indent, template)
	}
}

func (w *yamlWriter) expectations(all []Expectation) {
	if len(all) == 0 {
		return
	}
	w.line("implementations:")
	for _, e := range all {
		if e.Knobs == nil && e.Faults == nil && len(e.Find) == 0 && len(e.Allow) == 0 && e.Why == "" {
			w.line("  %s: {}", e.Implementation)
			continue
		}
		w.line("  %s:", e.Implementation)
		if e.Knobs != nil {
			w.line("    knobs: %s", yamlMap(e.Knobs))
		}
		w.faults("    ", e.Faults)
		if len(e.Find) > 0 {
			finds := make([]string, len(e.Find))
			for i, find := range e.Find {
				finds[i] = fmt.Sprintf("%s: %d", find.What, find.Within)
			}
			w.line("    find: {%s}", strings.Join(finds, ", "))
		}
		if len(e.Allow) > 0 {
			w.line("    allow: [%s]", joinProperties(e.Allow))
		}
		if e.Why != "" {
			w.line("    why: %s", quoted(e.Why))
		}
	}
}

func joinProperties(properties []checker.Property) string {
	words := make([]string, len(properties))
	for i, p := range properties {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}

// yamlMap writes a map on one line.
func yamlMap(m map[string]string) string {
	var pairs []string
	for _, key := range sortedKeys(m) {
		pairs = append(pairs, quoted(key)+": "+quoted(m[key]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// quoted writes a text between double quotes, in the escapes that YAML shares with JSON; a plain word needs none.
func quoted(text string) string {
	if isName(text) && text != "true" && text != "false" && text != "null" && text != "on" && text != "off" &&
		text != "yes" && text != "no" && strings.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz") {
		return text
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return `""` // a string can always be encoded
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// spanText writes a duration as parseSpan reads it, without what Go writes too much: 2m, not 2m0s.
func spanText(d time.Duration) string {
	text := strings.Replace(d.String(), "µs", "us", 1)
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
