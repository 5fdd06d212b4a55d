package ci

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
)

// Schema is the version of the JSON form.
const Schema = "lockstep-result/1"

// Campaign is what came of a campaign.
type Campaign struct {
	Schema  string `json:"schema"`
	Version string `json:"version"` // of the program
	// Complete says that the campaign has come to its end, if only by its budget.
	Complete bool   `json:"complete"`
	Shard    string `json:"shard"` // 1/1 is the whole
	Result   string `json:"result"`
	ExitCode int    `json:"exit_code"`
	Seeds    int    `json:"seeds"`     // run, over all rows
	AllSeeds int    `json:"all_seeds"` // asked for
	Hash     string `json:"hash"`      // over all runs, 16 hexadecimal digits
	Passed   int    `json:"passed"`
	Failed   int    `json:"failed"`
	LeftOut  int    `json:"left_out"` // rows that were not run because enough others had failed
	Rows     []Row  `json:"rows"`
}

// Row is what came of one implementation in one scenario.
type Row struct {
	Scenario       string `json:"scenario"`
	Implementation string `json:"implementation"`
	Transport      string `json:"transport"`
	Result         string `json:"result"`
	Passed         bool   `json:"passed"`
	// LeftOut says that the row was not run because enough others had failed. It has neither passed nor failed.
	LeftOut bool   `json:"left_out,omitempty"`
	Seeds   string `json:"seeds"` // asked for, such as 1-500
	Wanted  int    `json:"wanted"`
	Ran     int    `json:"ran"`
	Hash    string `json:"hash"`
	// File is the scenario's, as seen from where the command was run, with slashes; Line is where the implementation
	// stands in it.
	File       string      `json:"file"`
	Line       int         `json:"line"`
	Properties []Property  `json:"properties"`
	Mechanisms []Mechanism `json:"mechanisms"`
	Faults     []Fault     `json:"faults"`
	Known      []Known     `json:"known"`
	Problems   []Problem   `json:"problems"` // the weightiest first
}

// Property counts the verdicts on one property.
type Property struct {
	Name     string  `json:"name"`
	Holds    int     `json:"holds"`
	Violated int     `json:"violated"`
	Unknown  int     `json:"unknown"`
	Skipped  int     `json:"skipped"`              // not promised by the lock
	First    *uint64 `json:"first_seed,omitempty"` // the first seed in which it is violated
}

// Mechanism counts the seeds that showed a known way of failing.
type Mechanism struct {
	Number     string   `json:"number"`
	Name       string   `json:"name"`
	Seeds      int      `json:"seeds"`
	First      uint64   `json:"first_seed"`
	Properties []string `json:"properties"` // those that it broke
}

// Fault counts the seeds that planned a fault of the scenario, and those in which it struck.
type Fault struct {
	Text    string `json:"text"`
	Planned int    `json:"planned"`
	Struck  int    `json:"struck"`
}

// Known is an entry of the baseline.
type Known struct {
	Find   string `json:"find"`
	Reason string `json:"reason"`
	Shown  bool   `json:"shown"`
}

// Severity says how much a problem matters.
type Severity string

// The severities: what differs from what was expected, what could not be decided, and what is only to be known.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Note    Severity = "note"
)

// Problem is one reason for a row's result.
type Problem struct {
	// Kind names what is the matter, Property what is violated, if it is about that.
	Kind     string   `json:"kind"`
	Property string   `json:"property,omitempty"`
	Severity Severity `json:"severity"`
	Text     string   `json:"text"`
	// Seeds are the ones to run to see it, Command is what runs them; empty = no particular ones.
	Seeds   string `json:"seeds,omitempty"`
	Command string `json:"command,omitempty"`
	// Of a violation that was kept: its folder with slashes, its faults, and its diagram in Mermaid's language.
	Folder  string   `json:"folder,omitempty"`
	Plan    []string `json:"plan,omitempty"`
	Diagram string   `json:"-"`
	// Weight orders the problems of all rows; the heaviest is told first.
	Weight int `json:"-"`
}

// rule names what a problem is about, in one word.
func (p *Problem) rule() string {
	if p.Property != "" {
		return p.Property
	}
	return p.Kind
}

// WriteJSON writes the campaign as one JSON object.
func WriteJSON(w io.Writer, c *Campaign) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(c)
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(r io.Reader) (*Campaign, error) {
	var c Campaign
	decoder := json.NewDecoder(r)
	if err := decoder.Decode(&c); err != nil {
		return nil, fmt.Errorf("the result of a campaign: %w", err)
	}
	if c.Schema != Schema {
		return nil, fmt.Errorf("the result of a campaign: its schema is %q and this program reads %q", c.Schema, Schema)
	}
	return &c, nil
}

// placed is a problem with its row.
type placed struct {
	row     *Row
	problem *Problem
}

// problems lists all problems that are more than a note, the weightiest first, else in the order of rows.
func (c *Campaign) problems() []placed {
	var all []placed
	for i := range c.Rows {
		for j := range c.Rows[i].Problems {
			if p := &c.Rows[i].Problems[j]; p.Severity != Note {
				all = append(all, placed{&c.Rows[i], p})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return b.problem.Weight - a.problem.Weight })
	return all
}

// closing is the line that says how many rows passed and failed.
func (c *Campaign) closing() string { return fmt.Sprintf("%d passed, %d failed", c.Passed, c.Failed) }
