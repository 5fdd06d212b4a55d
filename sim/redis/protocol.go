package redis

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds on what a client may send. Redis allows bulk strings of 512 MB; a simulated lock needs none of that, and the
// memory of a bench that runs many worlds must be bounded.
const (
	maxBulk    = 64 << 20
	maxInline  = 64 << 10 // also for the lines that announce a length
	maxWords   = 1 << 20
	maxRequest = 2 * maxBulk
)

// requestParser cuts the requests out of a stream of bytes that arrives in pieces. The zero value is ready.
type requestParser struct {
	buffer []byte
	at     int // how much of buffer is consumed
	// An array of bulk strings of which the first words have arrived.
	words   []string
	missing int // words still to come; 0 between requests
	length  int // of the word to come, -1 while its announcement has not arrived
	size    int // bytes in words
}

// feed appends what arrived.
func (p *requestParser) feed(b []byte) {
	if p.at == len(p.buffer) {
		p.buffer, p.at = p.buffer[:0], 0
	} else if p.at > 4096 && p.at > len(p.buffer)/2 {
		p.buffer = p.buffer[:copy(p.buffer, p.buffer[p.at:])]
		p.at = 0
	}
	p.buffer = append(p.buffer, b...)
}

// next returns the next complete request, or nil if it has not arrived in full. Empty requests are skipped. After an
// error the stream cannot be read on.
func (p *requestParser) next() ([]string, error) {
	for p.missing > 0 || p.at < len(p.buffer) {
		if p.missing == 0 && p.buffer[p.at] != '*' {
			words, complete, err := p.inline()
			if err != nil || !complete {
				return nil, err
			}
			if len(words) == 0 {
				continue
			}
			return words, nil
		}
		if p.missing == 0 {
			if started, err := p.beginArray(); err != nil || !started {
				return nil, err
			}
			continue
		}
		if complete, err := p.word(); err != nil || !complete {
			return nil, err
		}
		if p.missing == 0 {
			words := p.words
			p.words, p.size = nil, 0
			return words, nil
		}
	}
	return nil, nil
}

// line consumes a line, without its end. Redis looks for the carriage return only.
func (p *requestParser) line(tooLong string) (line []byte, complete bool, err error) {
	rest := p.buffer[p.at:]
	for i, char := range rest {
		if i > maxInline {
			break
		}
		if char == '\r' {
			if i+1 == len(rest) {
				return nil, false, nil
			}
			p.at += i + 2
			return rest[:i], true, nil
		}
	}
	if len(rest) > maxInline {
		return nil, false, errors.New(tooLong)
	}
	return nil, false, nil
}

// beginArray consumes the announcement of an array of words.
func (p *requestParser) beginArray() (complete bool, err error) {
	line, complete, err := p.line("too big mbulk count string")
	if err != nil || !complete {
		return false, err
	}
	n, ok := parseDecimal(line[1:])
	if !ok || n > maxWords {
		return false, errors.New("invalid multibulk length")
	}
	if n > 0 {
		p.missing, p.length = int(n), -1
		p.words = make([]string, 0, min(n, 64))
	}
	return true, nil
}

// word consumes one bulk string of the current array.
func (p *requestParser) word() (complete bool, err error) {
	if p.length < 0 {
		if p.at == len(p.buffer) {
			return false, nil
		}
		line, complete, err := p.line("too big bulk count string")
		if err != nil || !complete {
			return false, err
		}
		if len(line) == 0 || line[0] != '$' {
			got := byte('\r')
			if len(line) > 0 {
				got = line[0]
			}
			return false, fmt.Errorf("expected '$', got '%c'", got)
		}
		n, ok := parseDecimal(line[1:])
		if !ok || n < 0 || n > maxBulk || p.size+int(n) > maxRequest {
			return false, errors.New("invalid bulk length")
		}
		p.length = int(n)
	}
	if len(p.buffer)-p.at < p.length+2 {
		return false, nil
	}
	p.words = append(p.words, string(p.buffer[p.at:p.at+p.length]))
	p.at += p.length + 2 // Redis does not look at the line end either
	p.size += p.length
	p.missing--
	p.length = -1
	return true, nil
}

// inline consumes a request typed as one line.
func (p *requestParser) inline() (words []string, complete bool, err error) {
	rest := p.buffer[p.at:]
	end := -1
	for i, char := range rest {
		if char == '\n' {
			end = i
			break
		}
	}
	if end < 0 {
		if len(rest) > maxInline {
			return nil, false, errors.New("too big inline request")
		}
		return nil, false, nil
	}
	p.at += end + 1
	words, ok := splitWords(strings.TrimSuffix(string(rest[:end]), "\r"))
	if !ok {
		return nil, false, errors.New("unbalanced quotes in request")
	}
	return words, true, nil
}

// splitWords splits a line at spaces. Words may be quoted: "..." knows escapes, '...' only \'.
func splitWords(line string) (words []string, ok bool) {
	for {
		line = strings.TrimLeft(line, " \t\n\v\f\r")
		if line == "" || line[0] == 0 {
			return words, true
		}
		word, rest, ok := cutWord(line)
		if !ok {
			return nil, false
		}
		words = append(words, word)
		line = rest
	}
}

func isSpace(char byte) bool { return char == ' ' || char >= '\t' && char <= '\r' }

// cutWord takes one word off a line that does not begin with a space.
func cutWord(line string) (word, rest string, ok bool) {
	var built strings.Builder
	for i := 0; i < len(line); {
		switch char := line[i]; {
		case char == '"' || char == '\'':
			n, closed := unquote(&built, line[i:])
			i += n
			// What follows a closing quote must be a space or nothing.
			if !closed || i < len(line) && !isSpace(line[i]) {
				return "", "", false
			}
			return built.String(), line[i:], true
		case isSpace(char) || char == 0:
			return built.String(), line[i:], true
		default:
			built.WriteByte(char)
			i++
		}
	}
	return built.String(), "", true
}

// unquote reads a quoted piece and tells how long it was, quotes included.
func unquote(built *strings.Builder, quoted string) (n int, closed bool) {
	quote := quoted[0]
	for i := 1; i < len(quoted); {
		rest := quoted[i:]
		switch {
		case rest[0] == quote:
			return i + 1, true
		case quote == '"' && len(rest) >= 4 && rest[0] == '\\' && rest[1] == 'x' && isHex(rest[2]) && isHex(rest[3]):
			built.WriteByte(hexDigit(rest[2])<<4 | hexDigit(rest[3]))
			i += 4
		case quote == '"' && len(rest) >= 2 && rest[0] == '\\':
			built.WriteByte(unescape(rest[1]))
			i += 2
		case quote == '\'' && strings.HasPrefix(rest, `\'`):
			built.WriteByte('\'')
			i += 2
		default:
			built.WriteByte(rest[0])
			i++
		}
	}
	return len(quoted), false
}

func unescape(char byte) byte {
	switch char {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return char
}

func isHex(char byte) bool {
	return char >= '0' && char <= '9' || char >= 'a' && char <= 'f' || char >= 'A' && char <= 'F'
}

func hexDigit(char byte) byte {
	switch {
	case char <= '9':
		return char - '0'
	case char <= 'F':
		return char - 'A' + 10
	}
	return char - 'a' + 10
}

// Describe returns the words of bytes that are exactly one request, nil for anything else.
func Describe(request []byte) []string {
	p := requestParser{buffer: request}
	words, err := p.next()
	if err != nil || p.at != len(request) {
		return nil
	}
	return words
}
