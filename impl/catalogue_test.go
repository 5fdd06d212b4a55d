package impl

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// entry makes an entry whose locks remember the settings they were made with.
func entry(name string, ablations ...string) Entry {
	e := Entry{Name: name, Backend: "redis", Knobs: []Knob{{Name: "retry", Default: "10ms"}}}
	for _, a := range ablations {
		e.Ablations = append(e.Ablations, Ablation{Name: a})
	}
	e.New = func(_ Environment, s Settings) (Lock, error) { return made{settings: s}, e.Validate(s) }
	return e
}

type made struct {
	unused
	settings Settings
}

// unused has the methods of a Lock; a field of the name Lock would hide the method.
type unused = interface{ Lock }

func testCatalogue(t *testing.T) *Catalogue {
	t.Helper()
	repaired := entry("redis/getset-repaired", "no-compare", "no-loss-report")
	c, err := NewCatalogue(entry("redis/setnx-px"), entry("redis/getset"), repaired)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLookup(t *testing.T) {
	settings := Settings{Name: "job", Lease: time.Second}
	for _, test := range []struct {
		name, found string
		ablated     []string
	}{
		{"redis/getset", "redis/getset", nil},
		{"redis/getset-repaired!no-compare", "redis/getset-repaired!no-compare", []string{"no-compare"}},
		{
			"redis/getset-repaired!no-loss-report+no-compare", "redis/getset-repaired!no-compare+no-loss-report",
			[]string{"no-compare", "no-loss-report"},
		},
	} {
		e, err := testCatalogue(t).Lookup(test.name)
		if err != nil || e.Name != test.found || !slices.Equal(e.Ablated, test.ablated) {
			t.Errorf("Lookup(%q) = %q, %q, %v", test.name, e.Name, e.Ablated, err)
			continue
		}
		lock, err := e.New(Environment{}, settings)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := lock.(made).settings.Ablations; !slices.Equal(got, test.ablated) {
			t.Errorf("%s makes locks without %q", test.name, got)
		}
	}
	if len(settings.Ablations) != 0 {
		t.Error("New changed its caller's settings")
	}
}

func TestLookupErrors(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"redis/getst", `no lock named "redis/getst"; did you mean "redis/getset"?`},
		{"redis/set-nx-px", `no lock named "redis/set-nx-px"; did you mean "redis/setnx-px"?`},
		{"etcd", `no lock named "etcd"; known: redis/getset, redis/getset-repaired, redis/setnx-px`},
		{"", `no lock named ""; known: redis/getset, redis/getset-repaired, redis/setnx-px`},
		{"redis/getset!x", `redis/getset: no ablation named "x"; there is none`},
		{"redis/getset-repaired!", `redis/getset-repaired: no ablation named ""; known: no-compare, no-loss-report`},
		{"redis/getset-repaired!no-compar", "redis/getset-repaired: no ablation named \"no-compar\"; " +
			`did you mean "no-compare"?`},
		{"redis/getset-repaired!no-compare+no-compare", "redis/getset-repaired: " +
			`the ablation "no-compare" is named twice; name it once`},
	} {
		_, err := testCatalogue(t).Lookup(test.name)
		if err == nil || err.Error() != test.want {
			t.Errorf("Lookup(%q): %v\nwant %s", test.name, err, test.want)
		}
	}
}

func TestListIsSortedAndACopy(t *testing.T) {
	c := testCatalogue(t)
	list := c.List()
	list[0].Name = "changed"
	var names []string
	for _, e := range c.List() {
		names = append(names, e.Name)
	}
	if diff := cmp.Diff([]string{"redis/getset", "redis/getset-repaired", "redis/setnx-px"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestNewCatalogueErrors(t *testing.T) {
	nameless, marked, twice := entry(""), entry("a!b"), []Entry{entry("a"), entry("b"), entry("a")}
	bare := Entry{Name: "bare"}
	for _, test := range []struct {
		entries []Entry
		want    string
	}{
		{[]Entry{nameless}, "cannot be the name"},
		{[]Entry{marked}, "cannot be the name"},
		{twice, `two entries are named "a"`},
		{[]Entry{bare}, `"bare" has no New`},
	} {
		if _, err := NewCatalogue(test.entries...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want %s", err, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	e := entry("redis/x", "no-compare")
	job := func(knobs map[string]string, ablations ...string) Settings {
		return Settings{Name: "job", Lease: 1, Knobs: knobs, Ablations: ablations}
	}
	for _, test := range []struct {
		settings Settings
		want     string
	}{
		{job(map[string]string{"retry": "x"}, "no-compare"), ""},
		{Settings{Lease: 1}, "redis/x: Settings.Name is empty; give the lock a name"},
		{Settings{Name: "job"}, "redis/x: Settings.Lease is 0s; it must be above zero"},
		{job(map[string]string{"z": "", "retri": "", "zz": ""}), `redis/x: no knob named "retri"; did you mean "retry"?`},
		{job(nil, "compare"), `redis/x: no ablation named "compare"; known: no-compare`},
	} {
		err := e.Validate(test.settings)
		if got := errorText(err); got != test.want {
			t.Errorf("%+v: %q, want %q", test.settings, got, test.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestKnobReader(t *testing.T) {
	e := Entry{Name: "redis/x", Knobs: []Knob{
		{Name: "retry", Default: "10ms"}, {Name: "drift", Default: "5"}, {Name: "renew", Default: "off"},
	}}
	r := e.ReadKnobs(Settings{Knobs: map[string]string{"drift": "7", "renew": "on"}})
	retry, drift, renew := r.Duration("retry", 0, time.Second), r.Integer("drift", 0, 10), r.Switch("renew")
	if retry != 10*time.Millisecond || drift != 7 || !renew || r.Err() != nil {
		t.Errorf("read %v, %d, %v, %v", retry, drift, renew, r.Err())
	}
	if got := r.Text("drift", "a seven", func(text string) bool { return text == "7" }); got != "7" || r.Err() != nil {
		t.Errorf("read %q, %v", got, r.Err())
	}
	r.Text("renew", `"off"`, func(text string) bool { return text == "off" })
	if got, want := errorText(r.Err()), `redis/x: knob renew is "on"; it must be "off"`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, test := range []struct{ knob, value, want string }{
		{"retry", "soon", `redis/x: knob retry is "soon"; it must be a duration from 1ms to 1s`},
		{"retry", "2s", `redis/x: knob retry is "2s"; it must be a duration from 1ms to 1s`},
		{"retry", "", `redis/x: knob retry is ""; it must be a duration from 1ms to 1s`},
		{"drift", "1.5", `redis/x: knob drift is "1.5"; it must be a whole number from 0 to 10`},
		{"drift", "-1", `redis/x: knob drift is "-1"; it must be a whole number from 0 to 10`},
		{"renew", "true", `redis/x: knob renew is "true"; it must be "on" or "off"`},
	} {
		r := e.ReadKnobs(Settings{Knobs: map[string]string{test.knob: test.value}})
		r.Duration("retry", time.Millisecond, time.Second)
		r.Integer("drift", 0, 10)
		r.Switch("renew")
		if got := errorText(r.Err()); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"abcd", "abxd", "abcx", "axxd", "zzzz"}
	for _, test := range []struct{ name, want string }{
		{"abcd", `did you mean "abcd" or "abxd" or "abcx"?`},
		{"zzz", `did you mean "zzzz"?`},
		{"qqqqqqqq", "known: abcd, abxd, abcx, axxd, zzzz"},
	} {
		if got := nearest(test.name, known); got != test.want {
			t.Errorf("nearest(%q): %s, want %s", test.name, got, test.want)
		}
	}
}

// TestEditDistance compares with the definition, spelt out by recursion.
func TestEditDistance(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		if a[0] == b[0] {
			return slow(a[1:], b[1:])
		}
		return 1 + min(slow(a[1:], b[1:]), slow(a[1:], b), slow(a, b[1:]))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.StringMatching("[ab]{0,6}").Draw(t, "a"), rapid.StringMatching("[ab]{0,6}").Draw(t, "b")
		if got, want := editDistance(a, b), slow(a, b); got != want {
			t.Fatalf("%q to %q: %d, want %d", a, b, got, want)
		}
	})
}
