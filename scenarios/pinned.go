package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// PinnedFolder is where a user keeps replay files that are to be run before anything else.
const PinnedFolder = "scenarios"

// Pinned lists the replay files and scripts below a folder, by path: every text file that begins as one does. A folder
// that is not there has none. Folders that begin with a dot, and those named testdata, are passed over.
func Pinned(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == dir:
			return fs.SkipAll
		case err != nil:
			return err
		case entry.IsDir() && path != dir && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case !entry.Type().IsRegular() || filepath.Ext(path) != ".txt":
			return nil
		}
		is, err := beginsAsPinned(path)
		if is {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pinned replay files: %w", err)
	}
	return files, nil
}

// beginsAsPinned looks at how a file begins. Whether the rest is right is for the parser to judge.
func beginsAsPinned(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	begin, err := io.ReadAll(io.LimitReader(file, maxReplayBytes))
	if err != nil {
		return false, err
	}
	return strings.HasPrefix(string(begin), replayFormat) || IsScript(string(begin)), nil
}

// PlayPinned runs a pinned replay file. The outcome is as it was pinned if it is AsExpected: a violation that must be
// seen is seen, or one that must not be is not.
func PlayPinned(t *testing.T, file string) (*Replay, *Played, error) {
	r, folder, err := ReadReplay(file)
	if err != nil {
		return nil, nil, err
	}
	setup, err := r.Load(folder)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	played, err := r.Play(t, setup)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	return r, played, nil
}

// AsExpected says that what is to be seen is seen, or that what must not be seen is not.
func (p *Played) AsExpected(r *Replay) bool { return p.Shows != r.Holds }
