package timeserver

import (
	"errors"
	"fmt"
	"strconv"
)

const (
	requestName = "TIME"
	request     = requestName + "\n"
	// replyMax is the length of the longest answer, that of the earliest time: a sign, 19 digits and the line feed.
	replyMax = 21
)

// requestBytes is what a client writes; nobody changes it.
var requestBytes = []byte(request)

// errGarbage means that the peer does not speak the protocol.
var errGarbage = errors.New("not a line of the time protocol")

// Describe names a request for traces: {"TIME"} for exactly one whole request, nil for any other bytes.
func Describe(p []byte) []string {
	if string(p) != request {
		return nil
	}
	return []string{requestName}
}

// Session is the server's side of one connection, without the connection. The zero value is ready.
type Session struct{ matched int } // bytes of the next request that have arrived

// Answer takes bytes that arrived and appends to answers one line for each request that they complete, all with the
// given time. An error means that the peer sent something else: the connection is to be closed.
func (s *Session) Answer(answers, arrived []byte, millis int64) ([]byte, error) {
	for _, b := range arrived {
		if b != request[s.matched] {
			return answers, fmt.Errorf("%w: byte %q where %q was due", errGarbage, b, request[s.matched])
		}
		s.matched++
		if s.matched == len(request) {
			s.matched = 0
			answers = append(strconv.AppendInt(answers, millis, 10), '\n')
		}
	}
	return answers, nil
}

// parseAnswer reads one whole line, line feed included, exactly as Session writes it.
func parseAnswer(line []byte) (int64, error) {
	if len(line) == 0 || len(line) > replyMax || line[len(line)-1] != '\n' {
		return 0, fmt.Errorf("%w: %.40q", errGarbage, line)
	}
	digits := string(line[:len(line)-1])
	millis, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || strconv.FormatInt(millis, 10) != digits {
		return 0, fmt.Errorf("%w: %.40q", errGarbage, line)
	}
	return millis, nil
}
