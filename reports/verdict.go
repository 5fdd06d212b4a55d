package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// verdictSchema is the version of verdict.json.
const verdictSchema = "lockstep-verdict/1"

// verdictDocument is verdict.json. Times are nanoseconds of true time since the start of the run.
type verdictDocument struct {
	Schema         string              `json:"schema"`
	Scenario       string              `json:"scenario,omitempty"`
	Implementation string              `json:"implementation,omitempty"`
	Seed           uint64              `json:"seed"`
	Transport      string              `json:"transport,omitempty"`
	Hash           string              `json:"hash"` // of the run, 16 hexadecimal digits
	Result         checker.Result      `json:"result"`
	Plan           []string            `json:"plan"` // the faults, one each
	Verdicts       []checker.Verdict   `json:"verdicts"`
	Mechanisms     []mechanismDocument `json:"mechanisms"`
}

// mechanismDocument is one violation explained.
type mechanismDocument struct {
	Name     string           `json:"name"`
	Number   string           `json:"number"`
	About    string           `json:"about"`
	Property checker.Property `json:"property"`
	Text     string           `json:"text"`
	Events   []int64          `json:"events"`
	// From and To are those of the violation that it explains.
	From time.Duration `json:"from"`
	To   time.Duration `json:"to"`
}

// writeVerdict writes verdict.json. Equal runs give equal bytes.
func writeVerdict(w io.Writer, run *Run) error {
	header := &run.History.Header
	document := verdictDocument{
		Schema: verdictSchema, Scenario: header.Scenario, Implementation: header.Implementation, Seed: header.Seed,
		Transport: header.Transport, Hash: fmt.Sprintf("%016x", run.Hash), Result: checker.Overall(run.Verdicts),
		Plan: append([]string{}, header.Plan...), Verdicts: append([]checker.Verdict{}, run.Verdicts...),
		Mechanisms: []mechanismDocument{},
	}
	for _, f := range run.Findings {
		document.Mechanisms = append(document.Mechanisms, mechanismDocument{
			Name: f.Mechanism.Name, Number: f.Mechanism.Ref, About: f.Mechanism.About, Property: f.Property, Text: f.Text,
			Events: append([]int64{}, f.Events...), From: f.Violation.From, To: f.Violation.To,
		})
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}
