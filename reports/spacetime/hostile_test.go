package spacetime_test

import (
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// evil are strings that mean something to a browser, a terminal or a file system.
var evil = []string{
	"</script><script>document.title='broken'</script>", "<img src=x onerror=\"document.title='broken'\">",
	"\"'`&lt;${document.title='broken'}", "../../../etc/passwd", "\x1b[31mred\x1b[0m", "two\nlines\r\nand\ttabs",
	"\u2028\u2029\u202eright to left", "bad \xff\xfe bytes", "javascript:document.title='broken'", "<!--<script>", "]]>",
	"{{data}} {{script}}", "#;end",
}

// hostile is a run in which every string that others choose is one of these.
func hostile() *sample {
	at := func(i int) string { return evil[i%len(evil)] }
	h := &checker.History{Header: checker.Header{
		Scenario: at(0), Implementation: at(1), Seed: 1, Transport: at(2), Lock: at(3), Resource: at(4), Plan: evil,
		Parameters: []checker.Parameter{{Name: at(5), Value: at(6)}},
	}}
	now := int64(0)
	add := func(e checker.Event) {
		now += 3
		e.Index, e.Time = int64(len(h.Events))+1, milliseconds(now)
		h.Events = append(h.Events, e)
	}
	for i := range evil {
		e := checker.Event{Process: i, Node: at(i), Type: checker.Invoke, F: checker.Acquire, Key: at(3), Owner: at(i + 1)}
		add(e)
		add(checker.Event{
			Process: checker.ProcessServer, Node: at(i), Type: checker.Info, F: checker.RecordSet, Key: at(3), Owner: at(i + 1),
			Command: at(i + 2), Value: at(i + 3), Record: &checker.Record{Owner: at(i + 1), Count: 1},
		})
		e.Type, e.Count = checker.OK, 1
		add(e)
		add(checker.Event{
			Process: checker.ProcessFault, Type: checker.Info, F: checker.FaultApplied, Node: at(i), Command: "pause " + at(i),
		})
	}
	for i := range evil {
		e := checker.Event{Process: i, Node: at(i), Type: checker.Invoke, F: checker.Release, Key: at(3), Owner: at(i + 1)}
		add(e)
		e.Type, e.Error = checker.Fail, at(i)
		add(e)
	}
	s := &sample{name: "hostile", run: reports.Run{History: h}}
	for i := range evil {
		n := uint64(2 * i)
		sent := spacetime.Entry{
			Index: n + 1, Time: milliseconds(int64(12 * i)), Kind: "send", From: at(i), To: at(i + 1), Text: at(i),
		}
		got := sent
		got.Index, got.Time, got.Kind, got.Cause = n+2, sent.Time+milliseconds(5), "deliver", n+1
		if i%3 == 0 {
			got.Kind, got.Text = "drop", at(i)+": "+at(i+1)
		}
		s.entries = append(s.entries, sent, got)
	}
	s.run.Verdicts = checker.Check(h, checker.Options{})
	s.tell()
	return s
}
