package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/foreign"
	"github.com/lockstep-sim/lockstep/checker/model"
	"github.com/lockstep-sim/lockstep/internal/visible"
)

// checkCommand is "check" with its flags.
type checkCommand struct {
	format     string
	model      string
	properties []string
	promises   []string
	lease      time.Duration
	liveness   time.Duration
	output     string
	trim, page string

	kind    foreign.Format
	options checker.Options
	object  foreign.Object // that --model names, empty for a lock or no model
}

const checkLong = `Check judges histories that were recorded anywhere: by lockstep, by Jepsen, by a test of your own.
A FILE may be "-" for the standard input. The format is found out; what the file does not say and had to be assumed is
told.

Without --property all properties are judged. mutual-exclusion and linearizability count in any case; of the others
those that the history does not put to the test are listed and do not count. A property that is asked for by name
counts: unknown is not a pass.

A file that cannot be read is told on the standard error, and the others are judged all the same.

`

const checkExitHelp = `Exit codes; of several files the first of these that came of one:
  1   a violation was found
  64  the command line or a file is wrong
  2   unknown: something was not put to the test, or the judging was interrupted
  0   no violation was found
  70  lockstep itself failed, which ends the judging`

func newCheck() *cobra.Command {
	c := &checkCommand{}
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Judges recorded histories of locks",
		Long:  checkLong + checkLists() + "\n" + checkExitHelp,
		Example: `  lockstep check history.jsonl
  lockstep check etcd.edn --property linearizability,mutual-exclusion --model mutex
  zcat run.json.gz | lockstep check - --output json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("want at least one file, or - for the standard input")
			}
			return nil
		},
		RunE: c.run,
	}
	flags := cmd.Flags()
	flags.StringVar(&c.format, "format", string(foreign.Auto), "format of the files: "+joinProperties(foreign.Formats()))
	flags.StringVar(&c.model, "model", "",
		"object that linearizability is judged by (default what the promises make of a lock)")
	flags.StringSliceVar(&c.properties, "property", nil, "property to judge, several with commas (default all)")
	flags.StringSliceVar(&c.promises, "promise", nil,
		"what the lock promises: reentrant, fenced, leased, fair, loss-told (default what the model does)")
	flags.DurationVar(&c.lease, "lease", 0,
		"how long a hold lasts by itself, counted from its call, where the file does not say; such a lock is leased "+
			"(default unknown)")
	flags.DurationVar(&c.liveness, "liveness-bound", 0,
		"how long a lock that is waited for may be without a holder once faults are over (default not judged)")
	flags.StringVar(&c.output, "output", "text", "text, or json: one object a line for each file")
	flags.StringVar(&c.trim, "trim", "", "write the few events that show the first violation to this file, as a history")
	flags.StringVar(&c.page, "page", "",
		"write Porcupine's page of the first violation of a lock to this file, as HTML; where all answers fit, that of "+
			"the first lock")
	return cmd
}

// checkLists lists the properties and models with a line each.
func checkLists() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "Properties:")
	for _, p := range slices.Concat(checker.Properties(), checker.Groups()) {
		fmt.Fprintf(table, "  %s\t%s\n", p, p.About())
	}
	fmt.Fprintln(table, "\nModels:")
	for _, m := range model.All() {
		name, about := modelKind(m.Name()), m.About()
		if _, fixed := model.Named(name + ":2"); fixed != nil {
			fmt.Fprintf(table, "  %s\t%s\n", name, about)
			continue
		}
		if m.Name() == name { // a limit is a choice
			fmt.Fprintf(table, "  %s\t%s\n", name, about)
			about = "as " + name + ", to a depth of N"
		}
		fmt.Fprintf(table, "  %s:N\t%s\n", name, about)
	}
	fmt.Fprintf(table, "  %s\tnot a lock: one value with read, write and cas\n", foreign.Register)
	fmt.Fprintf(table, "  %s\tnot a lock: values with get, put and append\n", foreign.KeyValue)
	table.Flush()
	return b.String()
}

// modelKind is the name of a model without its parameter.
func modelKind(name string) string {
	kind, _, _ := strings.Cut(name, ":")
	return kind
}

// read checks the flags.
func (c *checkCommand) read(args []string) error {
	var err error
	if c.kind, err = foreign.ParseFormat(c.format); err != nil {
		return usage("--format: %w", err)
	}
	if c.output != "text" && c.output != "json" {
		return usage("--output %q: want text or json", c.output)
	}
	if c.lease < 0 || c.liveness < 0 {
		return usage("--lease and --liveness-bound: want a time above zero, such as 2s")
	}
	if (c.page != "" || c.trim != "") && len(args) > 1 {
		return usage("--trim and --page show one violation: want one file, not %d", len(args))
	}
	if n := slices.Index(args, "-"); n >= 0 && slices.Contains(args[n+1:], "-") {
		return usage("the standard input can be read only once")
	}
	c.options.LivenessBound = c.liveness
	c.options.Promises.Leased = c.lease > 0
	for _, name := range c.properties {
		p := checker.Property(strings.TrimSpace(name))
		if len(p.Members()) == 0 {
			return usage("--property: there is no property %q: want one of %s", name, joinProperties(checker.Properties()))
		}
		c.options.Properties = append(c.options.Properties, p)
	}
	if err := c.readModel(); err != nil {
		return err
	}
	return c.readPromises()
}

// readModel takes over the model and what a lock of that kind promises.
func (c *checkCommand) readModel() error {
	switch c.model {
	case "":
		return nil
	case string(foreign.Register), string(foreign.KeyValue):
		c.object = foreign.Object(c.model)
		return nil
	}
	m, err := model.Named(c.model)
	if err != nil {
		if _, unknown := model.Named(modelKind(c.model)); unknown == nil {
			return usage("--model: %w", err) // it is about the parameter
		}
		return usage("--model: %w, %s, %s", err, foreign.Register, foreign.KeyValue)
	}
	c.options.Model = m
	promises := &c.options.Promises
	switch m := m.(type) {
	case model.Reentrant:
		promises.Reentrant = true
	case model.Fenced:
		promises.Fenced = true
	case model.ReentrantFenced:
		promises.Reentrant, promises.Fenced = true, true
	case model.Semaphore:
		promises.Permits = m.Permits
	case model.Lease, model.Takeover, model.TimedLease:
		promises.Leased, promises.Reentrant = true, true
	}
	return nil
}

func (c *checkCommand) readPromises() error {
	for _, name := range c.promises {
		promises := &c.options.Promises
		switch strings.TrimSpace(name) {
		case "reentrant":
			promises.Reentrant = true
		case "fenced":
			promises.Fenced = true
		case "leased":
			promises.Leased = true
		case "fair":
			promises.Fair = true
		case "loss-told":
			promises.LossTold = true
		default:
			return usage("--promise %q: want reentrant, fenced, leased, fair or loss-told", name)
		}
	}
	return nil
}

func (c *checkCommand) run(cmd *cobra.Command, args []string) error {
	if err := c.read(args); err != nil {
		return err
	}
	code, unread := exitExpected, 0
	for i, name := range args {
		checked, err := interruptible(cmd.Context(), func() (*checked, error) { return c.check(cmd.InOrStdin(), name) })
		switch {
		case err == nil:
			code = worse(code, checked.code(len(c.options.Properties) > 0))
			err = c.tell(cmd, checked, i > 0)
		case isUnread(err) && len(args) > 1:
			unread++
			code = worse(code, exitUsage)
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", programName(), oneLine(err.Error()))
			err = c.tellUnread(cmd.OutOrStdout(), name, err)
		case isUnread(err):
			err = errors.Join(err, c.tellUnread(cmd.OutOrStdout(), name, err))
		}
		if err != nil {
			return atLeast(code, err)
		}
	}
	if unread > 0 {
		return &exitError{code, fmt.Sprintf("%d of %s could not be read", unread, count(len(args), "file"))}
	}
	return exit(code)
}

// tell says what came of a file, and writes what was asked for about it.
func (c *checkCommand) tell(cmd *cobra.Command, checked *checked, apart bool) error {
	out := cmd.OutOrStdout()
	var err error
	if c.output == "json" {
		err = json.NewEncoder(out).Encode(checked)
	} else {
		if apart {
			fmt.Fprintln(out)
		}
		err = checked.write(out)
	}
	if err != nil {
		return internal(err)
	}
	return c.keep(cmd.Context(), cmd.ErrOrStderr(), checked)
}

// tellUnread gives a file that could not be read its line of JSON as well.
func (c *checkCommand) tellUnread(out io.Writer, name string, unread error) error {
	if c.output != "json" {
		return nil
	}
	line := struct {
		File  string `json:"file"`
		Error string `json:"error"`
	}{name, oneLine(unread.Error())}
	if err := json.NewEncoder(out).Encode(line); err != nil {
		return internal(err)
	}
	return nil
}

// isUnread tells whether an error is about a file that was to be judged, and not about the command line or the program.
func isUnread(err error) bool {
	_, code := outcome(err)
	return code == exitUsage && !errors.As(err, new(usageError))
}

// atLeast is an error that ends the command, with the code of what was found before it where that is worse.
func atLeast(found int, err error) error {
	if message, code := outcome(err); worse(found, code) != code {
		return &exitError{worse(found, code), message}
	}
	return err
}

// worse merges the exit codes of two files: a failure of the program ends everything, a violation must not be hidden by
// another file that cannot be read, and what cannot be read is not even unknown.
func worse(a, b int) int {
	for _, code := range []int{exitInternal, exitViolation, exitUsage, exitUnknown} {
		if a == code || b == code {
			return code
		}
	}
	return exitExpected
}

// checked is what came of one file.
type checked struct {
	File   string         `json:"file"`
	Format foreign.Format `json:"format"`
	Object foreign.Object `json:"object"`
	// Model is the name of what linearizability is judged by; it is assumed where --model does not give it.
	Model        string `json:"model"`
	AssumedModel bool   `json:"assumed_model"`

	Events     int               `json:"events"`
	Operations int               `json:"operations"`
	Clients    int               `json:"clients"`
	Keys       int               `json:"keys"`
	Assumed    []string          `json:"assumed"`
	Verdicts   []checker.Verdict `json:"verdicts"`

	history *checker.History
}

// check reads and judges one file.
func (c *checkCommand) check(stdin io.Reader, name string) (*checked, error) {
	recording, name, err := readHistory(stdin, name, c.kind)
	if err != nil {
		return nil, err
	}
	if c.object != "" {
		recording.Object = c.object
	} else if c.options.Model != nil {
		recording.Object = foreign.Lock
	}
	if recording.Object != foreign.Lock && (c.trim != "" || c.page != "") {
		return nil, usage("--trim and --page are only for locks, and %s is the history of a %s", name, recording.Object)
	}
	recording.SupplyLease(c.lease)
	out := &checked{
		File: name, Format: recording.Format, Object: recording.Object, Assumed: recording.Assumed,
		history: &recording.History,
	}
	if out.Assumed == nil {
		out.Assumed = []string{}
	}
	out.count()
	c.judge(out)
	return out, nil
}

// judge asks whoever knows the object.
func (c *checkCommand) judge(out *checked) {
	h := out.history
	if out.Object != foreign.Lock {
		out.Model, out.AssumedModel = string(out.Object), c.object == ""
		out.Verdicts = c.judgeObject(h, out.Object)
		return
	}
	out.Model, out.AssumedModel = modelOf(c.options)
	out.Verdicts = checker.Check(h, c.options)
}

// judgeObject judges what is no lock. It has no property but one.
func (c *checkCommand) judgeObject(h *checker.History, object foreign.Object) []checker.Verdict {
	if c.options.Properties == nil {
		return []checker.Verdict{foreign.Linearizable(h, object, 0)}
	}
	var verdicts []checker.Verdict
	for _, p := range c.options.Properties {
		if p == checker.Linearizability {
			verdicts = append(verdicts, foreign.Linearizable(h, object, 0))
			continue
		}
		why := fmt.Sprintf("this is asked of locks, and the history is that of a %s", object)
		verdicts = append(verdicts, checker.Verdict{Property: p, Result: checker.Unknown, Why: why})
	}
	return verdicts
}

// modelOf names the lock object that a history is compared with, and says whether it was assumed.
func modelOf(options checker.Options) (name string, assumed bool) {
	switch promises := options.Promises; {
	case options.Model != nil:
		return options.Model.Name(), false
	case promises.Leased:
		return model.Lease{}.Name(), true
	case promises.Reentrant:
		return model.Reentrant{}.Name(), true
	default:
		return model.Owner{}.Name(), true
	}
}

// count takes stock of a history.
func (out *checked) count() {
	out.Events = len(out.history.Events)
	clients, keys := make(map[int]bool), make(map[string]bool)
	for i := range out.history.Events {
		e := &out.history.Events[i]
		if e.Process < 0 || e.Type != checker.Invoke {
			continue
		}
		out.Operations++
		clients[e.Process] = true
		if out.Object != foreign.Lock || e.F == checker.Acquire || e.F == checker.TryAcquire || e.F == checker.Release {
			keys[e.Key] = true
		}
	}
	out.Clients, out.Keys = len(clients), len(keys)
}

// code is the exit code for one file. Unknown is not a pass, except for what was neither asked for nor put to the test
// and is not what a lock is for.
func (out *checked) code(asked bool) int {
	code := exitExpected
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		counts := asked || v.GaveUp || v.Property == checker.MutualExclusion || v.Property == checker.Linearizability
		switch {
		case v.Result == checker.Violated:
			return exitViolation
		case v.Result == checker.Unknown && counts:
			code = exitUnknown
		}
	}
	return code
}

// write tells a person what came of the file. The words of the file are written so that they do nothing to a terminal,
// to the table or to the log of a build.
func (out *checked) write(w io.Writer) error {
	what := "key"
	if out.Object == foreign.Lock {
		what = "lock"
	}
	writeLine(w, "", fmt.Sprintf("%s: %s, %s by %s on %s", out.File, out.Format, count(out.Operations, "operation"),
		count(out.Clients, "client"), count(out.Keys, what)))
	for _, assumed := range out.Assumed {
		writeLine(w, "  assumed: ", assumed)
	}
	how := ""
	if out.AssumedModel {
		how = ", assumed"
	}
	writeLine(w, "  model: ", out.Model+how)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		result := string(v.Result)
		if v.Skipped {
			result = "skipped"
		}
		why := v.Why
		if len(v.By) > 0 {
			why += " (by " + strings.Join(v.By, ", ") + ")"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", result, v.Property, visible.Line(why))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return out.writeViolations(w)
}

// writeLine writes one line of a text that may have words of others in it.
func writeLine(w io.Writer, before, text string) {
	fmt.Fprintf(w, "%s%s\n", before, visible.Line(text))
}

// writeViolations lists the violations, with the events that show them.
func (out *checked) writeViolations(w io.Writer) error {
	const most = 10
	for i := range out.Verdicts {
		v := &out.Verdicts[i]
		if len(v.Violations) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s: %d found\n", v.Property, v.Found)
		for k := range v.Violations {
			if k == most {
				fmt.Fprintf(w, "  and %d more\n", v.Found-most)
				break
			}
			x := &v.Violations[k]
			line := visible.Line(fmt.Sprintf("%s (%s)", x.Text, out.evidence(x)))
			if _, err := fmt.Fprintf(w, "  %s\n", line); err != nil {
				return err
			}
		}
	}
	return nil
}

// evidence says which events show a violation, what led to it, and what the server said at the end, if it said why.
func (out *checked) evidence(x *checker.Violation) string {
	words := make([]string, len(x.Events))
	for i, n := range x.Events {
		words[i] = fmt.Sprint(n)
	}
	evidence := "events " + strings.Join(words, ", ")
	if x.Cause != "" {
		evidence += fmt.Sprintf("; cause: %s", x.Cause)
	}
	if len(x.Events) == 0 {
		return evidence
	}
	events := out.history.Events
	last, found := slices.BinarySearchFunc(events, x.Events[len(x.Events)-1], func(e checker.Event, index int64) int {
		return cmp.Compare(e.Index, index)
	})
	if found && events[last].Error != "" {
		evidence += fmt.Sprintf("; error of the last: %s", events[last].Error)
	}
	return evidence
}

// keep writes the files that were asked for about the first violation.
func (c *checkCommand) keep(ctx context.Context, notes io.Writer, out *checked) error {
	if c.page == "" && c.trim == "" {
		return nil
	}
	v := out.firstViolated()
	if v == nil {
		return c.keepFitting(ctx, notes, out)
	}
	x := &v.Violations[0]
	if c.trim != "" {
		short, err := interruptible(ctx, func() (*checker.History, error) {
			short, shows := checker.Trim(out.history, v.Property, *x, c.options)
			if !shows {
				return nil, internal(fmt.Errorf("--trim: the violation of %s does not show again", v.Property))
			}
			return short, nil
		})
		if err != nil {
			return err
		}
		err = replaceFile(c.trim, func(w io.Writer) error { return checker.WriteHistory(w, short) })
		if err != nil {
			return fmt.Errorf("--trim: %w", err)
		}
		writeLine(notes, "", fmt.Sprintf("what shows the violation of %s is in %s: %d of %d events", v.Property, c.trim,
			len(short.Events), out.Events))
	}
	if c.page == "" {
		return nil
	}
	err := c.writePage(ctx, func(w io.Writer) error { return checker.WritePage(w, out.history, c.options, x) })
	if err != nil {
		return err
	}
	writeLine(notes, "", fmt.Sprintf("the page of %s is in %s", v.Property, c.page))
	return nil
}

// keepFitting writes the page of the first lock of a history in which no lock was found at fault, if its answers are
// known to fit.
func (c *checkCommand) keepFitting(ctx context.Context, notes io.Writer, out *checked) error {
	fits := slices.ContainsFunc(out.Verdicts, func(v checker.Verdict) bool {
		return v.Property == checker.Linearizability && v.Result == checker.Holds && !v.Skipped
	})
	if c.page == "" || out.Object != foreign.Lock || !fits {
		fmt.Fprintln(notes, "no lock was found at fault: there is nothing to write")
		return nil
	}
	lock := out.history.Locks()[0]
	err := c.writePage(ctx, func(w io.Writer) error { return checker.WriteLockPage(w, out.history, c.options, lock) })
	if err != nil {
		return err
	}
	writeLine(notes, "", fmt.Sprintf("no lock was found at fault; the page of %s is in %s", lock, c.page))
	return nil
}

// writePage writes one of Porcupine's pages to the file that was asked for.
func (c *checkCommand) writePage(ctx context.Context, write func(io.Writer) error) error {
	page, err := interruptible(ctx, func() (string, error) {
		var page strings.Builder
		err := write(&page)
		return page.String(), err
	})
	if err == nil {
		err = replaceText(c.page, page)
	}
	if err != nil {
		return fmt.Errorf("--page: %w", err)
	}
	return nil
}

// firstViolated is the first property of a lock that is violated, nil if there is none.
func (out *checked) firstViolated() *checker.Verdict {
	if out.Object != foreign.Lock {
		return nil
	}
	for i := range out.Verdicts {
		if v := &out.Verdicts[i]; len(v.Violations) > 0 {
			return v
		}
	}
	return nil
}
