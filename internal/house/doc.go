// Package house holds the rules that this module's own source obeys, as code.
//
// Reruns are equal only while nobody reads the real clock, ranges over a map or draws from a shared generator, and
// the layers stay apart only while somebody looks. The rules look: [Load] reads the tree into a [Tree], each [Rule]
// turns a Tree into findings, and the tests of this package fail while there is one.
//
//	tree, err := house.Load(root)
//	...
//	for _, finding := range house.Check(tree, house.Rules()) {
//		fmt.Println(finding) // sim/world.go:120:9: clocks: time.Sleep waits for the real clock; ...
//	}
//
// The findings of the whole module in one list:
//
//	go test ./internal/house
//
// # Exceptions
//
// An exception is written down where it is made, with its reason. Some are rows of a table in this package: which
// package may import what (imports.go), which file may read the real clock (clocks.go). The others are marks: a
// comment on the line, or on the line above, that says why the rule does not bite there.
//
//	// order-free: only the sum is used
//	// ranked: a reply that is there wins over the end of ctx, which is looked at after it
//	// float: for the plot only
//	mutex sync.Mutex // never held across a wait
//
// # Rules
//
// Each rule has a file testdata/rules/NAME.txtar with sources that break it beside sources that do not, and the exact
// findings. A rule without one fails the tests.
package house
