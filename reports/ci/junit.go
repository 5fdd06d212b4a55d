package ci

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/lockstep-sim/lockstep/internal/visible"
)

// The elements of JUnit's XML.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Skipped    int             `xml:"skipped,attr"`
		File       string          `xml:"file,attr,omitempty"`
		Properties []junitProperty `xml:"properties>property"`
		Case       junitCase       `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Name    string      `xml:"name,attr"`
		Class   string      `xml:"classname,attr"`
		Skipped *junitWords `xml:"skipped"`
		Error   *junitWords `xml:"error"`
		Failure *junitWords `xml:"failure"`
		Out     *junitText  `xml:"system-out"`
	}
	junitWords struct {
		Type    string `xml:"type,attr"`
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

// The kinds of problems that JUnit calls an error: there the run is to blame, not the lock.
var junitErrors = map[string]bool{"failed": true, "not-deterministic": true}

// WriteJUnit writes the campaign as JUnit XML.
func WriteJUnit(w io.Writer, c *Campaign) error {
	document := junitSuites{Name: "lockstep"}
	for i := range c.Rows {
		suite := junitOf(&c.Rows[i])
		document.Tests++
		document.Failures += suite.Failures
		document.Errors += suite.Errors
		document.Suites = append(document.Suites, suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(document); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitOf is the suite of a row.
func junitOf(row *Row) junitSuite {
	suite := junitSuite{
		Name: visible.Line(row.Scenario + " " + row.Implementation), Tests: 1, File: visible.Line(row.File),
	}
	suite.Case = junitCase{
		Name: visible.Line(row.Implementation), Class: visible.Line(row.Scenario), Out: &junitText{junitOutput(row)},
	}
	property := func(name, value string) {
		if value != "" {
			suite.Properties = append(suite.Properties, junitProperty{name, visible.Line(value)})
		}
	}
	property("scenario", row.Scenario)
	property("implementation", row.Implementation)
	property("transport", row.Transport)
	property("verdict", row.Result)
	property("seeds", row.Seeds)
	property("hash", row.Hash)
	if row.LeftOut {
		suite.Skipped = 1
		suite.Case.Skipped = &junitWords{Type: "left-out", Message: "left out: enough rows before it had failed"}
		return suite
	}
	if row.Passed || len(row.Problems) == 0 {
		return suite
	}
	worst := row.Problems[0]
	property("seed", worst.Seeds)
	property("fault", strings.Join(worst.Plan, "; "))
	property("replay", worst.Command)
	property("folder", worst.Folder)
	words := &junitWords{Type: worst.rule(), Message: visible.Line(worst.Text), Text: junitProblems(row)}
	if junitErrors[worst.Kind] {
		suite.Errors, suite.Case.Error = 1, words
	} else {
		suite.Failures, suite.Case.Failure = 1, words
	}
	return suite
}

// junitProblems lists all problems of a row, each with the command that shows it.
func junitProblems(row *Row) string {
	var b strings.Builder
	for _, p := range row.Problems {
		fmt.Fprintf(&b, "\n%s\n", visible.Line(p.Text))
		for _, fault := range p.Plan {
			fmt.Fprintf(&b, "  fault: %s\n", visible.Line(fault))
		}
		if p.Command != "" {
			fmt.Fprintf(&b, "  %s\n", visible.Line(p.Command))
		}
	}
	return b.String()
}

// junitOutput tells what the row counted.
func junitOutput(row *Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d seeds, hash %s\n", row.Ran, row.Wanted, row.Hash)
	for _, m := range row.Mechanisms {
		fmt.Fprintf(&b, "%s (%s): %d seeds, the first is %d\n", m.Number, m.Name, m.Seeds, m.First)
	}
	for _, p := range row.Properties {
		if p.First != nil {
			fmt.Fprintf(&b, "%s is violated in %d seeds, the first is %d\n", p.Name, p.Violated, *p.First)
		}
	}
	for _, k := range row.Known {
		fmt.Fprintf(&b, "known: %s: %s\n", k.Find, visible.Line(k.Reason))
	}
	return b.String()
}
