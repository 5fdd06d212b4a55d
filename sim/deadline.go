package sim

// deadline is a time-out that is moved at every call and hardly ever ends one. It keeps one event in the queue, which
// asks when it comes whether the time-out has moved on, so that a call costs no queue entry of its own. Engine's.
type deadline struct {
	conn interface {
		target() int64 // true time of the time-out as it stands now, never = none
		postpone(span int64)
		awaited() bool // somebody will notice
		timedOut()
	}
	end         *end
	queued      bool  // an event is in the queue, or deferred by a pause
	at          int64 // its time
	generation  uint64
	postponedAt int64
}

// never is the target of a time-out that is not set.
const never = -1 << 63

// ensure makes sure that an event comes no later than the time-out.
func (d *deadline) ensure() {
	target := d.conn.target()
	if target == never {
		return
	}
	n := d.end.node
	w := n.world
	at := slot(max(target, w.now.Load()), n.timers)
	if d.queued && d.at <= at {
		return
	}
	d.queued, d.at = true, at
	d.generation++
	n.sequence++
	w.queue.push(event{at: at, key: key(n.timers, n.sequence), deadline: d, generation: d.generation})
}

// due tells whether the time-out has come with an event of the queue.
func (d *deadline) due(e *event) bool {
	if e.generation != d.generation {
		return false
	}
	target := d.conn.target()
	return target != never && target <= e.at
}

// queueAgain follows an event that was taken out of the queue because it was not due.
func (d *deadline) queueAgain(generation uint64) {
	if generation == d.generation {
		d.queued = false
		d.ensure()
	}
}

func (d *deadline) expire(e event) {
	n := d.end.node
	if n.paused {
		n.deferred = append(n.deferred, e)
		return
	}
	d.queued = false
	if d.conn.awaited() {
		w := n.world
		w.trace.current = w.trace.add(e.at, KindTimer, n, nil, d.end.conn.id, 0, 1, plain("time-out"))
		w.dirty.Store(true)
	}
	d.conn.timedOut()
}
