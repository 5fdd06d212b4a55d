package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/lockstep-sim/lockstep/internal/visible"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// The exit codes.
const (
	exitExpected         = 0
	exitViolation        = 1
	exitUnknown          = 2
	exitDiffers          = 3
	exitNothingRan       = 4
	exitNotDeterministic = 5
	exitUsage            = 64
	exitInternal         = 70
)

const exitHelp = `Exit codes:
  0   everything came out as expected
  1   a violation was found
  2   unknown: something was not put to the test, or not often enough
  3   something differs from what the scenario expects, or from the baseline
  4   nothing ran
  5   a seed did not run the same way twice
  64  the command line or a file is wrong
  70  lockstep itself failed`

// exitCode is the exit code for a conclusion.
func exitCode(c scenarios.Conclusion) int {
	return [...]int{
		scenarios.AsExpected: exitExpected, scenarios.NothingRan: exitNothingRan, scenarios.Inconclusive: exitUnknown,
		scenarios.Violation: exitViolation, scenarios.Unexpected: exitDiffers,
		scenarios.NotDeterministic: exitNotDeterministic, scenarios.Broken: exitInternal,
	}[c]
}

// exitError ends the command with a code. An empty message means that all has been said.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// exit ends the command with a code when everything has been said; nil for 0.
func exit(code int) error {
	if code == exitExpected {
		return nil
	}
	return &exitError{code: code}
}

// internal marks an error as a failure of the program or of the machine that it runs on.
func internal(err error) error {
	return &exitError{exitInternal, err.Error()}
}

// usageError is a mistake on the command line, for which the help of the command is the place to look.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usage words a mistake on the command line.
func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// outcome turns what a command returned into the line to print and the exit code. Errors without a code of their own
// are about the command line or a file.
func outcome(err error) (line string, code int) {
	var e *exitError
	switch {
	case err == nil:
		return "", exitExpected
	case errors.As(err, &e):
		return e.message, e.code
	default:
		return err.Error(), exitUsage
	}
}

// oneLine joins the lines of a message, and shows what in it would paint over a terminal.
func oneLine(message string) string {
	return visible.Line(strings.Join(strings.Fields(message), " "))
}

// describePanic says in one line what went wrong and where. It is for the deferred function that recovers.
func describePanic(cause any) string {
	message := oneLine(fmt.Sprint(cause))
	if place := panicPlace(); place != "" {
		message += " at " + place
	}
	return "internal error, please report it: " + message
}

// panicPlace is the innermost function of this program that panicked.
func panicPlace() string {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers[:])])
	panicking := false
	for {
		frame, more := frames.Next()
		if panicking && !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s, line %d", frame.Function, frame.Line)
		}
		panicking = panicking || frame.Function == "runtime.gopanic"
		if !more {
			return ""
		}
	}
}
