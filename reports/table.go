package reports

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-sim/lockstep/internal/visible"
)

// writeTable writes rows as CSV, the names of the columns first: RFC 4180 with lines that end in a line feed, as all
// other files of this program do. Cells that a spreadsheet would take for a formula are written as text, and characters
// that would act on a terminal or break the row as their numbers.
func writeTable(w io.Writer, rows [][]string) error {
	out := newTableWriter(w)
	for _, row := range rows {
		if err := out.write(row); err != nil {
			return err
		}
	}
	return out.flush()
}

// tableWriter writes CSV row by row.
type tableWriter struct {
	csv *csv.Writer
	row []string
}

func newTableWriter(w io.Writer) *tableWriter { return &tableWriter{csv: csv.NewWriter(w)} }

func (t *tableWriter) write(row []string) error {
	t.row = t.row[:0]
	for _, cell := range row {
		t.row = append(t.row, safeCell(cell))
	}
	return t.csv.Write(t.row)
}

func (t *tableWriter) flush() error {
	t.csv.Flush()
	return t.csv.Error()
}

// quoteMark makes a cell a text for a spreadsheet.
const quoteMark = "'"

// formulaStarts are the characters with which a cell begins that a spreadsheet takes for a formula, the wide forms
// of them included, and the mark itself, so that taking one mark away always gives back what there was.
const formulaStarts = "=+-@\t\uff1d\uff0b\uff0d\uff20" + quoteMark

// safeCell keeps a spreadsheet from running what somebody has put into the name of a lock, and a terminal from being
// painted over: a cell that would begin a formula gets a quote mark in front, and what acts becomes visible. Numbers
// stay numbers.
func safeCell(cell string) string {
	cell = visible.Cell(cell)
	first, size := utf8.DecodeRuneInString(cell)
	if size == 0 || !strings.ContainsRune(formulaStarts, first) || isNumber(cell) {
		return cell
	}
	return quoteMark + cell
}

// isNumber tells whether a cell is a decimal number. A sign is the only thing by which one looks like a formula.
func isNumber(cell string) bool {
	digits := strings.TrimPrefix(cell, "-")
	if strings.Trim(digits, "0123456789.") != "" || !strings.ContainsAny(digits, "0123456789") {
		return false
	}
	_, err := strconv.ParseFloat(digits, 64)
	return err == nil
}
