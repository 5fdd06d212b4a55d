package scenarios

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/lockstep-sim/lockstep/scenarios/strategy"
)

// strategiesTable is the table of what each strategy takes to find what the library must find.
const strategiesTable = "../docs/strategies.csv"

// TestStrategiesTable holds the table that is shown against the library: every find with every strategy, and the
// portfolio, which a hunt uses, finds each in most ranges of seeds, in less than a second at the median.
func TestStrategiesTable(t *testing.T) {
	file, err := os.Open(strategiesTable)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := []string{"scenario", "implementation", "find", "strategy", "ranges", "missed", "median_seeds", "median_time_s"}
	if !slices.Equal(rows[0], head) {
		t.Fatalf("the columns are %v, want %v", rows[0], head)
	}
	listed := map[[4]string]bool{}
	for _, row := range rows[1:] {
		listed[[4]string(row[:4])] = true
		ranges, errRanges := strconv.Atoi(row[4])
		missed, errMissed := strconv.Atoi(row[5])
		seconds, errSeconds := strconv.ParseFloat(row[7], 64)
		if errRanges != nil || errMissed != nil || errSeconds != nil {
			t.Fatalf("%v: want numbers in the last columns", row)
		}
		if row[3] == PortfolioName && (ranges < 10 || 2*missed >= ranges || seconds >= 1) {
			t.Errorf("%v: the portfolio misses it in %d of %d ranges, and takes %v s", row[:3], missed, ranges, seconds)
		}
	}
	for _, find := range libraryFinds() {
		for _, name := range append(strategy.Portfolio(), PortfolioName) {
			row := [4]string{find[0], find[1], find[2], name}
			if !listed[row] {
				t.Errorf("%v is missing; make the table anew with \"lockstep strategies\"", row)
			}
			delete(listed, row)
		}
	}
	for row := range listed {
		t.Errorf("%v is no find of the library", row)
	}
}

// libraryFinds lists scenario, implementation and find of all that the library must find.
func libraryFinds() [][3]string {
	var finds [][3]string
	for _, s := range Library() {
		for _, e := range s.Implementations {
			for _, find := range e.Find {
				finds = append(finds, [3]string{s.Name, e.Implementation, find.What})
			}
		}
	}
	return finds
}
