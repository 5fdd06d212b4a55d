// Package ci writes what came of a campaign for the machines of continuous integration: JUnit XML, SARIF, GitHub's
// annotations and step summary, and JSON for everything else.
//
// A [Campaign] holds what the formats have in common, in plain values. It knows no scenario and runs nothing; whoever
// has run the campaign fills it in. Equal campaigns give equal bytes in every format: none of them has a time of day,
// a duration or a path of the machine in it.
//
// # JSON
//
// One object. Its keys are those of [Campaign], [Row], [Problem] and what they hold; schema is "lockstep-result/1".
// Numbers of seeds are JSON numbers of up to 64 bits.
//
// # JUnit
//
// A suite for each row, which is one implementation in one scenario, with one case in it. The suite has the properties
// scenario, implementation, transport, verdict, seeds, hash, and for the weightiest problem seed, fault and replay,
// the command that shows it. They are properties of the suite because the schema that Jenkins checks against knows none
// of a case. A case has at most one failure or error: some readers keep no more than one.
//
// # SARIF
//
// One run with one result for each problem. The fingerprint is over the scenario, the implementation, the kind of
// problem and the property, so that a violation is the same alert from seed to seed. A result lies in the scenario's
// file, at the line of the implementation.
//
// # GitHub
//
// At most five annotations, the weightiest first, then how many more there are. The step summary is a page of Markdown
// with a table and the first violation as a Mermaid diagram, and is cut off long before the megabyte at which GitHub
// drops it as a whole.
package ci
