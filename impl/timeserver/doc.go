// Package timeserver is a small TCP time service and its client. A lock that stores deadlines asks it, so that all
// machines judge a deadline by one clock.
//
// # Protocol
//
// Lines of ASCII, each ended by one line feed. The client sends
//
//	TIME
//
// and the server answers with its clock in milliseconds since the Unix epoch:
//
//	1475068172329
//
// Requests may be pipelined; answers come in their order. Each message is written in one piece. Whoever reads
// anything else closes the connection: nothing is longer than 21 bytes, so nobody buffers more than that.
//
// # Types
//
// [Server] answers on the connections of a net.Listener. [Session] is the server's side of the protocol without any
// connection, for who answers by other means. [Client] asks; it is an impl.TimeSource. [Describe] names a request for
// those who trace bytes.
package timeserver
