package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/jonboulle/clockwork"
	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/reports/ci"
	"github.com/lockstep-sim/lockstep/reports/index"
	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// runCommand is "run" with its flags.
type runCommand struct {
	flags        searchFlags
	account      accountFlags
	twice        bool
	strategy     string
	pinned       string // folder of replay files
	resume       bool
	shard        string
	mostFailures int
	keeping      string // which runs get a folder
}

func newRun() *cobra.Command {
	r := &runCommand{}
	cmd := &cobra.Command{
		Use:   "run [SCENARIO...]",
		Short: "Runs scenarios and holds the results against what they expect",
		Long: `Run is the gate: it runs scenarios against the implementations that they state an expectation for, many seeds
each, and fails when something differs. What a scenario says must be found has to be found, and nothing else may be
violated. A SCENARIO is a name from "lockstep list" or the path of a YAML file; without one, all that come with
lockstep are run.

Before anything else it runs the replay files and scripts that are pinned: those below the folder scenarios, or
--pinned. A file as hunt or shrink wrote it says what must be seen; with "holds" in the place of "violated" a replay
file says what must not be seen any more. A script such as shrunk.txt says all that must come out.

The last line says how many rows of the table passed and failed, the one before it a hash over all runs: the same
program gives the same hash on every machine. FOUND and VIOLATED name the first seed of each: R1@3 is mechanism R1 in
seed 3. The first violation of each row that nobody expects is written to a folder, for at most five rows. With --keep
every run is, or the first of each row, whatever came of it; a single run always is.

What was run is kept in the folder of --out. A run that was broken off, even killed, goes on with --resume, and comes
to the same result. With --shard 1/4 to 4/4 four machines share the seeds; "lockstep merge" makes one result of it.

` + exitHelp,
		Example: `  lockstep run
  lockstep run dead-record ./mine.yaml --seeds 1-500
  lockstep run --impl redis/getset-repaired --transport wire
  lockstep run --format text,junit=junit.xml,sarif=lockstep.sarif --budget 5m
  lockstep run abandoned --impl redis/setnx-px --seeds 7
  lockstep run abandoned --keep first
  lockstep run --resume`,
		RunE: r.run,
	}
	r.flags.register(cmd, "seeds to run, such as 1-500, 7 or 1-50,100-120 (default as many as each expectation needs)",
		"folder for the folders of runs, and for what --resume needs (default "+outputFolder+")")
	r.flags.registerBudget(cmd)
	r.account.register(cmd)
	flags := cmd.Flags()
	flags.StringSliceVar(&r.flags.implementations, "impl", nil,
		"implementation to run, several with commas (default those that the scenario names)")
	flags.StringVar(&r.strategy, "strategy", "", "strategy to run all seeds with: "+strings.Join(strategy.Names(), ", ")+
		" (default what each scenario says)")
	flags.BoolVar(&r.twice, "twice", false, "run every seed twice and compare; otherwise only those that are reported")
	flags.BoolVar(&r.resume, "resume", false, "go on with the campaign in the folder of --out where it stopped")
	flags.StringVar(&r.shard, "shard", "", "run one part of the seeds: 1/4 to 4/4 are the four parts of a campaign")
	flags.IntVar(&r.mostFailures, "max-failures", 0,
		"stop after so many rows that did not come out as expected (default never)")
	flags.StringVar(&r.keeping, "keep", "", "which runs get a folder: unexpected (violations that nobody expects), first "+
		"(also the first run of each row) or all (default unexpected; of a single run, all)")
	registerPinned(cmd, &r.pinned)
	return cmd
}

func (r *runCommand) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	campaign, err := r.campaign(cmd, args)
	if err != nil {
		return err
	}
	account, err := r.account.read(r.flags.out)
	if err != nil {
		return err
	}
	if account.keeping, err = parseKeeping(r.keeping); err != nil {
		return err
	}
	if account.pinned, err = playPinned(cmd, r.pinned, campaign.Implementations); err != nil {
		return err
	}
	if campaign, err = r.keep(cmd, args, campaign); err != nil {
		return err
	}
	defer campaign.Journal.Close()
	campaign.Baseline, campaign.MostFailures = account.baseline, r.mostFailures
	enough, cancel := r.flags.enough(ctx)
	defer cancel()
	campaign.Enough, campaign.Evenly = enough, enough != nil
	p := newProgress(cmd.ErrOrStderr(), "running")
	follow := account.follow(campaign)
	campaign.Progress = func(now scenarios.Progress) {
		p.seeds(now.Done, now.All)
		if now.Finished != nil {
			p.row(now.Finished)
		}
		follow(now)
	}
	rows, err := campaign.Run(ctx)
	p.end()
	if err != nil {
		return err
	}
	return account.tell(ctx, cmd, campaign, rows)
}

// campaign reads the flags and loads the scenarios.
func (r *runCommand) campaign(cmd *cobra.Command, args []string) (*scenarios.Campaign, error) {
	s, err := r.flags.read(cmd)
	if err != nil {
		return nil, err
	}
	c := &scenarios.Campaign{
		Seeds: s.seeds, Transport: s.transport, Workers: s.workers, Twice: r.twice, Clock: clockwork.NewRealClock(),
	}
	if c.Implementations, err = checkImplementations(r.flags.implementations); err != nil {
		return nil, err
	}
	if c.Strategy = r.strategy; r.strategy != "" {
		if err := strategy.Check(r.strategy); err != nil {
			return nil, usage("--strategy: %w", err)
		}
	}
	if cmd.Flags().Changed("shard") {
		if c.Shard, err = scenarios.ParseShard(r.shard); err != nil {
			return nil, usage("--shard: %w", err)
		}
	}
	if cmd.Flags().Changed("max-failures") && r.mostFailures < 1 {
		return nil, usage("--max-failures %d: want a number above zero", r.mostFailures)
	}
	if len(args) == 0 {
		c.Scenarios = scenarios.Library()
	}
	for _, word := range args {
		scenario, err := scenarios.Load(word)
		if err != nil {
			return nil, err
		}
		c.Scenarios = append(c.Scenarios, scenario)
	}
	if !cmd.Flags().Changed("out") {
		r.flags.out = outputFolder
	}
	if err := checkFolder(r.flags.out); err != nil {
		return nil, usage("--out: %w", err)
	}
	return c, nil
}

// keep gives the campaign a journal: a new one, or the one that is there. Where nothing else says what to run, that is
// what is run.
func (r *runCommand) keep(
	cmd *cobra.Command, args []string, c *scenarios.Campaign,
) (*scenarios.Campaign, error) {
	dir, build := campaignFolder(r.flags.out, c.Shard), thisBuild()
	if !r.resume {
		return r.begin(dir, c, build)
	}
	journal, err := scenarios.ReadJournal(dir)
	if errors.Is(err, scenarios.ErrNoJournal) {
		fmt.Fprintf(cmd.ErrOrStderr(), "nothing to go on with in %s: the campaign begins\n", visible.Line(dir))
		return r.begin(dir, c, build)
	}
	if err != nil {
		return nil, err
	}
	kept, err := journal.Campaign()
	if err != nil {
		return nil, err
	}
	wanted := kept
	for _, flag := range []string{"impl", "seeds", "transport", "strategy", "twice"} {
		if len(args) > 0 || cmd.Flags().Changed(flag) {
			wanted = c
		}
	}
	if err := journal.Fits(wanted, build); err != nil {
		return nil, fmt.Errorf("--resume: %s: %w; run it without --resume to begin anew", dir, err)
	}
	kept.Workers, kept.Clock = c.Workers, c.Clock
	fmt.Fprintf(cmd.ErrOrStderr(), "going on after %s\n", count(journal.Seeds(), "seed"))
	return kept, journal.Resume()
}

// begin gives the campaign a new journal, unless there is nothing to run.
func (r *runCommand) begin(dir string, c *scenarios.Campaign, b scenarios.Build) (*scenarios.Campaign, error) {
	size, err := c.Size()
	if err != nil {
		return nil, err
	}
	if size == 0 {
		return nil, &exitError{
			exitNothingRan, "nothing ran: the scenario states no expectation; name an implementation with --impl",
		}
	}
	if err = os.Remove(filepath.Join(dir, index.ResultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, internal(cause(err))
	}
	if c.Journal, err = scenarios.BeginJournal(dir, c, b); err != nil {
		return nil, internal(err)
	}
	return c, nil
}

// thisBuild names this program, and this very build of it as far as its file can be read.
func thisBuild() scenarios.Build {
	b := scenarios.Build{Version: programVersion()}
	name, err := os.Executable()
	if err != nil {
		return b
	}
	file, err := os.Open(name)
	if err != nil {
		return b
	}
	defer file.Close()
	sum := xxhash.New()
	if _, err := io.Copy(sum, file); err == nil {
		b.Sum = fmt.Sprintf("%016x", sum.Sum64())
	}
	return b
}

// resultPause is how long the result that stands in the folder may be behind while the campaign runs.
const resultPause = time.Second

// follow keeps the result of the rows that are finished in the folder of the campaign while it runs, so that
// "lockstep serve" can show how far it is.
func (a *account) follow(c *scenarios.Campaign) func(scenarios.Progress) {
	var finished []*scenarios.Row
	written := time.Time{}
	return func(now scenarios.Progress) {
		if now.Finished != nil {
			finished = append(finished, now.Finished)
		}
		if c.Clock.Since(written) < resultPause {
			return
		}
		written = c.Clock.Now()
		result := resultOf(finished, c.Shard, nil)
		result.Complete, result.Seeds, result.AllSeeds = false, now.Done, now.All
		_ = a.keepResult(c.Shard, result) // the last one counts
	}
}

// keepResult writes the result to the folder of the campaign and brings the index up to date. Only one campaign writes
// to its folder, so that the name of the unfinished file can always be the same: what a kill leaves is written over.
func (a *account) keepResult(shard scenarios.Shard, result *ci.Campaign) error {
	dir := campaignFolder(a.out, shard)
	partial := filepath.Join(dir, "."+index.ResultFile+".partial")
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = writeFile(partial, func(w io.Writer) error { return ci.WriteJSON(w, result) })
	}
	if err == nil {
		err = os.Rename(partial, filepath.Join(dir, index.ResultFile))
	}
	if err == nil && result.Complete {
		err = index.Write(a.out)
	}
	if err != nil {
		return internal(cause(err))
	}
	return nil
}
