package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports/spacetime"
)

// NewPage makes the space-time page of a run. The entries are what the engine has traced; without them the page shows
// what the history tells, which has no messages. Equal arguments give equal pages.
func NewPage(run *Run, entries []spacetime.Entry) *spacetime.Page {
	m := newPageMaker(run, entries)
	m.addEvents()
	for _, lock := range m.locks() {
		m.addLock(lock)
	}
	m.settleSlots()
	m.addBands()
	m.describe()
	return m.page
}

// pageMaker fills a page.
type pageMaker struct {
	run     *Run
	c       *chronicle // about the lock under test
	events  []checker.Event
	entries []spacetime.Entry
	claims  []checker.Claim // of all locks
	page    *spacetime.Page

	lanes  map[string]int
	server int // the lane of the server that keeps the lock's record, none if nothing tells of one
	row    []int
	words  map[string]string // labels of messages that have come up
}

func newPageMaker(run *Run, entries []spacetime.Entry) *pageMaker {
	m := &pageMaker{
		run: run, events: run.History.Events, entries: entries, claims: checker.Claims(run.History),
		page: &spacetime.Page{Title: strings.TrimPrefix(runName(&run.History.Header), ": ")}, lanes: map[string]int{},
		row: make([]int, len(run.History.Events)), words: map[string]string{},
	}
	m.c = newChronicle(run.History, lockOf(run.History, checker.Violation{Key: run.History.Header.Lock}))
	if m.page.Title == "" {
		m.page.Title = "a run"
	}
	m.addLanes()
	return m
}

// addLanes puts the clients first and then the servers, among these first the one that keeps the record.
func (m *pageMaker) addLanes() {
	var clients, servers []string
	client := map[string]bool{}
	for i := range m.events {
		e := &m.events[i]
		if name := m.c.laneName(e.Process); byClient(e) && !client[name] {
			client[name], clients = true, append(clients, name)
		}
	}
	seen := map[string]bool{"": true}
	serve := func(name string) {
		if !seen[name] && !client[name] {
			seen[name], servers = true, append(servers, name)
		}
	}
	keeper := m.keeper(client)
	for i := range m.events {
		switch e := &m.events[i]; {
		case e.F == checker.FaultApplied:
			serve(e.Node)
		case e.F == checker.Applied:
			serve(e.Key)
		}
	}
	for i := range m.entries {
		serve(m.entries[i].From)
		serve(m.entries[i].To)
	}
	serve(keeper)
	slices.SortFunc(clients, natural)
	slices.SortFunc(servers, func(a, b string) int {
		if (a == keeper) != (b == keeper) {
			return map[bool]int{true: -1, false: 1}[a == keeper]
		}
		return natural(a, b)
	})
	for _, name := range clients {
		m.lanes[name] = len(m.page.Lanes)
		m.page.Lanes = append(m.page.Lanes, spacetime.Lane{Name: name, Kind: spacetime.Client})
	}
	for _, name := range servers {
		m.lanes[name] = len(m.page.Lanes)
		m.page.Lanes = append(m.page.Lanes, spacetime.Lane{Name: name, Kind: spacetime.Server})
	}
	m.server = m.lane(keeper)
}

// keeper is the machine on which the lock's record is: the one that took a request at the very time of most facts.
func (m *pageMaker) keeper(client map[string]bool) string {
	votes, best, facts := map[string]int{}, "", 0
	next := 0
	for i := range m.events {
		e := &m.events[i]
		if !isFact(e) && e.F != checker.Request {
			continue
		}
		facts++
		for next < len(m.entries) && m.entries[next].Time < e.Time {
			next++
		}
		for k := next; k < len(m.entries) && m.entries[k].Time == e.Time; k++ {
			x := &m.entries[k]
			if x.KindOf() != spacetime.Deliver || x.From != e.Node || client[x.To] {
				continue
			}
			if votes[x.To]++; best == "" || votes[x.To] > votes[best] {
				best = x.To
			}
		}
	}
	switch backend, _, _ := strings.Cut(m.run.History.Header.Implementation, "/"); {
	case best != "" || facts == 0:
		return best
	case backend == "redis":
		return "redis"
	case backend == "zk":
		return "zookeeper"
	}
	return "server"
}

// lane is the number of a machine's lane, none if it has none.
func (m *pageMaker) lane(name string) int {
	if n, known := m.lanes[name]; known {
		return n
	}
	return spacetime.None
}

func (m *pageMaker) processLane(process int) int { return m.lane(m.c.laneName(process)) }

// locks lists the locks of the history, the one under test first.
func (m *pageMaker) locks() []string {
	locks := []string{m.c.lock}
	known := map[string]bool{m.c.lock: true}
	for i := range m.events {
		if e := &m.events[i]; acquires(e) && !known[e.Key] {
			known[e.Key], locks = true, append(locks, e.Key)
		}
	}
	return locks
}

// describe adds what the page says in words.
func (m *pageMaker) describe() {
	header := &m.run.History.Header
	add := func(name, value string) {
		if value != "" {
			m.page.Facts = append(m.page.Facts, spacetime.Fact{Name: name, Value: value})
		}
	}
	add("scenario", header.Scenario)
	add("implementation", header.Implementation)
	add("seed", fmt.Sprint(header.Seed))
	add("transport", header.Transport)
	add("lock", header.Lock)
	add("resource", header.Resource)
	if header.Lease > 0 {
		add("lease", seconds(header.Lease))
	}
	for _, p := range header.Parameters {
		add(p.Name, p.Value)
	}
	for _, fault := range header.Plan {
		add("fault", fault)
	}
	if m.run.Hash != 0 {
		add("hash", fmt.Sprintf("%016x", m.run.Hash))
	}
	for _, v := range m.run.Verdicts {
		m.addVerdict(&v)
	}
	if m.run.Story != nil {
		m.addStory(m.run.Story)
	}
	if len(m.entries) == 0 {
		m.page.Notices = append(m.page.Notices,
			"The engine's trace of this run was not kept: the page shows what the history tells, without messages.")
	}
}

func (m *pageMaker) addVerdict(v *checker.Verdict) {
	verdict := spacetime.Verdict{
		Property: string(v.Property), Result: string(v.Result), Why: v.Why, Event: spacetime.None,
	}
	if v.Skipped {
		verdict.Result = "skipped"
	}
	if len(v.Violations) > 0 {
		first := &v.Violations[0]
		for _, index := range first.Events {
			i, known := m.c.position[index]
			if known && (verdict.Event == spacetime.None || m.events[i].Time <= first.From) {
				verdict.Event = m.row[i]
			}
		}
	}
	m.page.Verdicts = append(m.page.Verdicts, verdict)
}

func (m *pageMaker) addStory(s *Story) {
	told := &spacetime.Story{
		Headline: s.Headline, Mechanism: s.Mechanism, Omitted: s.Omitted, Conclusion: s.Conclusion, Text: s.String(),
	}
	for _, step := range s.Steps {
		who, _, _ := strings.Cut(step.Who, " (")
		at := spacetime.None
		if i, known := m.c.position[step.Event]; known {
			at = m.row[i]
		}
		told.Steps = append(told.Steps, spacetime.Step{
			Number: step.Number, Time: step.Time, Who: step.Who, Lane: m.lane(who), Clock: step.Clock, Text: step.Text,
			Event: at,
		})
	}
	m.page.Story = told
}

// clockAt is by how much the clock of a machine was ahead when it was read.
func (m *pageMaker) clockAt(e *checker.Event) (time.Duration, bool) {
	if !m.c.clocks.known || e.Clock.IsZero() {
		return 0, false
	}
	return e.Clock.Sub(m.c.clocks.zero) - e.Time, true
}
