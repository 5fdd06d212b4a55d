package sim

import (
	"slices"
	"time"
)

// Vanish ends the message here and leaves its connection alone, as when a server drops an event instead of sending it.
// For a message that is Unasked: whoever waits for a reply would take the next one for it.
func (m *Message) Vanish() { m.vanished = true }

// Repeat makes the same message set out once more after d, on the same connection if that is still there, and behind
// whatever was sent meanwhile. No Tap is asked about the copy. For a message that is Unasked.
func (m *Message) Repeat(d time.Duration) {
	e, kind, raw, reply, unasked := m.from, m.kind, slices.Clone(m.raw), m.reply, m.Unasked
	w := e.node.world
	w.At(w.Now()+max(d, 0), func() {
		if e.gone || e.closed || e.process.dead.Load() {
			return
		}
		again := w.newMessage(e, kind)
		again.raw = append(again.raw[:0], raw...)
		again.reply, again.Unasked, again.asked = reply, unasked, true
		w.transmit(again)
	})
}
