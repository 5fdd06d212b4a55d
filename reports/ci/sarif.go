package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/lockstep-sim/lockstep/internal/visible"
)

// The objects of SARIF 2.1.0, as far as they are used.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string       `json:"id"`
		ShortDescription sarifMessage `json:"shortDescription"`
		FullDescription  sarifMessage `json:"fullDescription"`
		Help             sarifMessage `json:"help"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool `json:"executionSuccessful"`
		ExitCode            int  `json:"exitCode"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		RuleIndex    int               `json:"ruleIndex"`
		Level        string            `json:"level"`
		Message      sarifMessage      `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
		Properties   sarifBag          `json:"properties"`
	}
	sarifLocation struct {
		Physical sarifPhysical  `json:"physicalLocation"`
		Logical  []sarifLogical `json:"logicalLocations"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifLogical struct {
		FullyQualifiedName string `json:"fullyQualifiedName"`
		Kind               string `json:"kind"`
	}
	sarifBag struct {
		Scenario       string   `json:"scenario"`
		Implementation string   `json:"implementation"`
		Kind           string   `json:"kind"`
		Seeds          string   `json:"seeds,omitempty"`
		Command        string   `json:"command,omitempty"`
		Folder         string   `json:"folder,omitempty"`
		Plan           []string `json:"plan,omitempty"`
	}
)

const (
	sarifSchema    = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	sarifVersion   = "2.1.0"
	informationURI = "https://github.com/lockstep-sim/lockstep"
	// fingerprintKey names what the fingerprint is made of; another recipe gets another name.
	fingerprintKey = "lockstep/v1"
	// mostResults is how many results GitHub takes of one run.
	mostResults = 25_000
)

// descriptions explain the rules: properties of locks, and kinds of problems that are about no property.
var descriptions = map[string]string{
	"mutual-exclusion":  "Two clients believed at the same time that they held the lock.",
	"linearizability":   "No order of the operations explains all answers of the lock.",
	"release":           "A client freed what another one held.",
	"resource":          "The protected resource was written to by a client that was not the holder any more.",
	"resource-fenced":   "A stale write passed the check of tokens at the protected resource.",
	"token-order":       "A later holder got a token that was not larger.",
	"order":             "A client was overtaken by one that had asked later.",
	"liveness":          "A lock that was wanted stayed nobody's although all faults were over.",
	"leaks":             "A run left goroutines behind.",
	"not-found":         "What the scenario says must be found was not found.",
	"unexpected-pass":   "A violation that the baseline lists does not show any more.",
	"failed":            "A run could not be finished.",
	"not-deterministic": "A seed ran differently when it was run again.",
	"untested":          "Something was not put to the test, or not often enough.",
	"interrupted":       "The campaign was broken off.",
	"nothing-ran":       "Not one seed was run.",
}

// WriteSARIF writes the problems of the campaign as a SARIF 2.1.0 log.
func WriteSARIF(w io.Writer, c *Campaign) error {
	run := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "lockstep", Version: c.Version, InformationURI: informationURI, Rules: []sarifRule{},
		}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: c.Complete, ExitCode: c.ExitCode}},
		Results:     []sarifResult{},
		ColumnKind:  "unicodeCodePoints",
	}
	index := map[string]int{}
	problems := c.problems()
	for _, x := range problems[:min(len(problems), mostResults)] {
		id := x.problem.rule()
		if _, known := index[id]; !known {
			index[id] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(id))
		}
		run.Results = append(run.Results, sarifOf(x, id, index[id]))
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(sarifLog{sarifSchema, sarifVersion, []sarifRun{run}})
}

func sarifRuleOf(id string) sarifRule {
	description := descriptions[id]
	if description == "" {
		description = "The property " + id + " of the lock is violated."
	}
	return sarifRule{
		ID: id, ShortDescription: sarifMessage{strings.ReplaceAll(id, "-", " ")},
		FullDescription: sarifMessage{description},
		Help:            sarifMessage{description + " The command in the message runs it again and tells it step by step."},
	}
}

// sarifOf is the result for a problem.
func sarifOf(x placed, rule string, index int) sarifResult {
	text := visible.Line(x.row.Scenario + ", " + x.row.Implementation + ": " + x.problem.Text)
	if x.problem.Command != "" {
		text += "\nRun it again: " + visible.Line(x.problem.Command)
	}
	return sarifResult{
		RuleID: rule, RuleIndex: index, Level: string(x.problem.Severity), Message: sarifMessage{text},
		Locations: []sarifLocation{{
			Physical: sarifPhysical{sarifArtifact{fileURI(x.row.File)}, sarifRegion{max(x.row.Line, 1)}},
			Logical: []sarifLogical{{
				FullyQualifiedName: visible.Line(x.row.Scenario + "/" + x.row.Implementation), Kind: "module",
			}},
		}},
		Fingerprints: map[string]string{fingerprintKey: fingerprint(x)},
		Properties: sarifBag{
			Scenario: visible.Line(x.row.Scenario), Implementation: visible.Line(x.row.Implementation), Kind: x.problem.Kind,
			Seeds: x.problem.Seeds, Command: visible.Line(x.problem.Command), Folder: visible.Line(x.problem.Folder),
			Plan: visibleLines(x.problem.Plan),
		},
	}
}

func visibleLines(texts []string) []string {
	var lines []string
	for _, text := range texts {
		lines = append(lines, visible.Line(text))
	}
	return lines
}

// fingerprint is the same for the same problem whatever the seeds, the counts and the words are.
func fingerprint(x placed) string {
	sum := sha256.New()
	for _, part := range []string{x.row.Scenario, x.row.Implementation, x.problem.Kind, x.problem.Property} {
		_, _ = io.WriteString(sum, part+"\x00") // it never fails
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// fileURI is the reference to a file below the folder where the command was run. Of a file elsewhere only the name is
// told: the rest is a matter of the machine.
func fileURI(file string) string {
	file = path.Clean(strings.ReplaceAll(file, "\\", "/"))
	if path.IsAbs(file) || file == ".." || strings.HasPrefix(file, "../") || strings.Contains(file, ":/") {
		file = path.Base(file)
	}
	return (&url.URL{Path: file}).EscapedPath()
}
