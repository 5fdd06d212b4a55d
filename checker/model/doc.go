// Package model holds the sequential lock objects that histories are compared with.
//
// A Model says which answers one lock gives when it handles one operation at a time. It is pure: Step takes a state and
// an operation and returns the state after it, or says that the operation cannot have been answered like that. The same
// models serve for replaying the order in which a server worked, for the search for such an order, and for Porcupine.
//
// Which model is right depends on what the lock promises:
//
//	mutex            a lock that knows no owners: anybody may release it
//	owner            a lock that only its owner may release
//	reentrant        an owner may acquire again, up to a limit if there is one
//	fenced           each hold has a token that is higher than all before
//	reentrant-fenced both
//	semaphore        as many holds at one time as there are permits
//	lease            a hold ends by release, or where the history says that the server ended it
//	takeover         a hold ends by release, or because another took over its dead record
//	timed-lease      a hold ends by release or by time; nobody recorded when
//
// A lease lock is no mutex: judged as one, it is at fault whenever a lease ends. A lease that may end at any moment, on
// the other hand, allows everything. Hence the last three, in order of preference.
package model
