package reports

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// searches are the efforts of two strategies for a dozen finds, of which the first never finds the last three.
func searches() []EffortPoint {
	var points []EffortPoint
	for i := range 12 {
		find := EffortPoint{
			Scenario: fmt.Sprintf("scenario-%d", i), Implementation: "some/lock", What: "mutual-exclusion", Ranges: 20,
		}
		uniform, steered := find, find
		uniform.Strategy, uniform.Seeds = "uniform", min(1<<i, 400)
		steered.Strategy, steered.Seeds, steered.Time = "deadline", 1+i, time.Duration(i)*1500*time.Microsecond
		if i > 8 {
			uniform.Missed = 15
		}
		points = append(points, uniform, steered)
	}
	return points
}

func TestEffortsByStrategy(t *testing.T) {
	all := efforts(searches())
	if len(all) != 2 || all[0].strategy != "uniform" || all[1].strategy != "deadline" || len(all[0].points) != 12 {
		t.Fatalf("got %d strategies, the first %s with %d points", len(all), all[0].strategy, len(all[0].points))
	}
	for _, e := range all {
		for i := 1; i < len(e.points); i++ {
			if e.points[i].Seeds < e.points[i-1].Seeds {
				t.Errorf("%s: %d seeds come after %d", e.strategy, e.points[i].Seeds, e.points[i-1].Seeds)
			}
		}
	}
	if caption := effortCaption(all); !strings.Contains(caption, "With uniform 3 of 12 are not found in most ranges.") {
		t.Errorf("the caption says %q", caption)
	}
}

func TestEffortPlotRefuses(t *testing.T) {
	for _, points := range [][]EffortPoint{
		nil,
		{{Strategy: "uniform", Ranges: 1}},
		{{Strategy: "uniform", Seeds: 1}},
	} {
		if _, err := EffortPlot(points...); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("EffortPlot(%v) returns %v", points, err)
		}
	}
}
