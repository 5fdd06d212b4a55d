package redislock

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lockstep-sim/lockstep/impl"
)

// Record is the value of a lock's key: who holds it, how many levels deep, and until when. It is written exactly as
// the published lock writes it, so that programs on both sides could share a server.
type Record struct {
	Count   int64  `json:"count"`    // levels of reentrancy
	Expires int64  `json:"expires"`  // Unix milliseconds; which clock judges it is the lock's choice
	Process int64  `json:"jvmPid"`   // Owner.Process
	Machine string `json:"mac"`      // Owner.Machine
	Thread  int64  `json:"threadId"` // Owner.Thread
}

// newRecord is the record of a first level.
func newRecord(owner impl.Owner, expires int64) Record {
	return Record{Count: 1, Expires: expires, Process: owner.Process, Machine: owner.Machine, Thread: owner.Thread}
}

// Owner returns whom the record names.
func (r Record) Owner() impl.Owner {
	return impl.Owner{Machine: r.Machine, Process: r.Process, Thread: r.Thread}
}

// String renders the record as JSON without spaces, fields in alphabetical order.
func (r Record) String() string {
	text := make([]byte, 0, 128)
	text = append(text, `{"count":`...)
	text = strconv.AppendInt(text, r.Count, 10)
	text = append(text, `,"expires":`...)
	text = strconv.AppendInt(text, r.Expires, 10)
	text = append(text, recordTail(r.Owner())...)
	return string(text)
}

// recordTail is the part of a record that depends on the owner alone: all that follows the deadline.
func recordTail(owner impl.Owner) string {
	return `,"jvmPid":` + strconv.FormatInt(owner.Process, 10) + `,"mac":` + quote(owner.Machine) +
		`,"threadId":` + strconv.FormatInt(owner.Thread, 10) + `}`
}

// quote renders a JSON string. Unlike json.Marshal it leaves <, > and & as they are, as the published program does.
func quote(text string) string {
	if plain(text) {
		return `"` + text + `"`
	}
	var quoted strings.Builder
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(quoted.String(), "\n")
}

// ParseRecord reads a record. It takes what the published parser takes: any order of the fields, spaces, fields that
// it does not know, and missing fields, which are then zero.
func ParseRecord(text string) (Record, error) {
	if record, ok := parseCanonical(text); ok {
		return record, nil
	}
	var record Record
	if !strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		return Record{}, fmt.Errorf("redislock: %.60q is not a lock record: it must be a JSON object", text)
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return Record{}, fmt.Errorf("redislock: %.60q is not a lock record: %w", text, err)
	}
	return record, nil
}

// parseCanonical reads a record as String writes it, where the machine needs no escapes. Records are read far more
// often than anything else here, and this is some ten times as fast as package json. ok is false for any other text.
func parseCanonical(text string) (record Record, ok bool) {
	rest, good := text, true
	number := func(label string) int64 {
		after, found := strings.CutPrefix(rest, label)
		end := 0
		for end < len(after) && (after[end] == '-' || after[end] >= '0' && after[end] <= '9') {
			end++
		}
		n, err := strconv.ParseInt(after[:end], 10, 64)
		// JSON knows no leading zeros and no "-0" that would survive String.
		good = good && found && err == nil && strconv.FormatInt(n, 10) == after[:end]
		rest = after[end:]
		return n
	}
	record.Count = number(`{"count":`)
	record.Expires = number(`,"expires":`)
	record.Process = number(`,"jvmPid":`)
	after, found := strings.CutPrefix(rest, `,"mac":"`)
	end := strings.IndexByte(after, '"')
	if !good || !found || end < 0 || !plain(after[:end]) {
		return Record{}, false
	}
	record.Machine, rest = after[:end], after[end+1:]
	record.Thread = number(`,"threadId":`)
	return record, good && rest == "}"
}

// plain tells whether text stands in JSON as it is.
func plain(text string) bool {
	for i := range len(text) {
		if b := text[i]; b < ' ' || b == '\\' || b == '"' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
