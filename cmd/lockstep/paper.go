package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// parsePaper reads the bound of the first magnitude as a formula of the second: "lease", "lease - 496ms" or
// "2*lease + 1ms".
func parsePaper(text string, x, y scenarios.Axis) (*reports.PhaseBound, error) {
	name := y.Magnitude.String()
	mistake := usage("--paper %q: want the bound of %s by %s, such as %q", text, x.Magnitude, name, name+" - 10ms")
	bound := &reports.PhaseBound{Factor: 1, Formula: fmt.Sprintf("%s = %s", x.Magnitude, strings.TrimSpace(text))}
	rest := strings.TrimSpace(text)
	if factor, after, scaled := strings.Cut(rest, "*"); scaled {
		n, err := strconv.ParseInt(strings.TrimSpace(factor), 10, 32)
		if err != nil {
			return nil, mistake
		}
		bound.Factor, rest = n, strings.TrimSpace(after)
	}
	rest, known := strings.CutPrefix(rest, name)
	if !known {
		return nil, mistake
	}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return bound, nil
	}
	sign := int64(1)
	if rest[0] == '-' {
		sign = -1
	} else if rest[0] != '+' {
		return nil, mistake
	}
	offset, err := parseOffset(strings.TrimSpace(rest[1:]), x.Magnitude.Duration())
	if err != nil {
		return nil, mistake
	}
	bound.Offset = sign * offset
	return bound, nil
}

// parseOffset reads a value of a magnitude without its sign.
func parseOffset(text string, duration bool) (int64, error) {
	if duration {
		d, err := time.ParseDuration(text)
		if d < 0 {
			return 0, fmt.Errorf("%q is below zero", text)
		}
		return int64(d), err
	}
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err
}
