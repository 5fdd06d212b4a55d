package zklock

import (
	"fmt"
	"strconv"
	"strings"
)

// sequence reads the number that the server appended to prefix. It returns false for a name that the server has not
// made so.
//
// The server counts in 32 bits with a sign and goes on below zero after the highest number. It writes at least ten
// characters, the minus among them.
func sequence(name, prefix string) (number int32, ok bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), err == nil && fmt.Sprintf("%010d", n) == digits
}

// before tells whether the server gave out a before b: the way from a up to b is shorter than the way down. That holds
// also where the counter has passed its end in between, as long as fewer than 2^31 numbers lie between the oldest node
// and the newest.
func before(a, b int32) bool { return a-b < 0 }

// numbered tells whether a name of any prefix may end in a number of the server.
func numbered(name string) bool {
	return name != "" && strings.ContainsRune("0123456789", rune(name[len(name)-1]))
}
