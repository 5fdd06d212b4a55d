// Package mechanism names how a lock came to fail.
//
// A verdict of package checker says that a property is violated: two clients believed they held the lock. This package
// says by which mechanism, for locks that keep a record on a server: it follows what became of the record of the client
// that was robbed, and matches it with the mechanisms that are known of SETNX/GETSET locks. Find takes a history with
// facts of the server (checker.RecordSet, checker.RecordGone) and the verdicts on it:
//
//	verdicts := checker.Check(&history, options)
//	for _, finding := range mechanism.Find(&history, verdicts) {
//		fmt.Println(finding.Mechanism.Name, finding.Text)
//	}
//
// A violation that no mechanism explains has no finding; that is an answer too.
package mechanism
