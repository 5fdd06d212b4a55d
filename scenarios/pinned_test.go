package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPinned(t *testing.T) {
	dir := t.TempDir()
	shrunk := mustShrink(t, firstShrink(t, "dead-record", "redis/getset", target{mechanism: "R1"}, ""))
	replay := ReplayOf(shrunk.Setup, shrunk.Outcome, shrunk.Choice)
	replay.Program = "test"
	repaired := strings.Replace(replay.String(), "violated ", "holds ", 1)
	for name, text := range map[string]string{
		"a/replay.txt": replay.String(), "a/scenario.yaml": string(shrunk.Setup.Scenario.Text), "a/story.txt": "Once.\n",
		"b/other-name.txt": repaired, "b/scenario.yaml": string(shrunk.Setup.Scenario.Text),
		"testdata/replay.txt": replay.String(), ".hidden/replay.txt": replay.String(), "empty.txt": "",
		"c/shrunk.txt": ScriptOf(shrunk.Setup, shrunk.Outcome, []string{"One run."}).String(),
		"c/notes.txt":  "# Notes.\nOnce.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeTestFile(t, filepath.Join(dir, name), text)
	}
	files, err := Pinned(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(dir, "a", "replay.txt"), filepath.Join(dir, "b", "other-name.txt"),
		filepath.Join(dir, "c", "shrunk.txt"),
	}
	if !slices.Equal(files, want) {
		t.Fatalf("pinned are %v, want %v", files, want)
	}
	for i, asExpected := range []bool{true, false} {
		r, played, err := PlayPinned(t, files[i])
		if err != nil {
			t.Fatal(err)
		}
		if !played.Shows || played.AsExpected(r) != asExpected {
			t.Errorf("%s: shows %v, as expected %v", files[i], played.Shows, played.AsExpected(r))
		}
	}
	if files, err := Pinned(filepath.Join(dir, "nowhere")); err != nil || len(files) > 0 {
		t.Errorf("in a folder that is not there are %v (%v)", files, err)
	}
	writeTestFile(t, files[0], strings.Replace(replay.String(), "replay 2", "replay 1", 1))
	if _, _, err := PlayPinned(t, files[0]); err == nil || !strings.Contains(err.Error(), `format "1"`) {
		t.Errorf("of an old version the error is %v", err)
	}
}
