package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-sim/lockstep/checker"
	"github.com/lockstep-sim/lockstep/reports"
	"github.com/lockstep-sim/lockstep/reports/ci"
)

// codeSpans are the names in a cell of a table.
var codeSpans = regexp.MustCompile("`([^`]+)`")

// outputPage reads the page about the output: for each heading the names in the first columns of its tables, in order.
// A heading can name several files, and a name that begins with a dot is another ending of the one before it.
func outputPage(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(docs, "output.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := map[string][]string{}
	var headings []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if title := strings.TrimLeft(line, "#"); title != line {
			if headings = namesIn(title); len(headings) == 0 {
				headings = []string{strings.TrimSpace(title)}
			}
		}
		if cells := strings.Split(line, "|"); len(cells) > 2 && cells[0] == "" {
			for _, heading := range headings {
				page[heading] = append(page[heading], namesIn(cells[1])...)
			}
		}
	}
	return page
}

// namesIn lists the names in a text.
func namesIn(text string) []string {
	var names []string
	for _, match := range codeSpans.FindAllStringSubmatch(text, -1) {
		name := match[1]
		if strings.HasPrefix(name, ".") {
			last := names[len(names)-1]
			name = strings.TrimSuffix(last, filepath.Ext(last)) + name
		}
		names = append(names, name)
	}
	return names
}

// same compares names on the page with those that are written.
func same(t *testing.T, what string, page, written []string) {
	t.Helper()
	for _, name := range written {
		if !slices.Contains(page, name) {
			t.Errorf("%s: %s is written, and the page does not tell of it", what, name)
		}
	}
	for _, name := range page {
		if !slices.Contains(written, name) {
			t.Errorf("%s: the page tells of %s, which is not written", what, name)
		}
	}
	if len(written) == 0 {
		t.Errorf("%s: nothing is written", what)
	}
	for i, name := range page {
		if slices.Contains(page[:i], name) {
			t.Errorf("%s: the page tells of %s twice", what, name)
		}
	}
}

// everyFile writes folders of runs that have all that one can have, and lists the files by their names in it.
func everyFile(t *testing.T) map[string]string {
	t.Helper()
	kept := filepath.Join("..", "..", "reports", "export", "testdata", "run")
	read, err := readRun(nil, kept, "", true)
	if err != nil {
		t.Fatal(err)
	}
	run := reports.Run{
		History: &read.history, Verdicts: read.verdicts, Replay: "lockstep replay 2\n", Scenario: []byte("name: mine\n"),
		Script: "run\n",
		Trace: func(w io.Writer) error {
			text, err := os.ReadFile(filepath.Join(kept, traceFile))
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return err
		},
	}
	for _, v := range read.verdicts {
		if len(v.Violations) > 0 && run.Story == nil {
			story := reports.Tell(run.History, v.Property, v.Violations[0], nil)
			run.Story = &story
		}
	}
	handedOver := historyOf(t, filepath.Join("..", "..", "reports", "testdata", "histories", "overtaken.jsonl"))
	malformed := &checker.History{Events: []checker.Event{{Index: 1, F: checker.Acquire, Type: checker.OK}}}
	files := map[string]string{}
	for name, run := range map[string]reports.Run{
		"whole": run, "handed over": {History: handedOver}, "malformed": {History: malformed},
	} {
		folder := filepath.Join(t.TempDir(), name)
		if err := reports.WriteFolder(folder, run); err != nil {
			t.Fatal(err)
		}
		for file, path := range listing(t, folder) {
			if text, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(text, []byte("There is no plot: ")) {
				files[file] = path
			}
		}
	}
	return files
}

func historyOf(t *testing.T, path string) *checker.History {
	t.Helper()
	run, err := readRun(nil, path, "", false)
	if err != nil {
		t.Fatal(err)
	}
	return &run.history
}

// listing finds all files of a folder: their places by their names with slashes. Links are files.
func listing(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, path)
		files[filepath.ToSlash(name)] = path
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestOutputPage compares the page about the output with what is written: files of a run, columns of its tables, keys
// of its JSON.
func TestOutputPage(t *testing.T) {
	page := outputPage(t)
	files := everyFile(t)
	same(t, "the folder of a run", page["The folder of a run"], slices.Collect(maps.Keys(files)))
	for name, path := range files {
		if filepath.Ext(name) == ".csv" {
			sameColumns(t, name, page[name], path)
		}
	}
	for name := range page {
		if _, isWritten := files[name]; !isWritten && strings.HasSuffix(name, ".csv") && strings.Contains(name, "/") {
			t.Errorf("the page has the columns of %s, which is not written", name)
		}
	}
	history := &checker.History{Events: []checker.Event{{}}}
	filled(reflect.ValueOf(history).Elem())
	history.Events[0].Type = checker.Invoke
	var text bytes.Buffer
	if err := checker.WriteHistory(&text, history); err != nil {
		t.Fatal(err)
	}
	same(t, historyFile, page[historyFile], keysOf(t, text.Bytes()))
	same(t, traceFile, page[traceFile], sourceKeys(t, "sim", "jsonEntry"))

	verdict := filled(reflect.New(reflect.TypeFor[checker.Verdict]()).Elem()).Interface()
	keys := sourceKeys(t, "reports", "verdictDocument")
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "verdicts" })
	keys = append(keys, keysOf(t, marshal(t, map[string]any{"verdicts": []any{verdict}}))...)
	same(t, verdictFile, page[verdictFile], keys)

	result := filled(reflect.New(reflect.TypeFor[ci.Campaign]()).Elem()).Interface()
	same(t, "result.json", page["result.json"], keysOf(t, marshal(t, result)))
	same(t, "campaign.json", page["campaign.json"], sourceKeys(t, "scenarios", "journalDocument"))
	same(t, "results.jsonl", page["results.jsonl"], sourceKeys(t, "scenarios", "seedResult"))
	same(t, "export", page["For other viewers"], append(exporterNames(), "--to"))
}

// TestOutputPageOfCommands compares the page with what commands leave in their folders.
func TestOutputPageOfCommands(t *testing.T) {
	page := outputPage(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	command := func(args ...string) {
		process := exec.CommandContext(t.Context(), program)
		process.Args, process.Dir = append([]string{"lockstep"}, args...), dir
		if out, err := process.CombinedOutput(); process.ProcessState == nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	// A lock that is broken and of which nothing is expected: its violation is kept.
	text, err := os.ReadFile(filepath.Join("..", "..", "scenarios", "library", "dead-record.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	own, _, _ := strings.Cut(string(text), "implementations:")
	own += "implementations:\n  redis/getset: {}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(own), 0o666); err != nil {
		t.Fatal(err)
	}
	command("run", "own.yaml", "--seeds", "1-20")
	command("herd", "--impl", "zk/fair", "--clients", "2")
	for _, vary := range []string{"clients=2,3", "lease=1s,2s", "latency=1ms,2ms"} {
		name, _, _ := strings.Cut(vary, "=")
		command("sweep", "zk-herd", "--impl", "zk/fair,zk/polling", "--vary", vary, "--seeds", "1", "--out",
			filepath.Join(outputFolder, "sweep", name))
	}
	var left []string
	seen := map[string][]string{}
	for name, path := range listing(t, filepath.Join(dir, outputFolder)) {
		base := filepath.Base(name)
		switch {
		case strings.Contains(name, "/seed-"):
			inside := name[strings.Index(name, "/seed-")+1:]
			_, inside, _ = strings.Cut(inside, "/")
			if !slices.Contains(page["The folder of a run"], inside) && filepath.Ext(inside) != ".txt" {
				t.Errorf("a run leaves %s, and the page does not tell of it", inside)
			}
		case slices.Contains([]string{".svg", ".png"}, filepath.Ext(name)): // beside a table of the same name
		case strings.HasPrefix(name, "sweep/") && slices.Contains(page[base], "figure"):
			seen[base] = append(seen[base], someColumns(t, name, page[base], path)...)
		case base == "wait-cdf.csv" || base == "hand-over.csv":
			sameColumns(t, name, page["plots/"+strings.Replace(base, "-cdf", "", 1)], path)
		case filepath.Ext(name) == ".csv":
			sameColumns(t, name, page[base], path)
		default:
			left = append(left, name)
		}
	}
	same(t, "the folder of runs", page["The folder of runs"], left)
	var all []string
	for _, base := range slices.Sorted(maps.Keys(seen)) {
		all = append(all, seen[base]...)
	}
	slices.Sort(all)
	same(t, "the plots of a sweep", page["jain.csv"], slices.Compact(all))
}

// someColumns compares the columns of a table with those on the page, which has more of them, and returns them.
func someColumns(t *testing.T, name string, page []string, path string) []string {
	t.Helper()
	columns := columnsOf(t, path)
	at := -1
	for _, column := range columns {
		next := slices.Index(page, column)
		if next <= at {
			t.Errorf("%s has the columns\n%v, and on the page there are, in another order,\n%v", name, columns, page)
			break
		}
		at = next
	}
	return columns
}

// sameColumns compares the columns of a table with those on the page, which has them in the same order.
func sameColumns(t *testing.T, name string, page []string, path string) {
	t.Helper()
	if columns := columnsOf(t, path); !slices.Equal(columns, page) {
		t.Errorf("%s has the columns\n%v, and on the page they are\n%v", name, columns, page)
	}
}

func columnsOf(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	columns, err := csv.NewReader(file).Read()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return columns
}

// filled sets all that a value has to something.
func filled(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		filled(v.Index(0))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				filled(v.Field(i))
			}
		}
	}
	if clock, is := v.Addr().Interface().(interface{ UnmarshalText([]byte) error }); is {
		_ = clock.UnmarshalText([]byte("2000-01-01T00:00:00Z")) // what is no time stays as it is
	}
	return v
}

func marshal(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// keysOf lists the keys of JSON objects, one or one a line: those inside of others with a dot, elements with [].
func keysOf(t *testing.T, text []byte) []string {
	t.Helper()
	keys := map[string]bool{}
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(strings.TrimPrefix(at+"."+key, "."), inner)
			}
			return
		case []any:
			if _, isObject := value[0].(map[string]any); isObject {
				walk(at+"[]", value[0])
				return
			}
		}
		keys[at] = true
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	for decoder.More() {
		var value any
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		walk("", value)
	}
	return slices.Collect(maps.Keys(keys))
}

// sourceKeys lists the keys of a type that another package keeps to itself, by its source. Types of further packages
// are not looked into.
func sourceKeys(t *testing.T, folder, name string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", folder, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]*ast.StructType{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, isType := n.(*ast.TypeSpec); isType {
				if s, isStruct := spec.Type.(*ast.StructType); isStruct {
					types[spec.Name.Name] = s
				}
			}
			return true
		})
	}
	if types[name] == nil {
		t.Fatalf("package %s has no type %s", folder, name)
	}
	return structKeys(types, types[name], "")
}

func structKeys(types map[string]*ast.StructType, s *ast.StructType, at string) []string {
	var keys []string
	for _, field := range s.Fields.List {
		if field.Tag == nil {
			continue
		}
		key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
		of, brackets := field.Type, ""
		if list, isList := of.(*ast.ArrayType); isList {
			of, brackets = list.Elt, "[]"
		}
		if pointer, isPointer := of.(*ast.StarExpr); isPointer {
			of = pointer.X
		}
		if word, isName := of.(*ast.Ident); isName && types[word.Name] != nil {
			keys = append(keys, structKeys(types, types[word.Name], at+key+brackets+".")...)
			continue
		}
		keys = append(keys, at+key)
	}
	return keys
}
