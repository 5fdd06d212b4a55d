package faults

import "testing"

// BenchmarkParse reads a fault of usual length.
func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := Parse("delay request of c1>redis by 11s on c1 between GET and GETSET #2"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkString writes the same fault.
func BenchmarkString(b *testing.B) {
	fault, err := Parse("delay request of c1>redis by 11s on c1 between GET and GETSET #2")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = fault.String()
	}
}

// BenchmarkDraw makes the plan of one seed from three templates: what every run of a campaign pays.
func BenchmarkDraw(b *testing.B) {
	templates, err := ParseTemplates("maybe 1/2 pause holder for 8s..15s on holder after SETNX #1..3\n" +
		"clock c2 step -5s..+5s at 2s..9s\ncrash c1 at 5s..20s")
	if err != nil {
		b.Fatal(err)
	}
	streams := []Stream{newStream(1, 0), newStream(1, 1), newStream(1, 2)}
	for b.Loop() {
		Draw(templates, func(i int) Stream { return streams[i] })
	}
}
