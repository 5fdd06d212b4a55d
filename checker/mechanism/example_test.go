package mechanism_test

import (
	"fmt"
	"os"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/checker/mechanism"
)

// A client that goes on after its lease has ended, in a history as it is written to a file.
func Example() {
	file, err := os.Open("testdata/histories/taken-over.jsonl")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer file.Close()
	history, err := checker.ReadHistory(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	verdicts := checker.Check(&history, checker.Options{})
	for _, finding := range mechanism.Find(&history, verdicts) {
		fmt.Printf("%s: %s, %s\n", finding.Property, finding.Mechanism.Ref, finding.Text)
	}
	// Output:
	// mutual-exclusion: R13, the lease of c1 ended, c2 took over, and c1 went on
}
