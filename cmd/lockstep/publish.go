package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lockstep-sim/lockstep/reports/index"
)

// latestLink is the link to the run that was written last.
const latestLink = "latest"

// publish lets the link in the folder of runs point to a run, whose place is seen from that folder, and brings the
// index up to date.
func publish(out, place string) error {
	if err := linkLatest(out, place); err != nil {
		return err
	}
	return index.Write(out)
}

// publishFigures brings the index up to date with figures of several runs, if they lie in the folder of runs.
func publishFigures(folder string) error {
	place, err := filepath.Rel(outputFolder, folder)
	if err != nil || !filepath.IsLocal(place) {
		return nil
	}
	if err := index.Write(outputFolder); err != nil {
		return internal(err)
	}
	return nil
}

// linkLatest moves the link in one step: it is there all the time. Where there are no links there is none, and what
// else has its name is left alone.
func linkLatest(out, place string) error {
	link := filepath.Join(out, latestLink)
	info, err := os.Lstat(link)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	partial := filepath.Join(out, fmt.Sprintf(".%s.partial-%d", latestLink, os.Getpid()))
	if err := os.Symlink(place, partial); err != nil {
		return nil
	}
	if err := os.Rename(partial, link); err != nil {
		_ = os.Remove(partial)
		return fmt.Errorf("the link %s: %w", link, cause(err))
	}
	return nil
}
