package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstep-sim/lockstep/scenarios"
	"github.com/lockstep-sim/lockstep/sim"
)

// outputFolder holds what is written without --out.
const outputFolder = "lockstep-out"

// seedFolder is where what is kept of one run goes by default.
func seedFolder(base string, s *scenarios.Scenario, implementation string, seed uint64) string {
	return filepath.Join(base, s.Name, fileName(implementation), fmt.Sprintf("seed-%d", seed))
}

// scheduleFolder is where what is kept of a run goes that no seed but a schedule leads to.
func scheduleFolder(base string, s *scenarios.Scenario, implementation string) string {
	return filepath.Join(base, s.Name, fileName(implementation), "schedule")
}

// fileName makes a file's name of an implementation's.
func fileName(implementation string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || r == '!' || r == '+' {
			return '-'
		}
		return r
	}, implementation)
}

// checkFolder finds out whether a folder can be written, without leaving anything behind: it is better to say so before
// the work than after it.
func checkFolder(dir string) error {
	existing := filepath.Clean(dir)
	for {
		info, err := os.Stat(existing)
		if err == nil && !info.IsDir() {
			return fmt.Errorf("%s is a file, not a folder", existing)
		}
		if err == nil {
			break
		}
		parent := filepath.Dir(existing)
		if !errors.Is(err, fs.ErrNotExist) || parent == existing {
			return fmt.Errorf("%s: %w", existing, cause(err))
		}
		existing = parent
	}
	probe, err := os.MkdirTemp(existing, ".lockstep-probe-")
	if err != nil {
		return fmt.Errorf("nothing can be written in %s: %w", existing, cause(err))
	}
	return os.Remove(probe)
}

// checkReplaceable refuses a folder that holds something else than a run: it would be replaced.
func checkReplaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) == 0 {
		return nil // what cannot be read is checkFolder's to tell
	}
	if _, err := os.Stat(filepath.Join(dir, scenarios.ReplayFile)); err != nil {
		return fmt.Errorf("%s holds something else than a run of lockstep; name another folder", dir)
	}
	return nil
}

// cause is an error without the operation and the path around it.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// keepTraces writes two traces that should be equal, for a look at where they part.
func keepTraces(dir string, one, other *sim.Trace) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, "run-1.jsonl"), one.WriteJSONL); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, "run-2.jsonl"), other.WriteJSONL)
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// replaceFile writes a file under another name and renames it, so that nobody reads half of it. What is no regular
// file, such as a pipe, is written to as it is.
func replaceFile(name string, write func(io.Writer) error) error {
	if err := replaceRegular(name, write); err != nil {
		return fmt.Errorf("%s: %w", name, cause(err))
	}
	return nil
}

func replaceRegular(name string, write func(io.Writer) error) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return writeFile(name, write)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".partial-")
	if err != nil {
		return err
	}
	err = write(partial)
	if err == nil {
		err = partial.Chmod(0o644)
	}
	if closed := partial.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(partial.Name(), name)
	}
	if err != nil {
		_ = os.Remove(partial.Name())
	}
	return err
}

// replaceText is replaceFile for what is a text already.
func replaceText(name, text string) error {
	return replaceFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
