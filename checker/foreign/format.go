package foreign

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/lockstep-sim/lockstep/checker"
)

// Format is a way to write histories down.
type Format string

// The formats that Read understands.
const (
	Auto      Format = "auto"       // find out by the first bytes
	Lockstep  Format = "lockstep"   // the format of package checker
	EDN       Format = "edn"        // operations of Jepsen or Knossos as EDN; key-value logs of Porcupine
	JSON      Format = "json"       // operations of Jepsen as JSON
	AtlasDB   Format = "atlasdb"    // the JSON of AtlasDB's lock test, which answers in values of its own
	JepsenLog Format = "jepsen-log" // lines of Jepsen's log, with or without "INFO jepsen.util - "
)

// Formats lists what Read understands.
func Formats() []Format { return []Format{Auto, Lockstep, EDN, JSON, AtlasDB, JepsenLog} }

// ParseFormat finds a format by its name.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range Formats() {
		if name == string(f) {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("there is no format %q: want one of %s", name, strings.Join(names, ", "))
}

// Recording is a history that was read, with what had to be assumed to understand it.
type Recording struct {
	checker.History
	Format Format
	// Object is what the operations are called on.
	Object Object
	// Assumed says in a sentence each what the file does not say and was decided in reading it.
	Assumed []string
}

// sniffed is how much of a file is looked at to find out its format.
const sniffed = 1 << 16

// sized is a reader that tells how many bytes it has left, before the first is read; 0 = it does not know.
type sized struct {
	io.Reader
	left int
}

func (s sized) Len() int { return s.left }

// lengthOf is how many bytes a reader has left, as far as it tells; 0 = it does not.
func lengthOf(r io.Reader) int {
	switch r := r.(type) {
	case interface{ Len() int }:
		return r.Len()
	case *os.File:
		info, err := r.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		at, err := r.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0
		}
		return int(max(info.Size()-at, 0))
	}
	return 0
}

// Read reads a history. Its errors are one line, which names the line of the file.
func Read(r io.Reader, format Format) (*Recording, error) {
	buffered, length := bufio.NewReaderSize(r, sniffed), lengthOf(r)
	if format == Auto || format == "" {
		var err error
		if format, err = sniff(buffered); err != nil {
			return nil, err
		}
	}
	var records interface {
		record() (value, int, error)
	}
	switch format {
	case Lockstep:
		h, err := checker.ReadHistory(sized{buffered, length})
		if err != nil {
			return nil, err
		}
		object := objectOf(&h)
		return &Recording{History: h, Format: format, Object: object, Assumed: assumptions(&h, object)}, nil
	case EDN:
		records = &ednRecords{ednReader: ednReader{newSource(buffered)}}
	case JSON, AtlasDB:
		records = &jsonRecords{jsonReader: jsonReader{newSource(buffered)}}
	case JepsenLog:
		records = &logRecords{r: buffered}
	default:
		_, err := ParseFormat(string(format))
		return nil, err
	}
	imported := newImporter(format)
	for {
		v, line, err := records.record()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = imported.add(&v, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s history: %w", format, err)
		}
	}
	recording, err := imported.recording()
	if err != nil {
		return nil, fmt.Errorf("%s history: %w", format, err)
	}
	return recording, nil
}

// sniff finds out the format by the first bytes, which stay unread.
func sniff(r *bufio.Reader) (Format, error) {
	b, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("history: line 1: %w", err)
	}
	start := bytes.TrimLeft(b, " \t\r\n,")
	first, _, _ := bytes.Cut(start, []byte{'\n'})
	inner := bytes.TrimLeft(start, " \t\r\n[{")
	switch {
	case len(start) == 0:
		return "", errors.New("history: line 1: there is no operation: the file is empty")
	case bytes.Contains(first, []byte(`"lockstep-history/`)):
		return Lockstep, nil
	case bytes.IndexByte([]byte("{["), start[0]) >= 0 && bytes.HasPrefix(inner, []byte{'"'}):
		if bytes.Contains(b, []byte(`"query-params"`)) {
			return AtlasDB, nil
		}
		return JSON, nil
	case bytes.IndexByte([]byte("{[(#;"), start[0]) >= 0:
		return EDN, nil
	case bytes.HasPrefix(start, []byte("INFO")), bytes.HasPrefix(start, []byte(":nemesis")),
		start[0] >= '0' && start[0] <= '9':
		return JepsenLog, nil
	}
	return "", fmt.Errorf("history: line 1: this is no history in any known format: it begins with %q",
		first[:min(len(first), 12)])
}
