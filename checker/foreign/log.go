package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// logRecords reads the operations of a log of Jepsen: process, type, f, value and error, with tabs between them. Lines
// of other parts of Jepsen are passed over.
type logRecords struct {
	r    *bufio.Reader
	line int
}

func (r *logRecords) record() (value, int, error) {
	for {
		line, err := r.next()
		if err != nil {
			return value{}, 0, err
		}
		fields, isOperation := logged(line)
		if !isOperation {
			continue
		}
		v, err := r.operation(fields)
		return v, r.line, err
	}
}

// next reads a line. The buffer of the reader bounds its length.
func (r *logRecords) next() ([]byte, error) {
	r.line++
	line, err := r.r.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("line %d: longer than %d bytes: this is no history", r.line, len(line))
	case errors.Is(err, io.EOF) && len(line) > 0, err == nil:
		return bytes.TrimRight(line, "\r\n"), nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, fmt.Errorf("line %d: %w", r.line, err)
	}
}

// logged returns what a line says of an operation, and whether it says something.
func logged(line []byte) ([]byte, bool) {
	if rest, found := bytes.CutPrefix(line, []byte("INFO")); found {
		_, after, found := bytes.Cut(rest, []byte("jepsen.util - "))
		return after, found
	}
	start := bytes.TrimLeft(line, " \t")
	return line, len(start) > 0 && (start[0] == ':' || start[0] >= '0' && start[0] <= '9')
}

// operation reads the fields of a line.
func (r *logRecords) operation(line []byte) (value, error) {
	s := ednReader{newSource(bufio.NewReader(bytes.NewReader(line)))}
	s.line = r.line
	v := value{kind: object}
	for _, name := range []string{"process", "type", "f", "value", "error"} {
		field, err := s.value(0)
		if errors.Is(err, io.EOF) {
			if len(v.items) < 6 {
				return value{}, s.fault("want process, type and f, found %q", line[:min(len(line), 40)])
			}
			return v, nil
		}
		if err != nil {
			return value{}, err
		}
		v.items = append(v.items, value{kind: keyword, text: name}, field)
	}
	if err := s.skip(0); !errors.Is(err, io.EOF) {
		return value{}, s.wrong("the end of the line")
	}
	return v, nil
}
