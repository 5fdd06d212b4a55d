package checker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-sim/lockstep/checker"
)

// TestClaims checks what is told of claims that end in different ways; when they start and end is for the tests of the
// properties.
func TestClaims(t *testing.T) {
	const second = time.Second
	event := func(at time.Duration, process int, kind checker.Type, f string) checker.Event {
		node := fmt.Sprintf("c%d", process)
		return checker.Event{Time: at * second, Process: process, Node: node, Type: kind, F: f, Key: "job"}
	}
	deadline := event(2, 2, checker.OK, checker.Acquire)
	deadline.Deadline, deadline.Token = 3*second, 7
	h := &checker.History{Events: []checker.Event{
		event(0, 1, checker.Invoke, checker.Acquire),
		event(0, 2, checker.Invoke, checker.Acquire),
		event(0, 3, checker.Invoke, checker.Acquire),
		event(1, 1, checker.OK, checker.Acquire),
		deadline,
		event(4, 1, checker.Invoke, checker.Release),
		event(5, 3, checker.OK, checker.Acquire),
		event(6, 3, checker.Info, checker.Crash),
		event(6, 1, checker.Info, checker.Release),
		event(6, 1, checker.Invoke, checker.TryAcquire),
		event(7, 1, checker.OK, checker.TryAcquire),
		event(8, 2, checker.Invoke, checker.Release),
	}}
	for i := range h.Events {
		h.Events[i].Index = int64(i + 1)
	}
	want := []checker.Claim{
		{Process: 1, Start: 1, End: 4, Acquire: 4, EndEvent: 6, Ending: checker.EndsReleased},
		{Process: 2, Start: 2, End: 3, Acquire: 5, Ending: checker.EndsExpired, Token: 7},
		{Process: 3, Start: 5, End: 6, Acquire: 7, EndEvent: 8, Ending: checker.EndsCrashed},
		{Process: 1, Start: 7, End: 8, Acquire: 11, Ending: checker.EndsNot},
	}
	for i := range want {
		w := &want[i]
		w.Lock, w.Node = "job", fmt.Sprintf("c%d", w.Process)
		w.Start, w.End = w.Start*second, w.End*second
	}
	if diff := cmp.Diff(want, checker.Claims(h)); diff != "" {
		t.Errorf("claims differ (-want +got):\n%s", diff)
	}
}

// TestClaimsOfNothing gives no claims for a history that is not well-formed, and does not look at it any further.
func TestClaimsOfNothing(t *testing.T) {
	h, err := checker.ReadHistory(strings.NewReader(`{"schema":"lockstep-history/1","seed":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if claims := checker.Claims(&h); len(claims) != 0 {
		t.Errorf("a history without events has the claims %v", claims)
	}
	h.Events = []checker.Event{{Index: 1, Process: 1, Type: checker.OK, F: checker.Release, Key: "job"}}
	if claims := checker.Claims(&h); len(claims) != 0 {
		t.Errorf("a return without a call has the claims %v", claims)
	}
}
