package sim

// event is one entry of the world's queue. Exactly one of message, timer, deadline and action is set.
type event struct {
	at  int64  // true time, nanoseconds
	key uint64 // decides between equal times: stream number and place within the stream, never creation order

	message *Message
	timer   *timer
	// generation is the timer's when it was queued; a timer that was started anew or stopped has another.
	generation uint64
	deadline   *deadline
	action     func()
}

func (e *event) before(o *event) bool {
	return e.at < o.at || e.at == o.at && e.key < o.key
}

// queue is a binary heap of events by time and key. It is typed and keeps its memory, so a push allocates nothing
// once the heap has grown.
type queue struct{ heap []event }

func (q *queue) push(e event) {
	q.heap = append(q.heap, e)
	i := len(q.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *queue) pop() event {
	top := q.heap[0]
	last := len(q.heap) - 1
	e := q.heap[last]
	q.heap[last] = event{}
	q.heap = q.heap[:last]
	if last == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&e) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	q.heap[i] = e
	return top
}
