package reports

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
)

// dataset is a table of a run, for programs that read tables. Its first columns name the run, so that the tables of
// many runs can be put one below the other.
type dataset struct {
	name    string
	columns []string
	rows    func(*checker.History) [][]string
}

// datasets lists the tables of a run; docs/output.md explains their columns.
var datasets = []dataset{
	{"events", []string{
		"index", "time_ns", "process", "node", "type", "f", "key", "value", "error", "clock", "token", "deadline_ns",
		"wait_ns", "owner", "count", "command", "accepted", "previous_owner", "previous_count", "previous_expires_ms",
		"previous_now_ms", "record_owner", "record_count", "record_expires_ms", "record_now_ms", "call",
	}, eventRows},
	{"calls", []string{
		"process", "node", "owner", "f", "key", "value", "call", "return", "called_ns", "returned_ns", "took_ns", "outcome",
		"error", "token",
	}, callRows},
	{"holds", []string{
		"lock", "process", "node", "start_ns", "end_ns", "ending", "token", "acquire", "end",
	}, holdRows},
}

// write writes the table as CSV.
func (d dataset) write(w io.Writer, h *checker.History) error {
	out := newTableWriter(w)
	if err := out.write(append([]string{"scenario", "implementation", "seed"}, d.columns...)); err != nil {
		return err
	}
	run := []string{h.Header.Scenario, h.Header.Implementation, strconv.FormatUint(h.Header.Seed, 10)}
	for _, row := range d.rows(h) {
		if err := out.write(append(run[:len(run):len(run)], row...)); err != nil {
			return err
		}
	}
	return out.flush()
}

// Tables lists the tables of a run by their names.
func Tables() []string {
	var names []string
	for _, d := range datasets {
		names = append(names, d.name)
	}
	return names
}

// WriteTable writes one of the tables of a run as CSV, as it stands in the run's folder.
func WriteTable(w io.Writer, h *checker.History, name string) error {
	for _, d := range datasets {
		if d.name == name {
			return d.write(w, h)
		}
	}
	return fmt.Errorf("there is no table %q: want one of %s", name, strings.Join(Tables(), ", "))
}

// fillData writes all tables of a run.
func fillData(dir string, h *checker.History) error {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return plain(err)
	}
	for _, d := range datasets {
		err := writeFile(filepath.Join(dir, d.name+".csv"), func(w io.Writer) error { return d.write(w, h) })
		if err != nil {
			return err
		}
	}
	return nil
}

func eventRows(h *checker.History) [][]string {
	var rows [][]string
	for i := range h.Events {
		e := &h.Events[i]
		clock := ""
		if !e.Clock.IsZero() {
			clock = e.Clock.UTC().Format(time.RFC3339Nano)
		}
		row := []string{
			digits(e.Index), nanoseconds(e.Time), processName(e.Process), e.Node, string(e.Type), e.F, e.Key, e.Value, e.Error,
			clock, orNone(e.Token), orNone(int64(e.Deadline)), orNone(int64(e.Wait)), e.Owner, digits(e.Count), e.Command,
			strconv.FormatBool(e.Accepted),
		}
		row = slices.Concat(row, recordCells(e.Previous), recordCells(e.Record))
		rows = append(rows, append(row, orNone(e.Call)))
	}
	return rows
}

// recordCells is what a lock's record said, nothing where there was none.
func recordCells(r *checker.Record) []string {
	if r == nil {
		return make([]string, 4)
	}
	return []string{r.Owner, digits(r.Count), orNone(r.Expires), orNone(r.Now)}
}

// callRows has one row for each call of a client, in the order of calls. A call that never returned is open.
func callRows(h *checker.History) [][]string {
	var rows [][]string
	open := map[int]*checker.Event{} // by process: the call that has not returned
	place := map[int]int{}           // its row
	for i := range h.Events {
		e := &h.Events[i]
		if e.Type == checker.Invoke {
			open[e.Process], place[e.Process] = e, len(rows)
			rows = append(rows, []string{
				digits(int64(e.Process)), e.Node, e.Owner, e.F, e.Key, e.Value, digits(e.Index), "", nanoseconds(e.Time), "", "",
				"open", "", "",
			})
			continue
		}
		call := open[e.Process]
		if call == nil || e.F != call.F || e.Key != call.Key {
			continue
		}
		delete(open, e.Process)
		row := rows[place[e.Process]]
		row[7], row[9], row[10] = digits(e.Index), nanoseconds(e.Time), nanoseconds(e.Time-call.Time)
		row[11], row[12], row[13] = string(e.Type), e.Error, orNone(e.Token)
	}
	return rows
}

func holdRows(h *checker.History) [][]string {
	var rows [][]string
	for _, c := range checker.Claims(h) {
		rows = append(rows, []string{
			c.Lock, digits(int64(c.Process)), c.Node, nanoseconds(c.Start), nanoseconds(c.End), string(c.Ending),
			orNone(c.Token), digits(c.Acquire), orNone(c.EndEvent),
		})
	}
	return rows
}

func digits(n int64) string              { return strconv.FormatInt(n, 10) }
func nanoseconds(d time.Duration) string { return digits(int64(d)) }

// orNone renders a number of which 0 says that there is none.
func orNone(n int64) string {
	if n == 0 {
		return ""
	}
	return digits(n)
}

// processName names a process as the history's file does.
func processName(process int) string {
	switch process {
	case checker.ProcessServer:
		return "server"
	case checker.ProcessFault:
		return "nemesis"
	}
	return digits(int64(process))
}
