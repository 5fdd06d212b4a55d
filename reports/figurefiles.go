package reports

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFigure writes a figure into a folder as NAME.csv, NAME.svg and NAME.png and replaces what is there under these
// names. Each is written under another name first, and renamed when all three are complete. Folders are made.
func WriteFigure(dir, name string, figure *Figure) error {
	if err := writeFigure(filepath.Clean(dir), name, figure); err != nil {
		return fmt.Errorf("cannot write the figure %s: %w", filepath.Join(dir, name), err)
	}
	return nil
}

func writeFigure(dir, name string, figure *Figure) (err error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return plain(err)
	}
	type file struct{ partial, path string }
	var files []file
	defer func() {
		for _, f := range files {
			if err != nil {
				_ = os.Remove(f.partial) // it is gone already where it was renamed
			}
		}
	}()
	for _, form := range figure.forms() {
		path := filepath.Join(dir, name+form.ending)
		partial, err := freeBeside(path, "partial")
		if err != nil {
			return plain(err)
		}
		files = append(files, file{partial, path})
		if err := writeFile(partial, form.write); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := os.Rename(f.partial, f.path); err != nil {
			return plain(err)
		}
	}
	return nil
}

// figureForm is one way to write a figure.
type figureForm struct {
	ending string
	write  func(io.Writer) error
}

// forms lists all ways to write the figure.
func (f *Figure) forms() []figureForm {
	return []figureForm{{".csv", f.WriteCSV}, {".svg", f.WriteSVG}, {".png", f.WritePNG}}
}
