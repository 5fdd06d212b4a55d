package zklock

import (
	"testing"
	"testing/synctest"

	"github.com/go-zookeeper/zk"
)

func TestSessionTellsEverybody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(chan zk.Event)
		session := Watch(source, func(f func()) { go f() })
		first := session.Events()
		source <- zk.Event{State: zk.StateHasSession}
		synctest.Wait()
		second := session.Events()
		source <- zk.Event{State: zk.StateExpired}
		close(source)
		if a, b := states(first), states(second); len(a) != 2 || a[1] != zk.StateExpired || len(b) != 1 || b[0] != a[1] {
			t.Errorf("told %v and %v", a, b)
		}
		synctest.Wait()
		if got := states(session.Events()); len(got) != 0 {
			t.Errorf("told %v after the end", got)
		}
	})
}

// states reads until the channel is closed.
func states(events <-chan zk.Event) (all []zk.State) {
	for event := range events {
		all = append(all, event.State)
	}
	return all
}

// TestSessionWaitsForNobody: a listener that does not read misses events, and the others do not.
func TestSessionWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := make(chan zk.Event)
		session := Watch(source, func(f func()) { go f() })
		idle := session.Events()
		got := make(chan int)
		busy := session.Events()
		go func() { got <- len(states(busy)) }()
		for range 2 * listenerBuffer {
			source <- zk.Event{State: zk.StateConnecting}
			synctest.Wait()
		}
		close(source)
		if n := <-got; n != 2*listenerBuffer {
			t.Errorf("the one that reads got %d events", n)
		}
		if n := len(states(idle)); n != listenerBuffer {
			t.Errorf("the one that does not read got %d events", n)
		}
	})
}
