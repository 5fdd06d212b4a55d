package checker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// searchData is what a page of Porcupine's shows, as far as its order matters here. The rest goes through as it is.
type searchData struct {
	Partitions  []searchPartition
	Annotations json.RawMessage
}

type searchPartition struct {
	History               json.RawMessage
	PartialLinearizations [][]searchStep
	// Largest has for each operation the place of the longest order that holds it.
	Largest map[string]int
}

type searchStep struct {
	Index            int
	StateDescription string
}

// sort puts the orders into one order, and picks the first of the longest for each operation.
func (p *searchPartition) sort() {
	slices.SortFunc(p.PartialLinearizations, func(a, b []searchStep) int {
		return slices.CompareFunc(a, b, func(x, y searchStep) int { return x.Index - y.Index })
	})
	longest := make(map[string]int, len(p.Largest))
	for place, order := range p.PartialLinearizations {
		for _, step := range order {
			operation := strconv.Itoa(step.Index)
			best, known := longest[operation]
			if !known || len(order) > len(p.PartialLinearizations[best]) {
				longest[operation] = place
			}
		}
	}
	p.Largest = longest
}

// steady writes a page of Porcupine's with its orders in one order: they come from a map there, so that two pages of
// one search differ.
func steady(w io.Writer, page []byte) error {
	const before = "const data = "
	from := bytes.Index(page, []byte(before))
	if from < 0 {
		return fmt.Errorf("page: it has no %q", before)
	}
	from += len(before)
	decoder := json.NewDecoder(bytes.NewReader(page[from:]))
	var data searchData
	if err := decoder.Decode(&data); err != nil {
		return fmt.Errorf("page: its data cannot be read: %w", err)
	}
	for i := range data.Partitions {
		data.Partitions[i].sort()
	}
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	rest := page[from+int(decoder.InputOffset()):]
	for _, part := range [][]byte{page[:from], text, rest} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
