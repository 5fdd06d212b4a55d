package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// phase says what an event of the Trace Event Format is.
type phase string

// The phases that are used here.
const (
	complete   phase = "X" // it has a duration
	asyncBegin phase = "b"
	asyncEnd   phase = "e"
	flowStart  phase = "s"
	flowEnd    phase = "f"
	instant    phase = "i"
	counter    phase = "C"
	metadata   phase = "M"
)

// event is one event of the Trace Event Format.
type event struct {
	Name      string    `json:"name"`
	Category  string    `json:"cat,omitempty"`
	Phase     phase     `json:"ph"`
	At        moment    `json:"ts"`
	Duration  *moment   `json:"dur,omitempty"`
	Process   int       `json:"pid"`
	Thread    int       `json:"tid"`
	ID        string    `json:"id,omitempty"`
	Scope     string    `json:"s,omitempty"`  // of an instant: g for all, t for its thread
	Binding   string    `json:"bp,omitempty"` // of the end of a flow: e binds it to the slice around it
	Arguments arguments `json:"args,omitempty"`
}

// moment is a time or a duration, which the format wants in microseconds. It is written to the nanosecond, in decimals.
type moment time.Duration

// MarshalJSON implements json.Marshaler.
func (m moment) MarshalJSON() ([]byte, error) {
	if m < 0 {
		return nil, fmt.Errorf("the time %d is negative", int64(m))
	}
	return fmt.Appendf(nil, "%d.%03d", m/1000, m%1000), nil
}

// arguments are what a viewer shows of an event when it is selected, in this order.
type arguments []argument

type argument struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (a arguments) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, x := range a {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := encode(x.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(x.value)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}'), nil
}

// text adds an argument unless it is empty.
func (a *arguments) text(name, value string) {
	if value != "" {
		*a = append(*a, argument{name, value})
	}
}

// number adds an argument unless it is zero.
func (a *arguments) number(name string, value int64) {
	if value != 0 {
		*a = append(*a, argument{name, value})
	}
}

// encode is JSON that leaves <, > and & as they are.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), nil
}

// writeEvents writes the events in order of time. Those of one time stay in the order in which they are given: a slice
// comes before the flow that is bound to it. Metadata comes first.
func writeEvents(w io.Writer, about arguments, events []event) error {
	slices.SortStableFunc(events, func(a, b event) int {
		if (a.Phase == metadata) != (b.Phase == metadata) {
			return map[bool]int{true: -1, false: 1}[a.Phase == metadata]
		}
		return int(min(max(a.At-b.At, -1), 1))
	})
	out := bufio.NewWriter(w)
	separator := "{\"traceEvents\":[\n"
	for i := range events {
		line, err := encode(&events[i])
		if err != nil {
			return err
		}
		_, _ = out.WriteString(separator) // an error stays with the writer until it is flushed
		_, _ = out.Write(line)
		separator = ",\n"
	}
	other, err := encode(about)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n],\n\"displayTimeUnit\":\"ns\",\n\"otherData\":%s}\n", other)
	return out.Flush()
}
