package strategy

import "time"

// Follow returns the schedule that makes the decisions of another one again. What is not decided is as the seed draws
// it; a decision about something that does not occur has no effect, so the list may be cut anywhere.
func Follow(decisions []Decision) *Schedule {
	f := follow{}
	for _, d := range decisions {
		f[decided{d.From, d.To, d.What, d.Nth}] = d.Takes
	}
	return newSchedule(f)
}

// follow is the policy of a list of decisions.
type follow map[decided]time.Duration

// decided is what a decision is about.
type decided struct {
	from, to, what string
	nth            int
}

func (p follow) depart(_ *Schedule, f *flight) time.Duration {
	if takes, ok := p[decided{f.address.from, f.address.to, f.address.what, f.nth}]; ok {
		return takes
	}
	return f.drawn
}

func (p follow) arrive(*Schedule, *flight) time.Duration { return 0 }

func (p follow) span(_ *Schedule, pause *pause) time.Duration {
	if takes, ok := p[decided{from: pause.thread.name, what: pause.what, nth: pause.nth}]; ok {
		return takes
	}
	return pause.drawn
}
