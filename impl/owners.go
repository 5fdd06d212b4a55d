package impl

// Shared is a Lock that several owners of one process use as one object, as threads share a Java lock object.
type Shared interface {
	Lock
	// For returns another owner's handle on the same object.
	For(owner Owner) Lock
}
