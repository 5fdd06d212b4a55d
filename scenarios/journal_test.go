package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/lockstep-sim/lockstep/checker"
)

// made is a result that depends on the task alone, so that a test needs no worlds. Some seeds show things.
func made(t task) seedResult {
	result := seedResult{Row: t.Row, Place: t.Place, Again: t.Again, Seed: t.Seed, Hash: t.Seed*7919 + uint64(t.Row) + 1}
	verdict := seedVerdict{Property: checker.MutualExclusion, Result: checker.Holds}
	switch {
	case t.Seed%11 == 5:
		verdict.Result = checker.Violated
		result.Mechanisms = []seedMechanism{{"R1", checker.MutualExclusion}}
	case t.Seed%13 == 7:
		result.Leaks = []string{"a goroutine"}
	case t.Seed%17 == 9 && t.Again:
		result.Hash++ // it runs differently the second time
	case t.Seed%29 == 3:
		result.Error = "it got stuck"
	}
	result.Verdicts = []seedVerdict{verdict, {Property: checker.LostWakeUp, Result: checker.Holds}}
	return result
}

// drive runs a campaign without worlds. Results come in an order that choose decides, and after stop of them it is
// broken off; it tells whether it came to its end.
func drive(t testing.TB, c *Campaign, choose func(most int) int, stop int) ([]*Row, bool) {
	t.Helper()
	r, err := c.begin()
	if err != nil {
		t.Fatal(err)
	}
	var flying []task
	for {
		if next, some := r.next(); some {
			flying = append(flying, next)
			if len(flying) < 4 && choose(1) == 1 {
				continue
			}
		}
		if len(flying) == 0 {
			return r.end(false), true
		}
		if stop == 0 {
			return r.end(true), false
		}
		stop--
		i := choose(len(flying) - 1)
		landed := flying[i]
		flying = append(flying[:i:i], flying[i+1:]...)
		r.absorb(made(landed))
		if r.failure != nil {
			t.Fatal(r.failure)
		}
	}
}

// inOrder lets results come in the order of seeds.
func inOrder(int) int { return 0 }

// never is a number of results that no campaign here has.
const never = 1 << 30

var ignoreWhatDiffersInParts = cmpopts.IgnoreFields(Row{}, "Scenario", "Expectation", "Shard", "Elapsed")

// TestResumeProperty breaks campaigns off at any place, as often as one likes, and lets them go on: the rows are
// those of one that was not disturbed, with or without a line that was not finished.
func TestResumeProperty(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		campaign := func() *Campaign {
			c := testCampaign(t, Workers{}, calm, withFault("pause c1 for 100ms on c1 before EVAL"))
			c.Seeds = SeedsUpTo(40)
			return c
		}
		twice := rapid.Bool().Draw(rt, "twice")
		whole := campaign()
		whole.Twice = twice
		want, _ := drive(t, whole, inOrder, never)
		dir := filepath.Join(base, "resumed")
		c := campaign()
		c.Twice = twice
		var err error
		if c.Journal, err = BeginJournal(dir, c, Build{Version: "test"}); err != nil {
			rt.Fatal(err)
		}
		choose := func(most int) int { return rapid.IntRange(0, most).Draw(rt, "choice") }
		for {
			rows, ended := drive(t, c, choose, rapid.IntRange(0, 150).Draw(rt, "stop"))
			if err := c.Journal.Close(); err != nil {
				rt.Fatal(err)
			}
			if ended {
				if diff := cmp.Diff(want, rows, ignoreWhatDiffersInParts); diff != "" {
					rt.Fatalf("after its breaks it comes to something else (-undisturbed +resumed):\n%s", diff)
				}
				return
			}
			if rapid.Bool().Draw(rt, "torn") {
				tear(rt, filepath.Join(dir, resultsFile))
			}
			journal, err := ReadJournal(dir)
			if err != nil {
				rt.Fatal(err)
			}
			if c, err = journal.Campaign(); err != nil {
				rt.Fatal(err)
			}
			if err := journal.Resume(); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// tear cuts the last line of a file in two.
func tear(t *rapid.T, name string) {
	info, err := os.Stat(name)
	if err == nil && info.Size() > 5 {
		err = os.Truncate(name, info.Size()-5)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestShardsProperty runs the parts of a campaign and merges them: the rows are those of the whole, for any seeds and
// any number of parts, in any order.
func TestShardsProperty(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		first := rapid.Uint64Range(0, 100).Draw(rt, "first")
		seeds := Seeds{{first, first + rapid.Uint64Range(0, 30).Draw(rt, "length")}}
		seeds = append(seeds, SeedRange{seeds[0].Last + 3, seeds[0].Last + 9})
		campaign := func() *Campaign {
			c := testCampaign(t, Workers{}, calm)
			c.Seeds = seeds
			return c
		}
		want, _ := drive(t, campaign(), inOrder, never)
		count := rapid.IntRange(1, 5).Draw(rt, "count")
		var journals []*Journal
		for i := 1; i <= count; i++ {
			dir := filepath.Join(base, fmt.Sprint(i))
			c := campaign()
			c.Shard = Shard{i, count}
			var err error
			if c.Journal, err = BeginJournal(dir, c, Build{Version: "test", Sum: fmt.Sprint(i)}); err != nil {
				rt.Fatal(err)
			}
			drive(t, c, func(most int) int { return rapid.IntRange(0, most).Draw(rt, "choice") }, never)
			c.Journal.Close()
			journal, err := ReadJournal(dir)
			if err != nil {
				rt.Fatal(err)
			}
			journals = append(journals, journal)
		}
		merged, err := Merge(rapid.Permutation(journals).Draw(rt, "order")...)
		if err != nil {
			rt.Fatal(err)
		}
		c, err := merged.Campaign()
		if err != nil {
			rt.Fatal(err)
		}
		rows, err := c.Judge()
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, rows, ignoreWhatDiffersInParts); diff != "" {
			rt.Fatalf("merged they come to something else (-whole +merged):\n%s", diff)
		}
	})
}

// TestShard checks that each seed belongs to one part of any number.
func TestShard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(1, 300).Draw(t, "count")
		seed := rapid.Uint64().Draw(t, "seed")
		owners := 0
		for i := 1; i <= count; i++ {
			s := Shard{i, count}
			if s.Has(seed) {
				owners++
			}
			if read, err := ParseShard(s.String()); err != nil || count > 1 && read != s {
				t.Errorf("%s is read as %v, %v", s, read, err)
			}
		}
		if owners != 1 {
			t.Errorf("seed %d belongs to %d of %d parts", seed, owners, count)
		}
	})
	for _, bad := range []string{"", "1", "/", "0/4", "5/4", "-1/4", "1/0", "a/b", "1/2/3", "1/10001", "1.5/4"} {
		if s, err := ParseShard(bad); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q is read as %v, %v", bad, s, err)
		}
	}
}

// TestMostFailures checks that rows behind the last one that counts are left out, and that those before it are whole.
func TestMostFailures(t *testing.T) {
	for _, test := range []struct{ most, left int }{{0, 0}, {1, 3}, {2, 2}, {4, 0}, {9, 0}} {
		c := testCampaign(t, Workers{}, calm, withFault("pause c1 for 100ms on c1 before EVAL"))
		c.MostFailures, c.Seeds = test.most, SeedsUpTo(20)
		rows, _ := drive(t, c, inOrder, never)
		left := 0
		for i, row := range rows {
			if row.LeftOut {
				left++
			} else if row.Ran != 20 || row.EndedEarly || left > 0 {
				t.Errorf("most %d: row %d has %d seeds", test.most, i, row.Ran)
			}
		}
		if left != test.left {
			t.Errorf("most %d: %d rows are left out, want %d", test.most, left, test.left)
		}
	}
}

// TestEvenly checks that rows take turns when the campaign may end early.
func TestEvenly(t *testing.T) {
	enough := make(chan struct{})
	c := testCampaign(t, Workers{}, calm)
	c.Enough, c.Evenly, c.Seeds = enough, true, SeedsUpTo(30)
	c.Progress = func(p Progress) {
		if p.Done == 20 && p.Finished == nil {
			close(enough)
		}
	}
	rows, _ := drive(t, c, inOrder, never)
	if a, b := rows[0].Ran, rows[1].Ran; a != 10 || b != 10 {
		t.Errorf("the rows have %d and %d seeds, want 10 each", a, b)
	}
}

// TestReadJournalErrors has one clear line for each thing that can be wrong.
func TestReadJournalErrors(t *testing.T) {
	for _, test := range []struct{ name, campaign, results, want string }{
		{"nothing", "", "", "it holds no campaign"},
		{"no JSON", "{", "", "campaign.json: unexpected EOF; begin the campaign anew"},
		{"another schema", `{"schema":"lockstep-campaign/9"}`, "", `its schema is "lockstep-campaign/9" and this`},
		{"an unknown key", `{"schema":"lockstep-campaign/1","x":1}`, "", `unknown field "x"`},
		{"no results", `{"schema":"lockstep-campaign/1"}`, "", "results.jsonl: no such file or directory"},
		{"a bad line", `{"schema":"lockstep-campaign/1"}`, "{\"row\":0}\n{\"row\":}\n", "results.jsonl:2: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{journalFile: test.campaign, resultsFile: test.results} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			_, err := ReadJournal(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q", err, test.want)
			}
			if errors.Is(err, ErrNoJournal) != (test.name == "nothing") {
				t.Errorf("it says wrongly whether there is a campaign: %v", err)
			}
		})
	}
}

// TestJournalCannotBeKept checks that a campaign ends when its results cannot be written.
func TestJournalCannotBeKept(t *testing.T) {
	c := testCampaign(t, testWorkers(1, "serve"), calm)
	var err error
	if c.Journal, err = BeginJournal(t.TempDir(), c, Build{}); err != nil {
		t.Fatal(err)
	}
	c.Journal.Close()
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the campaign cannot be kept") {
		t.Errorf("the error is %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := BeginJournal(filepath.Join(file, "x"), c, Build{}); err == nil {
		t.Error("a journal begins below a file")
	}
}

// FuzzJournal checks that no file breaks the reader, nor a campaign that goes on from it.
func FuzzJournal(f *testing.F) {
	dir := f.TempDir()
	c := testCampaign(&testing.T{}, Workers{}, calm)
	j, err := BeginJournal(dir, c, Build{Version: "test"})
	if err != nil {
		f.Fatal(err)
	}
	j.Close()
	text, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		f.Fatal(err)
	}
	const verdicts = `[{"property":"lost-wakeup","result":"holds"}]`
	f.Add(text, []byte(`{"row":0,"place":0,"seed":1,"hash":5,"verdicts":`+verdicts+"}\n"))
	f.Add(text, []byte(`{"row":1,"place":3,"again":true,"seed":4,"hash":5,"error":"x"}`+"\n{"))
	f.Add([]byte("{}"), []byte("\n"))
	f.Fuzz(func(t *testing.T, campaign, results []byte) {
		dir := t.TempDir()
		if os.WriteFile(filepath.Join(dir, journalFile), campaign, 0o644) != nil ||
			os.WriteFile(filepath.Join(dir, resultsFile), results, 0o644) != nil {
			t.Fatal("the files cannot be written")
		}
		j, err := ReadJournal(dir)
		if err != nil {
			return
		}
		if c, err := j.Campaign(); err == nil && c.Seeds.Len() < 1000 {
			_, _ = c.Judge()
		}
	})
}
