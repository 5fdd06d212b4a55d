package strategy

import (
	"testing"
	"time"
)

func TestMarksOfDeadlines(t *testing.T) {
	const d = 100 * time.Millisecond
	for _, test := range []struct {
		at            time.Duration
		before, after int
	}{
		{d - tick - 1, 0, 0},
		{d - tick, 1, 0},
		{d - 1, 1, 0},
		{d, 0, 1},
		{d + tick - 1, 0, 1},
		{d + tick, 0, 0},
	} {
		m := NewMarks()
		m.Deadline(d)
		m.Deadline(d) // told twice, known once
		m.Request("c1", "redis", "GET", test.at)
		if m.Count(BeforeDeadline) != test.before || m.Count(AtDeadline) != test.after {
			t.Errorf("at %v: %d before and %d after the deadline, want %d and %d", test.at, m.Count(BeforeDeadline),
				m.Count(AtDeadline), test.before, test.after)
		}
	}
}

func TestMarksOfWindows(t *testing.T) {
	type request struct{ client, command string }
	for _, test := range []struct {
		name              string
		requests          []request
		entered, followed int
	}{
		{"alone", []request{{"c1", "GET"}, {"c1", "GETSET"}}, 0, 0},
		{"entered", []request{{"c1", "GET"}, {"c2", "SET"}, {"c1", "GETSET"}}, 1, 0},
		{"only read in between", []request{{"c1", "GET"}, {"c2", "GET"}, {"c1", "GETSET"}}, 0, 0},
		{"followed", []request{{"c1", "GET"}, {"c1", "GETSET"}, {"c2", "SET"}}, 0, 1},
		{"followed by itself", []request{{"c1", "GET"}, {"c1", "GETSET"}, {"c1", "SET"}, {"c2", "SET"}}, 0, 0},
		{"both meet", []request{{"c1", "GET"}, {"c2", "GET"}, {"c1", "GETSET"}, {"c2", "GETSET"}}, 1, 1},
		{"read again", []request{{"c1", "GET"}, {"c2", "SET"}, {"c1", "GET"}, {"c1", "GETSET"}}, 1, 0},
	} {
		m := NewMarks()
		for i, r := range test.requests {
			m.Request(r.client, "redis", r.command, time.Duration(i))
		}
		if m.Count(WindowEntered) != test.entered || m.Count(WindowFollowed) != test.followed {
			t.Errorf("%s: entered %d and followed %d, want %d and %d", test.name, m.Count(WindowEntered),
				m.Count(WindowFollowed), test.entered, test.followed)
		}
	}
}
