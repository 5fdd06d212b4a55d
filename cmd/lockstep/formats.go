package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lockstep-sim/lockstep/reports/ci"
)

// The formats in which the result of a campaign is told.
const (
	textFormat   = "text"
	jsonFormat   = "json"
	junitFormat  = "junit"
	githubFormat = "github"
	sarifFormat  = "sarif"
)

var formatNames = []string{textFormat, jsonFormat, junitFormat, githubFormat, sarifFormat}

// format is one of them and where it goes. A file of github gets the step summary; annotations are read from the
// standard output and go nowhere else.
type format struct {
	name string
	file string // "" = standard output
}

// summaryVariable names the file to which GitHub wants the summary of a step to be added.
const summaryVariable = "GITHUB_STEP_SUMMARY"

func registerFormats(cmd *cobra.Command, words *[]string) {
	cmd.Flags().StringSliceVar(words, "format", []string{textFormat},
		"how to tell the result, several with commas, each to standard output or, after =, to a file: "+
			strings.Join(formatNames, ", "))
}

// parseFormats reads what --format says and makes sure that it can be done.
func parseFormats(words []string) ([]format, error) {
	var formats []format
	for _, word := range words {
		name, file, hasFile := strings.Cut(word, "=")
		f := format{strings.TrimSpace(name), file}
		if !slices.Contains(formatNames, f.name) {
			return nil, usage("--format %q: want one of %s, with =FILE if it is to go to a file", word,
				strings.Join(formatNames, ", "))
		}
		if hasFile && file == "" {
			return nil, usage("--format %q: want the name of a file after =", word)
		}
		if slices.ContainsFunc(formats, f.collides) {
			return nil, usage("--format %q: it is there twice, or another format goes to the same file", word)
		}
		if info, err := os.Stat(file); hasFile && err == nil && info.IsDir() {
			return nil, usage("--format %q: %s is a folder", word, file)
		}
		if hasFile {
			if err := checkFolder(filepath.Dir(file)); err != nil {
				return nil, usage("--format %q: %w", word, err)
			}
		}
		formats = append(formats, f)
	}
	return formats, checkStandardOutput(formats)
}

// collides tells whether two formats would write to the same place.
func (f format) collides(other format) bool {
	return f.file == other.file && (f.file != "" || f.name == other.name) || f.name == githubFormat && other.name == f.name
}

// checkStandardOutput refuses a document on standard output with something else before or behind it.
func checkStandardOutput(formats []format) error {
	var there []string
	document := ""
	for _, f := range formats {
		if f.file != "" {
			continue
		}
		there = append(there, f.name)
		if f.name != textFormat && f.name != githubFormat {
			document = f.name
		}
	}
	if document != "" && len(there) > 1 {
		return usage("--format: %s on standard output would be mixed with other formats: write %s=FILE", document, document)
	}
	return nil
}

// writeFormats tells the result in all formats. What goes to standard output ends with the text, whose last line others
// read. text writes that.
func writeFormats(out io.Writer, formats []format, result *ci.Campaign, text func(io.Writer)) error {
	last := func(a, b format) int { return rankOfFormat(a) - rankOfFormat(b) }
	for _, f := range slices.SortedStableFunc(slices.Values(formats), last) {
		if err := f.write(out, result, text); err != nil {
			return internal(fmt.Errorf("--format %s: %w", f.name, cause(err)))
		}
	}
	return nil
}

func rankOfFormat(f format) int {
	if f.name == textFormat {
		return 1
	}
	return 0
}

func (f format) write(out io.Writer, result *ci.Campaign, text func(io.Writer)) error {
	if f.name == githubFormat {
		if err := f.writeSummary(result); err != nil {
			return err
		}
		return ci.WriteAnnotations(out, result)
	}
	write := func(w io.Writer) error {
		switch f.name {
		case jsonFormat:
			return ci.WriteJSON(w, result)
		case junitFormat:
			return ci.WriteJUnit(w, result)
		case sarifFormat:
			return ci.WriteSARIF(w, result)
		default:
			text(w)
			return nil
		}
	}
	if f.file == "" {
		return write(out)
	}
	return replaceFile(f.file, write)
}

// writeSummary writes the step summary: to the file of the format, or to the one that GitHub names, if it does.
func (f format) writeSummary(result *ci.Campaign) error {
	write := func(w io.Writer) error { return ci.WriteSummary(w, result) }
	if f.file != "" {
		return replaceFile(f.file, write)
	}
	name := os.Getenv(summaryVariable)
	if name == "" {
		return nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	err = write(file)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
