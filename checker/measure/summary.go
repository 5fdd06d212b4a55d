package measure

import (
	"math/bits"
	"time"
)

// Summary is the figures of one run.
type Summary struct {
	// Span is the time from the first call for a lock to the end of the last hold.
	Span time.Duration `json:"span"`
	// Clients is how many machines asked for a lock.
	Clients int `json:"clients"`
	// What came of the calls that asked for a lock.
	Got       int `json:"got"`
	Reentered int `json:"reentered"`
	Refused   int `json:"refused"`
	Unknown   int `json:"unknown"`
	Open      int `json:"open"`
	// Waits is how long those waited who got the lock.
	Waits         Distribution `json:"waits"`
	HandOverTimes Distribution `json:"hand_over_times"`
	Overlaps      Distribution `json:"overlaps"`
	Overtakes     Distribution `json:"overtakes"`
	// MostWaiting is how many waited at the same time at most.
	MostWaiting int64 `json:"most_waiting"`
	// JainGrants and JainHeld are the fairness index of Jain, over all clients that asked, of how often each got the lock
	// and how long each held it. In parts per million: 1,000,000 is even.
	JainGrants int64 `json:"jain_grants"`
	JainHeld   int64 `json:"jain_held"`
	// Handed, Requests and WakeUps are counted while the lock was contended: from the end of the first hold to the
	// beginning of the last. Handed counts the holds that began in that time.
	Handed   int `json:"handed"`
	Requests int `json:"requests"`
	WakeUps  int `json:"wake_ups"`
}

// Summary takes the figures of the run.
func (r *Run) Summary() *Summary {
	s := &Summary{
		Waits: *r.Waits(), HandOverTimes: *r.HandOverTimes(), Overlaps: *r.Overlaps(), Overtakes: *r.Overtakes(),
	}
	clients := r.Shares()
	first := time.Duration(-1)
	for i := range r.Calls {
		c := &r.Calls[i]
		if !r.IsAcquire(c) {
			continue
		}
		if first < 0 {
			first = c.Asked
		}
		counts := [...]*int{
			Done: &s.Got, Reentered: &s.Reentered, Refused: &s.Refused, Unknown: &s.Unknown, Open: &s.Open,
		}
		*counts[c.Outcome]++
	}
	var last time.Duration
	for i := range r.Holds {
		last = max(last, r.Holds[i].End)
	}
	s.Span = max(last-max(first, 0), 0)
	for _, p := range r.Queue.Points {
		s.MostWaiting = max(s.MostWaiting, p.Greatest)
	}
	var grants, held []int64
	for _, c := range clients {
		grants, held = append(grants, c.Grants), append(held, int64(c.Held))
	}
	s.Clients, s.JainGrants, s.JainHeld = len(clients), Jain(grants), Jain(held)
	s.contended(r)
	return s
}

// contended counts what the server was asked between the first hold and the last.
func (s *Summary) contended(r *Run) {
	if len(r.Holds) < 2 {
		return
	}
	from, to := r.Holds[0].End, r.Holds[0].Start
	for _, h := range r.Holds {
		from, to = min(from, h.End), max(to, h.Start)
	}
	within := func(times []time.Duration) int {
		n := 0
		for _, t := range times {
			if from <= t && t <= to {
				n++
			}
		}
		return n
	}
	for _, h := range r.Holds {
		if from <= h.Start {
			s.Handed++
		}
	}
	s.Requests, s.WakeUps = within(r.Requests), within(r.WakeUps)
}

// Share is what one machine got of the locks.
type Share struct {
	Machine string
	Asked   int64
	Grants  int64
	Held    time.Duration
}

// Shares lists what each machine that asked for a lock got, in the order in which they first asked.
func (r *Run) Shares() []Share {
	var all []Share
	place := map[string]int{}
	of := make([]int, len(r.Clients)) // by client: its place in all, -1 = it never asked
	for i := range of {
		of[i] = -1
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if !r.IsAcquire(c) {
			continue
		}
		if of[c.Client] < 0 {
			machine := r.Clients[c.Client].Machine
			at, known := place[machine]
			if !known {
				at = len(all)
				place[machine] = at
				all = append(all, Share{Machine: machine})
			}
			of[c.Client] = at
		}
		share := &all[of[c.Client]]
		share.Asked++
		if c.Outcome == Done {
			share.Grants++
		}
	}
	for _, h := range r.Holds {
		all[of[h.Client]].Held += h.End - h.Start
	}
	return all
}

// Jain is the fairness index of Jain, (sum x)^2 / (n * sum x^2), in parts per million: 1,000,000 where all have the
// same, 1,000,000/n where one has it all. Where nobody has anything all have the same. Values are not below zero.
func Jain(values []int64) int64 {
	sum, most := int64(0), int64(0)
	for _, v := range values {
		most = max(most, v)
	}
	// The square of the sum has to fit into 64 bits: values are scaled down together, which leaves the index as it is up
	// to rounding.
	drop := max(bits.Len64(uint64(most))+bits.Len(uint(len(values)))-32, 0)
	squares := uint64(0)
	for _, v := range values {
		v >>= drop
		sum += v
		squares += uint64(v) * uint64(v)
	}
	if squares == 0 {
		return million
	}
	high, low := bits.Mul64(uint64(sum)*uint64(sum), million)
	quotient, _ := bits.Div64(high, low, uint64(len(values))*squares)
	return int64(quotient)
}

const million = 1_000_000
