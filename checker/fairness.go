package checker

import (
	"fmt"
	"math/big"
)

// million is the value of Jain's index where all get the same.
const million = 1_000_000

// judgeFairness measures by Jain's index how evenly a lock is shared among those who ask for it: how often they got in,
// and for how long they held. The lower of the two counts; it is 1 where all have the same and 1/n where one of n has
// all.
func (a *analysis) judgeFairness(options Options) Verdict {
	f := &findings{cap: options.MaxViolations}
	figures, shared := "", false
	for _, log := range a.locks {
		entries, times, clients := a.shares(log)
		if len(clients) < 2 {
			continue
		}
		byEntry, any := jain(entries)
		byTime, _ := jain(times)
		if !any {
			continue
		}
		if !shared {
			figures = fmt.Sprintf("Jain's index of %s among %s is %s by entries and %s by time held", log.key,
				plural(len(clients), "client"), index(byEntry), index(byTime))
		}
		shared = true
		if low := min(byEntry, byTime); low < options.FairnessBound {
			v := Violation{Kind: KindUnfair, Key: log.key, To: a.events[len(a.events)-1].Time}
			v.Text = fmt.Sprintf("%s was shared unevenly among %s: Jain's index is %s (allowed is %s)", log.key,
				plural(len(clients), "client"), index(low), index(options.FairnessBound))
			a.involve(&v, clients...)
			f.add(v)
		}
	}
	switch {
	case f.found > 0:
		return f.verdict(Verdict{})
	case !shared:
		return unknown("no lock was asked for by two clients and got by one of them")
	}
	return measured(options.FairnessBound > 0, figures)
}

// shares lists what each client that asked for a lock got of it.
func (a *analysis) shares(log *lockLog) (entries, times []int64, clients []int) {
	place := make([]int, len(a.clients)) // plus one; 0 = it did not ask
	for _, id := range log.operations {
		if o := &a.operations[id]; o.acquires() && place[o.client] == 0 {
			clients = append(clients, o.client)
			place[o.client] = len(clients)
		}
	}
	entries, times = make([]int64, len(clients)), make([]int64, len(clients))
	for k := range log.claims {
		if c := &log.claims[k]; !c.empty() {
			entries[place[c.client]-1]++
			times[place[c.client]-1] += int64(c.end.time - c.start.time)
		}
	}
	return entries, times, clients
}

// jain is Jain's index in millionths; ok is false where nobody got anything.
func jain(shares []int64) (millionths int, ok bool) {
	sum, squares := new(big.Int), new(big.Int)
	for _, x := range shares {
		b := big.NewInt(x)
		sum.Add(sum, b)
		squares.Add(squares, b.Mul(b, b))
	}
	if squares.Sign() == 0 {
		return million, false
	}
	sum.Mul(sum, sum).Mul(sum, big.NewInt(million))
	squares.Mul(squares, big.NewInt(int64(len(shares))))
	return int(sum.Quo(sum, squares).Int64()), true
}

// index renders millionths with three decimals.
func index(millionths int) string {
	return fmt.Sprintf("%d.%03d", millionths/million, millionths%million/1000)
}
