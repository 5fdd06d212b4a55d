package index

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/reports/ci"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out to testdata")

// written is when all files of the tests were written.
var written = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text), ModTime: written} }

// verdictText is the part of a verdict.json that is read.
func verdictText(scenario, implementation string, seed uint64, result Verdict, more string) string {
	quote := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // a string can always be written
		}
		return string(text)
	}
	return fmt.Sprintf(`{"scenario":%s,"implementation":%s,"seed":%d,"transport":"wire","result":%s,%s}`, quote(scenario),
		quote(implementation), seed, quote(string(result)), more)
}

const overlap = `"verdicts":[{"property":"mutual-exclusion","result":"violated"},` +
	`{"property":"order","result":"violated","skipped":true},` +
	`{"property":"liveness","result":"unknown"}],"mechanisms":[{"name":"loser-enters","number":"R1"},` +
	`{"name":"loser-enters","number":"R1"}]`

// evil does something wherever it is not taken for text.
const evil = "<script>alert(1)</script>\"'\x1b[31m&javascript:"

// example is a folder with runs of every verdict, two campaigns, and what is to be left alone.
func example(t testing.TB) fstest.MapFS {
	var under bytes.Buffer
	err := ci.WriteJSON(&under, &ci.Campaign{
		Schema: ci.Schema, Shard: "1/2", Passed: 1, Failed: 1, Seeds: 70, AllSeeds: 150, Hash: "00c0ffee00c0ffee",
		Result: "violation",
		Rows: []ci.Row{
			{
				Scenario: "dead-record", Implementation: "redis/getset", Result: "violation", Wanted: 50, Ran: 50,
				Mechanisms: []ci.Mechanism{{Number: "R1", First: 5}},
				Problems: []ci.Problem{{
					Severity: ci.Error, Text: evil + " is violated in seed 5", Folder: "dead-record/redis-getset/seed-5",
				}},
			},
			{
				Scenario: "dead-record", Implementation: "redis/setnx-px", Result: "as expected", Passed: true, Wanted: 50,
				Ran: 20,
			},
			{
				Scenario: "dead-record", Implementation: "redis/mine", Result: "unknown", Wanted: 50, Ran: 50,
				Problems: []ci.Problem{{Severity: ci.Warning, Text: "its fault never struck"}},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	nothing := `"verdicts":[]`
	return fstest.MapFS{
		"dead-record/redis-getset/seed-10/verdict.json": file(
			verdictText("dead-record", "redis/getset", 10, Holds, nothing)),
		"dead-record/redis-getset/seed-5/verdict.json": file(
			verdictText("dead-record", "redis/getset", 5, Violated, overlap)),
		"dead-record/redis-getset/seed-5/story.txt":     file("A story.\n"),
		"dead-record/redis-getset/seed-5/report.html":   file("<!doctype html>"),
		"dead-record/redis-getset/seed-5/plots/a b.svg": file("<svg/>"),
		"dead-record/redis-getset/seed-5/.hidden":       file(""),
		"dead-record/zk-fair/seed-2/verdict.json": file(verdictText("dead-record", "zk/fair", 1<<63, Unknown,
			`"verdicts":[{"property":"liveness","result":"unknown"}]`)),
		"x<y/" + strings.ReplaceAll(evil, "/", "|") + "/seed-1/verdict.json": file(
			verdictText(evil, evil, 1, Violated, `"verdicts":[{"property":"`+"<b>bold</b>"+`","result":"violated"}]`)),
		"broken/lock/seed-1/verdict.json":             file("{"),
		"dead-record/.redis.partial-1/a/verdict.json": file("{}"),
		"dead-record/redis-getset/notes.txt":          file(""),
		"campaign/shard-1-of-2/result.json":           file(under.String()),
		"campaign/whole/result.json":                  file("{}"),
		"campaign/begun/campaign.json":                file("{}"),
		"index.html":                                  file("old"),
		"sweep/zk-herd/wait.svg":                      file("<svg/>"),
		"sweep/zk-herd/sweep.csv":                     file("a"),
		"plots/clock.png":                             file("png"),
		"herd/.herd.partial":                          file(""),
		"dead-record/zk-fair/envelope/envelope.csv":   file("a"),
		"dead-record/zk-fair/envelope/envelope.svg":   file("<svg/>"),
		"dead-record/zk-fair/envelope/broke/" + "verdict.json": file(
			verdictText("dead-record", "zk/fair", 1, Violated, nothing)),
	}
}

func html(t testing.TB, folder fs.FS) string {
	t.Helper()
	x, err := Scan(folder)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := x.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFigures checks that what was drawn over many runs is listed beside the runs, and is taken for none.
func TestFigures(t *testing.T) {
	x, err := Scan(example(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range x.Figures {
		got = append(got, fmt.Sprintf("%s %q", f.Folder, f.Files))
	}
	want := []string{
		`plots ["clock.png"]`,
		`sweep/zk-herd ["wait.svg" "sweep.csv"]`,
		`dead-record/zk-fair/envelope ["envelope.svg" "envelope.csv" "broke/verdict.json"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	if page := html(t, example(t)); !strings.Contains(page, `href="./sweep/zk-herd/wait.svg"`) {
		t.Error("the page does not lead to a sweep")
	}
}

func TestScan(t *testing.T) {
	x, err := Scan(example(t))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range x.Runs {
		got = append(got, fmt.Sprintf("%s %s %q %q %q", r.Verdict, r.Seed, r.Violated, r.Mechanisms, r.Files))
	}
	want := []string{
		`unreadable 1 [] [] ["verdict.json"]`,
		`violated 5 ["mutual-exclusion"] ["loser-enters (R1)"] ["report.html" "story.txt" "verdict.json" "plots/a b.svg"]`,
		`holds 10 [] [] ["verdict.json"]`,
		`unknown 9223372036854775808 [] [] ["verdict.json"]`,
		`violated 1 ["<b>bold</b>"] [] ["verdict.json"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(x.Campaigns) != 2 || x.Campaigns[0].Result == nil || x.Campaigns[1].Broken == "" {
		t.Errorf("the campaigns are %+v", x.Campaigns)
	}
	for v, want := range map[Verdict]int{Violated: 2, Unknown: 1, Holds: 1, Unreadable: 1} {
		if got := x.Count(v); got != want {
			t.Errorf("%d runs are %s, want %d", got, v, want)
		}
	}
}

// TestScanOneRun scans the folder of a single run.
func TestScanOneRun(t *testing.T) {
	folder, err := fs.Sub(example(t), "dead-record/redis-getset/seed-5")
	if err != nil {
		t.Fatal(err)
	}
	x, err := Scan(folder)
	if err != nil || len(x.Runs) != 1 || x.Runs[0].Folder != "." || len(x.Runs[0].Files) != 4 {
		t.Errorf("it is %+v, %v", x, err)
	}
	if !strings.Contains(html(t, folder), `href="././report.html"`) {
		t.Error("there is no link to the report")
	}
}

// TestScannerReadsAgain checks that a run is read anew when it has changed, and only then.
func TestScannerReadsAgain(t *testing.T) {
	const name = "dead-record/redis-getset/seed-10/verdict.json"
	folder := example(t)
	var s Scanner
	verdict := func() Verdict {
		x, err := s.Scan(folder)
		if err != nil {
			t.Fatal(err)
		}
		return x.Runs[2].Verdict
	}
	before := verdict()
	folder[name] = file(verdictText("dead-record", "redis/getset", 10, Violated, overlap))
	if got := verdict(); got != before {
		t.Errorf("it was read although its time is the same: %s", got)
	}
	folder[name].ModTime = written.Add(time.Second)
	if got := verdict(); got != Violated {
		t.Errorf("it was not read anew: %s", got)
	}
}

// TestHTML compares the page with the one that is kept.
func TestHTML(t *testing.T) {
	got := html(t, example(t))
	path := filepath.Join("testdata", "index.html")
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs; if that is meant, run this test with -rewrite (-want +got):\n%s", path, diff)
	}
	for _, bad := range []string{"<script>alert", "<b>bold", "\x1b", "href=\"javascript", "http://", "https://", "/.hidden"} {
		if strings.Contains(got, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if n := strings.Count(got, "<script"); n != 1 {
		t.Errorf("the page has %d scripts", n)
	}
	if empty := html(t, fstest.MapFS{}); !strings.Contains(empty, "There is no run yet") {
		t.Error("an empty folder has no word about it")
	}
}

// TestPolicy checks that the page states the policy that names its own script and style, and nothing that allows more.
func TestPolicy(t *testing.T) {
	got := html(t, example(t))
	if !strings.Contains(got, `<meta http-equiv="Content-Security-Policy" content="`+Policy+`">`) {
		t.Error("the page does not state its policy")
	}
	for _, bad := range []string{"unsafe", "*", "http:"} {
		if strings.Contains(Policy, bad) {
			t.Errorf("the policy allows %q", bad)
		}
	}
	for _, part := range []struct{ tag, text string }{{"style", style}, {"script", script}} {
		if !strings.Contains(got, "<"+part.tag+">"+part.text+"</"+part.tag+">") ||
			!strings.Contains(Policy, part.tag+"-src '"+digest(part.text)+"'") {
			t.Errorf("the %s of the page is not the one that the policy names", part.tag)
		}
	}
}

// TestWrite puts the page into its folder, twice, and leaves nothing beside it.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, fstest.MapFS{
		"a/b/seed-1/verdict.json": file(verdictText("a", "b", 1, Holds, `"verdicts":[]`)),
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, File))
	if err != nil || !strings.Contains(string(text), "./a/b/seed-1/verdict.json") {
		t.Errorf("the page does not list the run: %v", err)
	}
	if err := Write(filepath.Join(dir, "nowhere")); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("without a folder the error is %v", err)
	}
}

// FuzzVerdict checks that no file of a run breaks the scan or gets markup into the page.
func FuzzVerdict(f *testing.F) {
	f.Add([]byte(verdictText("a", "b", 1, Violated, overlap)), []byte(`{"schema":"lockstep-result/1"}`))
	f.Add([]byte(`{"seed":1e400}`), []byte("{"))
	f.Fuzz(func(t *testing.T, verdict, campaign []byte) {
		got := html(t, fstest.MapFS{
			"s/i/seed-1/verdict.json":    {Data: verdict, ModTime: written},
			"campaign/whole/result.json": {Data: campaign, ModTime: written},
		})
		if n := strings.Count(got, "<script"); n != 1 {
			t.Errorf("the page has %d scripts", n)
		}
	})
}
