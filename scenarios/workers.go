package scenarios

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/measure"
	"github.com/lockstep-sim/lockstep/faults"
	"github.com/lockstep-sim/lockstep/sim"
)

// Workers runs seeds in processes of their own, each on one processor. One world gains nothing from a second processor,
// and a world that has got stuck or has leaked goroutines cannot spoil the next one in another process.
//
// A worker reads tasks as JSON lines from its standard input and writes one result line for each. It ends with its
// input.
type Workers struct {
	// Command makes the command that starts one worker: a program that calls ServeWorker on its standard streams. Without
	// it everything is run in this process, one seed after the other.
	Command func(ctx context.Context) *exec.Cmd
	// Number is how many work at the same time; 1 when it is less.
	Number int
}

// task is one seed to run. Scenario is the text of a file: it is sent to each worker once, with the first task that
// needs it, and Row names it afterwards.
type task struct {
	Row            int       `json:"row"`
	Place          int       `json:"place"`           // the seed's place among the seeds of its row
	Again          bool      `json:"again,omitempty"` // it has been run and is run again to confirm what it showed
	Scenario       *source   `json:"scenario,omitempty"`
	Implementation string    `json:"implementation"`
	Transport      Transport `json:"transport"`
	Strategy       string    `json:"strategy,omitempty"`
	Seed           uint64    `json:"seed"`
	Twice          bool      `json:"twice,omitempty"`
	// StopAt is that of the Setup.
	StopAt []checker.Property `json:"stop_at,omitempty"`
	// Variation sets one quantity of the scenario, and asks for the figures of the run.
	Variation *Variation `json:"variation,omitempty"`
}

// source is where the text of a scenario is from, for its errors, and the text.
type source struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// seedResult is what one seed showed, as far as a campaign counts it.
type seedResult struct {
	Row        int             `json:"row"`
	Place      int             `json:"place"`
	Again      bool            `json:"again,omitempty"`
	Seed       uint64          `json:"seed"`
	Hash       uint64          `json:"hash"`
	Verdicts   []seedVerdict   `json:"verdicts,omitempty"`
	Mechanisms []seedMechanism `json:"mechanisms,omitempty"`
	// Strikes holds for each fault of the scenario how often it struck, -1 = it was not in the plan of this seed.
	Strikes []int `json:"strikes,omitempty"`
	// Marks counts how often the run came to where locks break, in the order of strategy.AllMarks.
	Marks []int    `json:"marks,omitempty"`
	Leaks []string `json:"leaks,omitempty"`
	// Stopped is that of the Outcome.
	Stopped checker.Property `json:"stopped,omitempty"`
	// Differs says that the second of two runs was another one.
	Differs bool             `json:"differs,omitempty"`
	Error   string           `json:"error,omitempty"`
	Summary *measure.Summary `json:"summary,omitempty"` // if it was asked for
}

type seedVerdict struct {
	Property checker.Property `json:"property"`
	Result   checker.Result   `json:"result"`
	Skipped  bool             `json:"skipped,omitempty"`
	GaveUp   bool             `json:"gave_up,omitempty"`
}

type seedMechanism struct {
	Ref      string           `json:"ref"`
	Property checker.Property `json:"property"`
}

// ServeWorker is what a worker process does: it runs the tasks that come in until in ends. Every task gets its answer;
// an error means that the other side cannot be talked to.
func ServeWorker(in io.Reader, out io.Writer) error {
	tasks := json.NewDecoder(in)
	results := json.NewEncoder(out)
	known := map[int]*Scenario{}
	for {
		var t task
		if err := tasks.Decode(&t); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("worker: a task cannot be read: %w", err)
		}
		result := t.perform(known)
		if err := results.Encode(result); err != nil {
			return fmt.Errorf("worker: a result cannot be written: %w", err)
		}
	}
}

// perform runs the task, twice if so asked.
func (t *task) perform(known map[int]*Scenario) seedResult {
	result := seedResult{Row: t.Row, Place: t.Place, Again: t.Again, Seed: t.Seed}
	if t.Scenario != nil {
		s, err := Parse(t.Scenario.Name, []byte(t.Scenario.Text))
		if err == nil && t.Variation != nil {
			s, err = t.Variation.apply(s)
		}
		if err != nil {
			result.Error = err.Error()
			return result
		}
		known[t.Row] = s
	}
	if known[t.Row] == nil {
		result.Error = "the worker was not told the scenario"
		return result
	}
	setup := Setup{
		Scenario: known[t.Row], Implementation: t.Implementation, Seed: t.Seed, Transport: t.Transport,
		Strategy: t.Strategy, Trace: sim.HashOnly, StopAt: t.StopAt,
	}
	result.run(setup, t.Variation != nil)
	if t.Twice && result.Error == "" {
		again := seedResult{}
		again.run(setup, false)
		result.Differs = again.Hash != result.Hash || again.Error != result.Error
	}
	return result
}

// run runs the seed once and notes what it showed. A panic is an answer as well: it must not cost the other seeds.
func (r *seedResult) run(setup Setup, measured bool) {
	defer func() {
		if cause := recover(); cause != nil {
			r.Error = fmt.Sprintf("panic: %v", cause)
		}
	}()
	outcome, err := Run(new(testing.T), setup)
	if err == nil {
		r.Hash, r.Leaks, r.Stopped, err = outcome.Hash, outcome.Leaks, outcome.Stopped, outcome.Err
	}
	if err != nil {
		r.Error = firstLine(err.Error())
		return
	}
	r.Marks = outcome.Marks
	for _, v := range outcome.Verdicts {
		r.Verdicts = append(r.Verdicts, seedVerdict{v.Property, v.Result, v.Skipped, v.GaveUp})
	}
	for _, f := range outcome.Mechanisms {
		r.Mechanisms = append(r.Mechanisms, seedMechanism{f.Mechanism.Ref, f.Property})
	}
	r.Strikes = strikesByTemplate(setup, outcome)
	if !measured {
		return
	}
	if r.Summary, err = summarise(outcome); err != nil {
		r.Error = err.Error()
	}
}

// strikesByTemplate tells for each fault of the scenario how often it struck, -1 for one that was not drawn.
func strikesByTemplate(setup Setup, outcome *Outcome) []int {
	expectation, _ := setup.Scenario.Expects(setup.Implementation)
	strikes := make([]int, len(setup.Scenario.templates(expectation)))
	for i := range strikes {
		strikes[i] = -1
	}
	for i, origin := range outcome.origins {
		strikes[origin] = outcome.Strikes[i]
	}
	return strikes
}

// templates are the scenario's faults for an implementation.
func (s *Scenario) templates(e Expectation) []faults.Template {
	if e.Faults != nil {
		return e.Faults
	}
	return s.Faults
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// tasksAhead is how many tasks a worker has at a time: one that it runs and one that waits, so that it never idles
// while its result is on the way.
const tasksAhead = 2

// run has the workers perform what next offers and hands every result to absorb, both from the calling goroutine. next
// is asked again after each result, since results can lead to new tasks; when it has none and no result is missing, run
// returns. The end of ctx ends everything at once.
func (w Workers) run(ctx context.Context, next func() (task, bool), absorb func(seedResult)) error {
	if w.Command == nil {
		return runHere(ctx, next, absorb)
	}
	ctx, cancel := context.WithCancel(ctx)
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	tasks, results := make(chan task), make(chan seedResult)
	failed := make(chan error, max(w.Number, 1))
	for range max(w.Number, 1) {
		working.Go(func() {
			if err := w.worker(ctx, tasks, results); err != nil {
				failed <- err
			}
		})
	}
	missing := 0
	t, some := next()
	for some || missing > 0 {
		var offer chan task
		if some {
			offer = tasks
		}
		select {
		case offer <- t:
			missing++
			t, some = next()
		case r := <-results:
			missing--
			absorb(r)
			if !some {
				t, some = next()
			}
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// runHere is run without any process.
func runHere(ctx context.Context, next func() (task, bool), absorb func(seedResult)) error {
	known := map[int]*Scenario{}
	for t, some := next(); some; t, some = next() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if known[t.Row] != nil {
			t.Scenario = nil
		}
		absorb(t.perform(known))
	}
	return nil
}

// worker keeps one process at work. A process that dies takes the task that it was at with it; that one is answered
// with an error and the rest goes to a new process. It fails when a process cannot be started.
func (w Workers) worker(ctx context.Context, tasks <-chan task, results chan<- seedResult) error {
	var waiting []task
	for {
		if len(waiting) == 0 {
			select {
			case t := <-tasks:
				waiting = append(waiting, t)
			case <-ctx.Done():
				return nil
			}
		}
		p, err := w.start(ctx)
		if err != nil {
			return err
		}
		waiting = p.work(ctx, waiting, tasks, results)
		why := p.end()
		if ctx.Err() != nil {
			return nil
		}
		if len(waiting) == 0 {
			continue // it died without a task: nothing is lost
		}
		lost := waiting[0]
		waiting = waiting[1:]
		select {
		case results <- seedResult{Row: lost.Row, Place: lost.Place, Again: lost.Again, Seed: lost.Seed, Error: why}:
		case <-ctx.Done():
			return nil
		}
	}
}

// workerProcess is a running worker.
type workerProcess struct {
	command *exec.Cmd
	in      io.WriteCloser
	tasks   *json.Encoder
	answers chan seedResult
	stop    chan struct{} // closed when nobody listens to answers any more
	told    map[int]bool  // the rows whose scenario it knows
	broken  error         // what it said that is no answer; set before answers is closed
	errors  opening       // what it wrote to its standard error
}

func (w Workers) start(ctx context.Context) (*workerProcess, error) {
	command := w.Command(ctx)
	p := &workerProcess{
		command: command, answers: make(chan seedResult), stop: make(chan struct{}), told: map[int]bool{},
	}
	command.Stderr = &p.errors
	in, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("a worker process cannot be started: %w", err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("a worker process cannot be started: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("a worker process cannot be started: %w", err)
	}
	p.in, p.tasks = in, json.NewEncoder(in)
	go p.listen(out)
	return p, nil
}

// listen hands over what the process answers until it says no more.
func (p *workerProcess) listen(out io.Reader) {
	defer close(p.answers)
	lines := json.NewDecoder(bufio.NewReader(out))
	for {
		var r seedResult
		if err := lines.Decode(&r); err != nil {
			if !errors.Is(err, io.EOF) {
				p.broken = err
			}
			return
		}
		select {
		case p.answers <- r:
		case <-p.stop:
			return
		}
	}
}

// work gives tasks to the process, first those that wait, until it dies or ctx ends. It returns the tasks without an
// answer in the order in which the process got them: it was at the first one.
func (p *workerProcess) work(
	ctx context.Context, waiting []task, tasks <-chan task, results chan<- seedResult,
) []task {
	for _, t := range waiting {
		p.give(t)
	}
	for {
		var more <-chan task
		if len(waiting) < tasksAhead {
			more = tasks
		}
		select {
		case t := <-more:
			waiting = append(waiting, t)
			p.give(t)
		case r, alive := <-p.answers:
			if !alive {
				return waiting
			}
			waiting = waiting[1:]
			select {
			case results <- r:
			case <-ctx.Done():
				return waiting
			}
		case <-ctx.Done():
			return waiting
		}
	}
}

// give sends one task. When that fails, the process is dying and its answers are about to end.
func (p *workerProcess) give(t task) {
	if p.told[t.Row] {
		t.Scenario = nil
	}
	p.told[t.Row] = true
	_ = p.tasks.Encode(t)
}

// end makes sure that the process has ended and tells why it did, in one line.
func (p *workerProcess) end() string {
	close(p.stop)
	p.in.Close()
	_ = p.command.Process.Kill()
	why := "without a reason"
	if err := p.command.Wait(); err != nil {
		why = err.Error()
	}
	for range p.answers { // until listen has ended
	}
	if p.broken != nil {
		why = fmt.Sprintf("what it said is no answer: %v", p.broken)
	}
	if line := firstLine(string(p.errors)); line != "" {
		why += ": " + line
	}
	return "the worker process ended: " + why
}

// opening keeps the beginning of what is written to it.
type opening []byte

func (o *opening) Write(p []byte) (int, error) {
	const kept = 400
	*o = append(*o, p[:min(len(p), kept-len(*o))]...)
	return len(p), nil
}
