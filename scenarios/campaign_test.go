package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-sim/lockstep/checker"
)

// workerMode is the environment variable by which a test starts this test binary as a worker. It says how that is to
// behave.
const workerMode = "LOCKSTEP_TEST_WORKER"

// TestWorkerProcess is no test: it is what a worker process of the tests below runs.
func TestWorkerProcess(t *testing.T) {
	switch mode := os.Getenv(workerMode); mode {
	case "":
		t.Skip("it is run by other tests, as a process of its own")
	case "serve":
		if err := ServeWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "die at seed 3":
		dieAtSeed(3)
	case "die at once":
		fmt.Fprintln(os.Stderr, "fatal error: nobody knows")
		os.Exit(3)
	case "talk nonsense":
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println("nonsense")
	}
	os.Exit(0)
}

// dieAtSeed works until it is given a seed.
func dieAtSeed(seed uint64) {
	tasks, results := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	known := map[int]*Scenario{}
	for {
		var next task
		if tasks.Decode(&next) != nil {
			return
		}
		if next.Seed == seed {
			fmt.Fprintln(os.Stderr, "fatal error: all goroutines are asleep\nand more")
			os.Exit(2)
		}
		results.Encode(next.perform(known))
	}
}

// testWorkers are processes of this test binary.
func testWorkers(number int, mode string) Workers {
	return Workers{
		Number: number,
		Command: func(ctx context.Context) *exec.Cmd {
			c := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestWorkerProcess$")
			c.Env = append(os.Environ(), workerMode+"="+mode, "GOMAXPROCS=1")
			return c
		},
	}
}

// testCampaign runs the scenarios whose text is given, with 12 seeds each.
func testCampaign(t *testing.T, workers Workers, texts ...string) *Campaign {
	t.Helper()
	c := &Campaign{Seeds: SeedsUpTo(12), Workers: workers}
	for i, text := range texts {
		s, err := Parse(fmt.Sprintf("scenario-%d.yaml", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		c.Scenarios = append(c.Scenarios, s)
	}
	return c
}

func runCampaign(t *testing.T, c *Campaign) []*Row {
	t.Helper()
	rows, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// calm is a scenario in which nothing goes wrong.
const calm = `
name: calm
lock: {lease: 1s}
clients: 2
program:
  others: [lock, work 10ms..50ms, write, unlock, wait 10ms..50ms, repeat 3]
heal: 500ms
until: 2s
grace: 1s
implementations:
  redis/setnx-px: {}
  redis/getset-repaired: {}
`

// withFault is calm with a fault.
func withFault(fault string) string {
	return strings.Replace(calm, "heal:", "faults: |\n  "+fault+"\nheal:", 1)
}

func deadRecord(t *testing.T) string {
	t.Helper()
	text, err := LibraryText("dead-record")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCampaign checks that what a campaign counts does not depend on the number of workers.
func TestCampaign(t *testing.T) {
	var want []*Row
	for _, number := range []int{1, 3} {
		c := testCampaign(t, testWorkers(number, "serve"), calm, deadRecord(t))
		c.Seeds = SeedsUpTo(30)
		seeds, finished := 0, 0
		c.Progress = func(p Progress) {
			seeds = p.Done
			if p.Finished != nil {
				finished++
			}
		}
		rows := runCampaign(t, c)
		if seeds != 30*len(rows) || finished != len(rows) {
			t.Errorf("%d workers told of %d seeds and %d rows, want %d and %d", number, seeds, finished, 30*len(rows), len(rows))
		}
		for _, row := range rows {
			if row.Judgement.Conclusion != AsExpected && row.Expectation.Find == nil {
				t.Errorf("%s, %s: %+v", row.Scenario.Name, row.Implementation, row.Judgement)
			}
			if row.Ran != 30 || row.Hash == 0 {
				t.Errorf("%s, %s: %d seeds, hash %x", row.Scenario.Name, row.Implementation, row.Ran, row.Hash)
			}
		}
		if want == nil {
			want = rows
			continue
		}
		if diff := cmp.Diff(want, rows, cmpopts.IgnoreFields(Row{}, "Scenario", "Expectation")); diff != "" {
			t.Errorf("%d workers count differently than one (-one +more):\n%s", number, diff)
		}
	}
	if first, found := want[2].firstOf("R1"); !found || want[2].Implementation != "redis/getset" {
		t.Errorf("R1 is not found in dead-record: %+v, %+v", first, want[2])
	}
}

// TestCampaignHashIsOfSeeds checks that the hash of a row tells the seeds apart and their order.
func TestCampaignHashIsOfSeeds(t *testing.T) {
	hash := func(seeds Seeds) uint64 {
		c := testCampaign(t, testWorkers(1, "serve"), calm)
		c.Seeds = seeds
		return runCampaign(t, c)[0].Hash
	}
	if one, other := hash(SeedsUpTo(2)), hash(Seeds{{1, 1}, {3, 3}}); one == other {
		t.Errorf("other seeds have the same hash %x", one)
	}
	if chain(chain(0, 1), 2) == chain(chain(0, 2), 1) {
		t.Error("the order of seeds does not matter")
	}
}

// TestCampaignTwice checks that running every seed twice finds no difference where there is none.
func TestCampaignTwice(t *testing.T) {
	c := testCampaign(t, testWorkers(2, "serve"), calm)
	c.Twice = true
	for _, row := range runCampaign(t, c) {
		if row.Judgement.Conclusion != AsExpected {
			t.Errorf("%s: %+v", row.Implementation, row.Judgement)
		}
	}
}

// TestFaultThatNeverStrikes checks that a search whose fault did not bite is no pass.
func TestFaultThatNeverStrikes(t *testing.T) {
	c := testCampaign(t, testWorkers(1, "serve"),
		withFault("pause c1 for 100ms on c1 after GETSET"), withFault("pause c1 for 100ms on c1 before EVAL"),
		withFault("maybe 1/2 pause c1 for 100ms at 50ms"))
	c.Implementations = []string{"redis/setnx-px"}
	rows := runCampaign(t, c)
	if got := rows[0].Judgement; got.Conclusion != Inconclusive || !strings.Contains(got.Reasons[0].Text, "never struck") {
		t.Errorf("a fault that cannot strike: %+v", got)
	}
	if got := rows[1].Faults[0]; got.Drawn != 12 || got.Strikes != 12 {
		t.Errorf("a fault that always strikes: %+v", got)
	}
	if got := rows[2].Faults[0]; got.Drawn == 0 || got.Drawn == 12 || got.Strikes != got.Drawn {
		t.Errorf("a fault with odds: %+v", got)
	}
}

// TestCampaignConfirms checks that a seed whose second run is another one is told of.
func TestCampaignConfirms(t *testing.T) {
	c := testCampaign(t, Workers{}, calm)
	rows, err := c.rows()
	if err != nil {
		t.Fatal(err)
	}
	verdict := []seedVerdict{{Property: checker.MutualExclusion, Result: checker.Violated}}
	r := &campaignRun{campaign: c, rows: []*rowRun{newRowRun(0, rows[0])}}
	begun := 0
	for next, some := r.next(); some; next, some = r.next() {
		begun++
		result := seedResult{Row: 0, Place: next.Place, Again: next.Again, Seed: next.Seed, Hash: next.Seed}
		switch {
		case next.Again && next.Seed == 5:
			result.Hash = 99
		case next.Seed >= 5:
			result.Verdicts = verdict
		}
		r.absorb(result)
	}
	// The first seed is run again and the first one with a violation.
	if begun != 12+2 {
		t.Errorf("%d runs were begun, want 14", begun)
	}
	if got := rows[0].Unstable; len(got) != 1 || got[0] != 5 {
		t.Errorf("the unstable seeds are %v, want 5", got)
	}
	if got := rows[0].Judgement.Conclusion; got != NotDeterministic {
		t.Errorf("the conclusion is %q", got)
	}
}

// TestWorkerDies checks that a worker takes one seed with it and no more.
func TestWorkerDies(t *testing.T) {
	for _, number := range []int{1, 2} {
		c := testCampaign(t, testWorkers(number, "die at seed 3"), calm)
		c.Implementations = []string{"redis/setnx-px"}
		row := runCampaign(t, c)[0]
		want := "the worker process ended: exit status 2: fatal error: all goroutines are asleep"
		if len(row.Failures) != 1 || row.Failures[0] != (Remark{3, want}) {
			t.Errorf("%d workers: the failures are %+v, want seed 3 with %q", number, row.Failures, want)
		}
		if row.Ran != 12 || row.Properties[0].Holds != 11 || row.Judgement.Conclusion != Broken {
			t.Errorf("%d workers: %d seeds, %+v, %v", number, row.Ran, row.Properties[0], row.Judgement)
		}
	}
}

// TestWorkerUseless checks that a campaign ends although no worker does anything.
func TestWorkerUseless(t *testing.T) {
	for mode, want := range map[string]string{
		"die at once":   "exit status 3: fatal error: nobody knows",
		"talk nonsense": "what it said is no answer",
	} {
		c := testCampaign(t, testWorkers(1, mode), calm)
		c.Implementations, c.Seeds = []string{"redis/setnx-px"}, SeedsUpTo(3)
		row := runCampaign(t, c)[0]
		if len(row.Failures) != 3 || !strings.Contains(row.Failures[0].Text, want) {
			t.Errorf("%s: the failures are %+v", mode, row.Failures)
		}
	}
	c := testCampaign(t, Workers{Command: func(ctx context.Context) *exec.Cmd {
		return exec.CommandContext(ctx, filepath.Join(t.TempDir(), "nothing"))
	}}, calm)
	if _, err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a worker process cannot be started") {
		t.Errorf("without a program the error is %v", err)
	}
}

// TestCampaignInterrupted checks that an interrupt ends the work and keeps what was done.
func TestCampaignInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	c := testCampaign(t, testWorkers(2, "serve"), calm)
	c.Progress = func(p Progress) {
		if p.Done == 5 {
			interrupt()
		}
	}
	rows, err := c.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if row := rows[0]; row.Ran < 5 || row.Ran > 11 || !row.Interrupted || row.Judgement.Conclusion != Inconclusive {
		t.Errorf("the row at work: %d seeds, %+v", row.Ran, row.Judgement)
	}
	if row := rows[1]; row.Ran != 0 || row.Judgement.Conclusion != NothingRan {
		t.Errorf("the next row: %d seeds, %+v", row.Ran, row.Judgement)
	}
	if got := Conclude(rows); got != Inconclusive {
		t.Errorf("the campaign concludes to %q", got)
	}
}

// TestCampaignEnough checks that no seed is begun once it is enough, and that those begun are judged.
func TestCampaignEnough(t *testing.T) {
	enough := make(chan struct{})
	c := testCampaign(t, testWorkers(1, "serve"), calm)
	c.Enough = enough
	c.Progress = func(p Progress) {
		if p.Done == 5 && p.Finished == nil {
			close(enough)
		}
	}
	rows := runCampaign(t, c)
	if row := rows[0]; row.Ran < 5 || row.Ran > 5+tasksAhead+1 || !row.EndedEarly {
		t.Errorf("the row at work: %d seeds, ended early: %v", row.Ran, row.EndedEarly)
	} else if row.Judgement.Conclusion != AsExpected {
		t.Errorf("the row at work: %+v", row.Judgement)
	}
	if row := rows[1]; row.Ran != 0 || row.Judgement.Conclusion != NothingRan {
		t.Errorf("the next row: %d seeds, %+v", row.Ran, row.Judgement)
	}
}

func TestDefaultSeeds(t *testing.T) {
	for _, test := range []struct {
		find []MustFind
		want string
	}{
		{nil, "1-20"},
		{[]MustFind{{"R1", 5}}, "1-20"},
		{[]MustFind{{"R1", 50}, {"R2", 200}, {"liveness", 100}}, "1-200"},
	} {
		if got := DefaultSeeds(Expectation{Find: test.find}).String(); got != test.want {
			t.Errorf("DefaultSeeds(%v) = %s, want %s", test.find, got, test.want)
		}
	}
}

// TestCampaignRows checks what is run of what.
func TestCampaignRows(t *testing.T) {
	c := testCampaign(t, Workers{}, calm)
	c.Implementations = []string{"redis/getset", "redis/setnx-px"}
	rows, err := c.rows()
	if err != nil || len(rows) != 2 || rows[0].Stated || !rows[1].Stated {
		t.Errorf("the rows are %+v, %v", rows, err)
	}
	c.Scenarios[0].TimeServer = false
	if _, err := c.rows(); err == nil || !strings.Contains(err.Error(), "time server") {
		t.Errorf("without a time server the error is %v", err)
	}
	c.Implementations = []string{"redis/nothing"}
	if _, err := c.rows(); err == nil || !strings.Contains(err.Error(), "redis/nothing") {
		t.Errorf("an unknown implementation: the error is %v", err)
	}
}

// TestHunt checks that a hunt finds the first seed, however many look for it.
func TestHunt(t *testing.T) {
	s := mustLoad(t, "dead-record")
	hunt := func(number int, change func(*Hunt)) *Catch {
		t.Helper()
		h := &Hunt{
			Scenario: s, Implementation: "redis/getset", Seeds: SeedsUpTo(50), Workers: testWorkers(number, "serve"),
		}
		if change != nil {
			change(h)
		}
		catch, err := h.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return catch
	}
	one := hunt(1, nil)
	if !one.Found || one.Row.Ran != int(one.Seed) {
		t.Fatalf("one worker: %+v after %d seeds", one, one.Row.Ran)
	}
	for range 3 {
		if more := hunt(4, nil); more.Seed != one.Seed || more.Hash != one.Hash || more.Row.Hash != one.Row.Hash {
			t.Errorf("four workers find seed %d (%x), one finds %d (%x)", more.Seed, more.Hash, one.Seed, one.Hash)
		}
	}
	if from := hunt(2, func(h *Hunt) { h.Seeds = Seeds{{one.Seed, 50}} }); from.Seed != one.Seed || from.Row.Ran != 1 {
		t.Errorf("from there on it finds seed %d after %d", from.Seed, from.Row.Ran)
	}
	if stuck := hunt(2, func(h *Hunt) { h.Mechanism = "R18" }); stuck.Found {
		t.Errorf("R18 is found in a scenario whose time server is well")
	}
	if first := hunt(2, func(h *Hunt) { h.Property = checker.Linearizability }); first.Seed > one.Seed {
		t.Errorf("linearizability breaks first in seed %d, after the overlap of seed %d", first.Seed, one.Seed)
	}
	outcome, err := Run(new(testing.T), Setup{
		Scenario: s, Implementation: "redis/getset", Seed: one.Seed, Strategy: one.Strategy,
	})
	if err != nil || outcome.Hash != one.Hash {
		t.Fatalf("seed %d runs differently here: %v", one.Seed, err)
	}
	anything := &Hunt{Scenario: s, Implementation: "redis/getset"}
	if choice, ok := anything.Choose(outcome); !ok || choice.Finding == nil || choice.Finding.Mechanism.Ref != "R1" {
		t.Errorf("what the scenario is about is not chosen: %+v", choice)
	}
	unheard := &Hunt{Scenario: s, Implementation: "redis/getset", Mechanism: "R18"}
	if choice, ok := unheard.Choose(outcome); ok {
		t.Errorf("something else than R18 is chosen: %+v", choice)
	}
	sound := hunt(2, func(h *Hunt) { h.Implementation = "redis/setnx-px" })
	if sound.Found || sound.Row.Ran != 50 || sound.Row.Judgement.Conclusion != AsExpected {
		t.Errorf("a sound lock: %+v, %+v", sound, sound.Row.Judgement)
	}
}

func TestHuntErrors(t *testing.T) {
	s := mustLoad(t, "dead-record")
	for _, test := range []struct {
		hunt Hunt
		want string
	}{
		{Hunt{Scenario: s, Implementation: "redis/getset", Mechanism: "R99"}, `no mechanism is named "R99"`},
		{Hunt{Scenario: s, Implementation: "redis/getset", Property: "peace"}, `no property is named "peace"`},
		{Hunt{Scenario: s, Implementation: "redis/getsett"}, `did you mean "redis/getset"`},
	} {
		if _, err := test.hunt.Run(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, want %s", err, test.want)
		}
	}
}

// TestServeWorker checks the answers to tasks that make no sense.
func TestServeWorker(t *testing.T) {
	var out strings.Builder
	in := `{"row":1,"place":0,"implementation":"redis/getset","transport":"direct","seed":1}
{"row":2,"place":0,"scenario":{"name":"x.yaml","text":"name: 7x!"},"implementation":"redis/getset","seed":1}
`
	if err := ServeWorker(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the worker was not told the scenario", "x.yaml:1:7: name"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the answers do not hold %q:\n%s", want, out.String())
		}
	}
	if err := ServeWorker(strings.NewReader("nonsense"), &out); err == nil {
		t.Error("nonsense is taken for a task")
	}
}
