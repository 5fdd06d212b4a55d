package ci

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lockstep-sim/lockstep/internal/visible"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out to testdata")

func seed(n uint64) *uint64 { return &n }

// example is a campaign with a row of each kind.
func example() *Campaign {
	return &Campaign{
		Schema: Schema, Version: "v1.2.3", Complete: true, Shard: "1/1", Result: "differs", ExitCode: 3,
		Seeds: 110, AllSeeds: 150,
		Hash: "00c0ffee00c0ffee", Passed: 1, Failed: 3, LeftOut: 1,
		Rows: []Row{
			{
				Scenario: "dead-record", Implementation: "redis/getset-repaired", Transport: "direct", Result: "as expected",
				Passed: true, Seeds: "1-50", Wanted: 50, Ran: 50, Hash: "0000000000000001",
				File: "scenarios/library/dead-record.yaml", Line: 15,
				Properties: []Property{{Name: "mutual-exclusion", Holds: 50}, {Name: "order", Skipped: 50}},
				Faults:     []Fault{{Text: "crash c1 on c1 after SETNX", Planned: 50, Struck: 48}},
				Known:      []Known{{Find: "R1", Reason: "the published lock", Shown: true}},
				Problems:   []Problem{{Kind: "ended-early", Severity: Note, Text: "the budget ended after 50 of 60 seeds"}},
			},
			{
				Scenario: "mine", Implementation: "redis/mine", Transport: "wire", Result: "differs", Seeds: "1-30", Wanted: 30,
				Ran: 30, Hash: "0000000000000002", File: "locks/mine.yaml", Line: 12,
				Properties: []Property{{Name: "mutual-exclusion", Holds: 20, Violated: 10, First: seed(5)}},
				Mechanisms: []Mechanism{{
					Number: "R1", Name: "loser-enters", Seeds: 10, First: 5, Properties: []string{"mutual-exclusion"},
				}},
				Problems: []Problem{
					{
						Kind: "violated", Property: "mutual-exclusion", Severity: Error, Weight: 4, Seeds: "5",
						Text:    "mutual-exclusion is violated in seed 5 (10 of 30 seeds), which the scenario does not expect",
						Command: "lockstep hunt locks/mine.yaml --impl redis/mine --seeds 5 --property mutual-exclusion",
						Folder:  "mine/redis-mine/seed-5", Plan: []string{"crash c1 on c1 after SETNX"},
						Diagram: "sequenceDiagram\n  c2->>redis: GETSET job\n",
					},
					{Kind: "untested", Severity: Warning, Weight: 2, Text: "no answer was found about order in 2 of 30 seeds"},
				},
			},
			{
				Scenario: "mine", Implementation: "redis/setnx-px", Transport: "direct", Result: "unknown", Seeds: "1-30",
				Wanted: 30, Ran: 20, Hash: "0000000000000003", File: "locks/mine.yaml", Line: 14,
				Problems: []Problem{
					{Kind: "interrupted", Severity: Warning, Weight: 2, Text: "interrupted after 20 of 30 seeds"},
				},
			},
			{
				Scenario: "mine", Implementation: "zk/fair", Transport: "direct", Result: "not deterministic", Seeds: "1-30",
				Wanted: 30, Ran: 10, Hash: "0000000000000004", File: "locks/mine.yaml", Line: 16,
				Problems: []Problem{{
					Kind: "not-deterministic", Severity: Error, Weight: 5, Seeds: "7",
					Text: "seed 7 ran differently when it was run again", Command: "lockstep run locks/mine.yaml --seeds 7 --twice",
				}},
			},
			{
				Scenario: "mine", Implementation: "zk/polling", Transport: "direct", Result: "nothing ran", LeftOut: true,
				Seeds: "1-30", Wanted: 30, Hash: "0000000000000000", File: "locks/mine.yaml", Line: 18,
			},
		},
	}
}

// evil is a text that does something wherever it is not taken for text.
const evil = "</failure>]]><script>alert(1)</script>\"'&%0A::error::x\n::error::y\r|`${x}`" +
	"\x1b[31m../../etc\u202e\x00\xff```@me"

// hostile is the example with every text made evil.
func hostile() *Campaign {
	c := example()
	for i := range c.Rows {
		r := &c.Rows[i]
		r.Scenario, r.Implementation, r.Result, r.Seeds, r.File = evil, evil, evil, evil, "../../"+evil
		for j := range r.Problems {
			p := &r.Problems[j]
			p.Text, p.Command, p.Folder, p.Plan, p.Diagram = evil, evil, evil, []string{evil}, evil
		}
		for j := range r.Known {
			r.Known[j].Reason = evil
		}
	}
	return c
}

// kinds are campaigns of all kinds.
func kinds() map[string]*Campaign {
	return map[string]*Campaign{"example": example(), "hostile": hostile(), "empty": {}, "crowd": crowd(20)}
}

// writers are all formats, by the names of their goldens.
var writers = map[string]func(io.Writer, *Campaign) error{
	"result.json": WriteJSON, "junit.xml": WriteJUnit, "lockstep.sarif": WriteSARIF, "annotations.txt": WriteAnnotations,
	"summary.md": WriteSummary,
}

func written(t testing.TB, name string, c *Campaign) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writers[name](&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestGoldens compares each format with what is kept, for an ordinary campaign and for one that is made of hostile
// texts.
func TestGoldens(t *testing.T) {
	for name := range writers {
		for kind, c := range map[string]*Campaign{"": example(), "hostile-": hostile()} {
			got := written(t, name, c)
			path := filepath.Join("testdata", kind+name)
			if *rewrite {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s differs; if that is meant, run this test with -rewrite (-want +got):\n%s", path, diff)
			}
			if i := strings.IndexFunc(string(got), func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
				t.Errorf("%s has a control character at byte %d", path, i)
			}
		}
	}
}

// TestFull writes an empty campaign, and one with more rows than anybody reads, in each format.
func TestFull(t *testing.T) {
	for name := range writers {
		written(t, name, &Campaign{Schema: Schema, Shard: "1/1"})
		if got := written(t, name, crowd(300)); name == "summary.md" && len(got) > mostSummary {
			t.Errorf("the summary has %d bytes", len(got))
		}
	}
}

// crowd is a campaign with many rows, each with a long problem.
func crowd(rows int) *Campaign {
	c := &Campaign{Schema: Schema, Shard: "1/4", Failed: rows}
	for i := range rows {
		row := example().Rows[1]
		row.Implementation = fmt.Sprintf("redis/mine-%d", i)
		row.Problems[0].Text = strings.Repeat("long ", 5000)
		row.Problems[0].Diagram = strings.Repeat("x", mostDiagram+1)
		c.Rows = append(c.Rows, row)
	}
	return c
}

func TestSummaryIsCutOff(t *testing.T) {
	got := string(written(t, "summary.md", crowd(300)))
	for _, want := range []string{"and 100 more rows", "The rest is left out here", "part 1/4", "**not finished**"} {
		if !strings.Contains(got, want) {
			t.Errorf("the summary does not say %q", want)
		}
	}
	if strings.Contains(got, "mermaid") {
		t.Error("the summary has a diagram that is too large to read")
	}
	if n := strings.Count(string(written(t, "summary.md", example())), "```mermaid"); n != 1 {
		t.Errorf("the summary of the example has %d diagrams, want that of the first violation", n)
	}
}

// TestSummaryHasNoMarkup checks that of hostile texts nothing is left that Markdown or HTML would act on.
func TestSummaryHasNoMarkup(t *testing.T) {
	code := false
	for line := range strings.Lines(string(written(t, "summary.md", hostile()))) {
		if fence := strings.HasPrefix(strings.TrimPrefix(line, "  "), "```"); fence {
			code = !code
			continue
		}
		if !code && (strings.ContainsAny(line, "<>@$") || strings.Contains(line, "](")) {
			t.Errorf("the summary has %q", line)
		}
	}
	if code {
		t.Error("a hostile text has opened a block of code")
	}
}

// TestAnnotations checks that there are at most five, the weightiest first, that the rest is counted, and that no text
// can begin a line of its own.
func TestAnnotations(t *testing.T) {
	for _, test := range []struct {
		campaign *Campaign
		lines    int
		last     string
	}{
		{example(), 4, "::warning "},
		{hostile(), 4, "::warning "},
		{crowd(9), 6, "::notice title=lockstep::and 13 more"},
		{&Campaign{}, 0, ""},
	} {
		lines := strings.Split(strings.TrimSuffix(string(written(t, "annotations.txt", test.campaign)), "\n"), "\n")
		if test.lines == 0 {
			lines = nil
		}
		if len(lines) != test.lines {
			t.Errorf("there are %d lines, want %d: %q", len(lines), test.lines, lines)
			continue
		}
		for i, line := range lines {
			properties, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), "::")
			if strings.Count(properties, ",") > 2 || !strings.HasPrefix(line, "::") {
				t.Errorf("a text has got into the properties: %q", line)
			}
			if i == len(lines)-1 && !strings.HasPrefix(line, test.last) {
				t.Errorf("the last line is %q, want %q", line, test.last)
			}
		}
	}
	first, _, _ := strings.Cut(string(written(t, "annotations.txt", example())), "\n")
	if !strings.Contains(first, "not-deterministic") {
		t.Errorf("the first annotation is not about the weightiest problem: %s", first)
	}
}

// TestJUnitFitsSchema validates JUnit XML with xmllint.
func TestJUnitFitsSchema(t *testing.T) {
	lint, err := exec.LookPath("xmllint")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("xmllint is not installed; it is in Debian's package libxml2-utils")
		}
		t.Skip("xmllint is not installed; it is in Debian's package libxml2-utils")
	}
	schema := filepath.Join("testdata", "junit.xsd")
	for kind, c := range kinds() {
		command := exec.Command(lint, "--noout", "--schema", schema, "-")
		command.Stdin = bytes.NewReader(written(t, "junit.xml", c))
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", kind, err, out)
		}
	}
	command := exec.Command(lint, "--noout", "--schema", schema, "-")
	command.Stdin = strings.NewReader(strings.Replace(string(written(t, "junit.xml", example())), "</failure>",
		"</failure><failure/>", 1))
	if err := command.Run(); err == nil {
		t.Error("the schema takes a case with two failures")
	}
}

// TestJUnitReadsBack checks what a reader finds, hostile or not.
func TestJUnitReadsBack(t *testing.T) {
	for _, c := range []*Campaign{example(), hostile()} {
		var read struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
			Errors   int `xml:"errors,attr"`
			Suites   []struct {
				Properties []junitProperty `xml:"properties>property"`
				Cases      []struct {
					Class   string       `xml:"classname,attr"`
					Failure []junitWords `xml:"failure"`
					Error   []junitWords `xml:"error"`
					Skipped []junitWords `xml:"skipped"`
				} `xml:"testcase"`
			} `xml:"testsuite"`
		}
		if err := xml.Unmarshal(written(t, "junit.xml", c), &read); err != nil {
			t.Fatal(err)
		}
		if read.Tests != 5 || read.Failures != 2 || read.Errors != 1 {
			t.Errorf("%d tests, %d failures, %d errors", read.Tests, read.Failures, read.Errors)
		}
		broken := read.Suites[1]
		if got := broken.Cases[0].Failure[0].Message; got != visible.Line(c.Rows[1].Problems[0].Text) {
			t.Errorf("the message is %q", got)
		}
		if got := broken.Cases[0].Class; got != visible.Line(c.Rows[1].Scenario) {
			t.Errorf("the class is %q", got)
		}
		properties := map[string]string{}
		for _, p := range broken.Properties {
			properties[p.Name] = p.Value
		}
		worst := c.Rows[1].Problems[0]
		for name, want := range map[string]string{
			"seed": worst.Seeds, "fault": worst.Plan[0], "replay": worst.Command, "verdict": c.Rows[1].Result,
		} {
			if properties[name] != visible.Line(want) {
				t.Errorf("property %s is %q, want %q", name, properties[name], want)
			}
		}
		if len(read.Suites[3].Cases[0].Error) != 1 || len(read.Suites[4].Cases[0].Skipped) != 1 {
			t.Error("a run that failed is no error, or a row that was left out is not skipped")
		}
	}
}

// sarifSchemaOf is the schema of the standard. It is taken from the source of a module that reads SARIF, which does not
// hand it out.
func sarifSchemaOf(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", reflect.TypeFor[sarif.Report]().PkgPath()).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	text := file.Scope.Lookup("schema").Decl.(*ast.ValueSpec).Values[0].(*ast.BasicLit).Value
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(strings.Trim(text, "`")))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource(sarifSchema, document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(sarifSchema)
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// TestSARIFFitsSchema validates logs against the schema of SARIF 2.1.0, which knows no field beside its own.
func TestSARIFFitsSchema(t *testing.T) {
	schema := sarifSchemaOf(t)
	validate := func(text []byte) error {
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(document)
	}
	for kind, c := range kinds() {
		text := written(t, "lockstep.sarif", c)
		if err := validate(text); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		log, err := sarif.FromBytes(text)
		if err != nil || len(log.Runs) != 1 || len(log.Runs[0].Results) != len(c.problems()) {
			t.Errorf("%s: another reader of SARIF does not find all results: %v", kind, err)
		}
	}
	for from, to := range map[string]string{
		`"level": "error"`: `"level": "terrible"`, `"ruleId"`: `"rule"`, `"startLine": 12`: `"startLine": 0`,
	} {
		if validate(bytes.Replace(written(t, "lockstep.sarif", example()), []byte(from), []byte(to), 1)) == nil {
			t.Errorf("the schema takes %s", to)
		}
	}
}

// TestFingerprint checks that it tells problems apart and stays when only seeds and words change.
func TestFingerprint(t *testing.T) {
	of := func(change func(*Row, *Problem)) string {
		row := example().Rows[1]
		change(&row, &row.Problems[0])
		return fingerprint(placed{&row, &row.Problems[0]})
	}
	want := of(func(*Row, *Problem) {})
	same := of(func(r *Row, p *Problem) {
		p.Seeds, p.Text, p.Command, p.Plan, r.Ran, r.Hash, r.Line = "99", "in seed 99", "other", nil, 5, "0", 77
	})
	if same != want {
		t.Error("the fingerprint changes with the seed")
	}
	for name, change := range map[string]func(*Row, *Problem){
		"scenario":       func(r *Row, _ *Problem) { r.Scenario = "other" },
		"implementation": func(r *Row, _ *Problem) { r.Implementation = "other" },
		"property":       func(_ *Row, p *Problem) { p.Property = "release" },
		"kind":           func(_ *Row, p *Problem) { p.Kind = "not-found" },
		"border":         func(r *Row, _ *Problem) { r.Scenario, r.Implementation = "mineredis", "/mine" },
	} {
		if of(change) == want {
			t.Errorf("another %s has the same fingerprint", name)
		}
	}
}

func TestFileURI(t *testing.T) {
	for file, want := range map[string]string{
		"a/b.yaml": "a/b.yaml", "./a.yaml": "a.yaml", "/srv/a b.yaml": "a%20b.yaml", "../../x.yaml": "x.yaml",
		"a/../../x.yaml": "x.yaml", `C:\locks\x.yaml`: "x.yaml", "a:b.yaml": "a:b.yaml", "a#?.yaml": "a%23%3F.yaml",
	} {
		if got := fileURI(file); got != want {
			t.Errorf("fileURI(%q) = %q, want %q", file, got, want)
		}
	}
}

// TestJSONReadsBack checks that JSON loses nothing but what is not meant for it.
func TestJSONReadsBack(t *testing.T) {
	want := example()
	for i := range want.Rows {
		for j := range want.Rows[i].Problems {
			want.Rows[i].Problems[j].Weight, want.Rows[i].Problems[j].Diagram = 0, ""
		}
	}
	got, err := ReadJSON(bytes.NewReader(written(t, "result.json", example())))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "[]", "{}", `{"schema":"lockstep-result/99"}`} {
		if _, err := ReadJSON(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// FuzzReadJSON checks that no input breaks the reader.
func FuzzReadJSON(f *testing.F) {
	f.Add(written(f, "result.json", example()))
	f.Add([]byte(`{"schema":"lockstep-result/1","rows":[{}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		for name := range writers {
			written(t, name, c)
		}
	})
}
