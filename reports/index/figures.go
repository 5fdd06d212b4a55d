package index

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Figures is a folder of figures and tables over many runs.
type Figures struct {
	Folder string // with slashes, as seen from the index
	About  string
	Files  []string // as seen from that folder, the one to look at first in front
}

// The folders beside those of scenarios that hold figures, and the folder of an envelope beside those of runs.
const (
	plotsFolder      = "plots"
	herdFolder       = "herd"
	strategiesFolder = "strategies"
	sweepsFolder     = "sweep"
	envelopeFolder   = "envelope"
)

// figureFolders are those of them that hold figures themselves, with what they are about.
var figureFolders = []struct{ folder, about string }{
	{herdFolder, "what a hand-over costs the server"},
	{strategiesFolder, "how many seeds each strategy takes"},
	{plotsFolder, "plots of runs"},
}

// holdsScenario tells whether a folder may be that of a scenario.
func holdsScenario(name string) bool {
	return !slices.Contains([]string{campaignsFolder, plotsFolder, herdFolder, strategiesFolder, sweepsFolder}, name)
}

// figures lists the folders of figures that belong to no scenario.
func (x *Index) figures(folder fs.FS) error {
	for _, known := range figureFolders {
		x.addFigures(folder, known.folder, known.about)
	}
	sweeps, err := folders(folder, sweepsFolder)
	if err != nil {
		return err
	}
	for _, scenario := range sweeps {
		x.addFigures(folder, path.Join(sweepsFolder, scenario), "locks compared in "+scenario)
	}
	return nil
}

// addFigures lists a folder if there is something in it to look at.
func (x *Index) addFigures(folder fs.FS, dir, about string) {
	files := runFiles(folder, dir)
	if len(files) == 0 || slices.Contains(files, verdictFile) { // none, or a run of somebody's own
		return
	}
	rank := func(name string) int {
		order := []string{".svg", ".csv", ".png"}
		if i := slices.Index(order, path.Ext(name)); i >= 0 {
			return 10*strings.Count(name, "/") + i
		}
		return 10*strings.Count(name, "/") + len(order)
	}
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	x.Figures = append(x.Figures, Figures{Folder: dir, About: about, Files: files})
}
