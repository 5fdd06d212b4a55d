package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/jonboulle/clockwork"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockstep-sim/lockstep/impl/timeserver"
	"github.com/lockstep-sim/lockstep/scenarios"
)

// TestMain lets this test binary be the command as well, for the scripts and for the workers that the command starts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"lockstep": func() { os.Exit(command()) }})
}

// TestScripts runs the scripts of testdata/script. Beside the commands of testscript they have
//
//	exits CODE COMMAND [ARG...]    run a command that must exit with this code
//	lines N FILE                   a file, or stdout or stderr, must have so many lines
//	truncated FILE N TO            copy N lines of a file and half of the next one
//	hostile VARIABLE               write a scenario full of hostile texts; the variable gets its hostile name
//	tame FOLDER                    no text in a folder may act on a terminal or in the log of a build
//	fingerprint FILE               print the fingerprints of a SARIF file, each once
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":       exits,
			"lines":       lines,
			"truncated":   truncated,
			"hostile":     hostile,
			"tame":        tame,
			"fingerprint": fingerprints,
		},
		Setup: func(env *testscript.Env) error {
			// Two workers, however many processors the machine has: what is printed must not depend on it anyway.
			env.Setenv("GOMAXPROCS", "2")
			return nil
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

func lines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N FILE")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := strings.Count(ts.ReadFile(args[1]), "\n"); got != want {
		ts.Fatalf("%s has %d lines, want %d", args[1], got, want)
	}
}

func truncated(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: truncated FILE N TO")
	}
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	all := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	kept := strings.Join(all[:number], "") + all[number][:len(all[number])/2]
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(kept), 0o666))
}

// hostile writes a scenario with a lock that breaks and with texts that must stay texts.
func hostile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hostile VARIABLE")
	}
	name := filepath.Join("<script>alert(1)<", "script>\x1b[31m\"'\n::error::x%0A.yaml")
	text := `name: hostile
about: "<script>alert(1)</script>\x1b[31m"
lock: {name: "<script>alert(1)</script>\x1b[31m\n::error::x ::error::y\n../../x\"'", lease: 200ms}
clients: 3
program:
  c1: [lock, work 1s, unlock]
  others: [wait 160ms..204ms, lock for 2s, write, work 5ms..20ms, write, unlock]
faults: |
  crash c1 on c1 after SETNX
heal: 100ms
until: 1s
grace: 1s
`
	path := ts.MkAbs(name)
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, []byte(text), 0o644))
	ts.Setenv(args[0], name)
}

// tame looks through all texts in a folder for control characters, and for lines that the log of a build would take for
// a command.
func tame(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tame FOLDER")
	}
	acts := func(r rune) bool { return r != '\n' && r != '\t' && unicode.IsControl(r) }
	texts := 0
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) == ".png" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		texts++
		if at := strings.IndexFunc(string(text), acts); at >= 0 {
			return fmt.Errorf("%s has a control character: %q", path, text[max(at-40, 0):min(at+40, len(text))])
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(strings.TrimSpace(line), "::") {
				return fmt.Errorf("%s has a command for the log of a build: %q", path, line)
			}
		}
		return nil
	}))
	if texts == 0 {
		ts.Fatalf("there is no text in %s", args[0])
	}
}

// fingerprints prints what an alert is recognised by from run to run.
func fingerprints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fingerprint FILE")
	}
	found := regexp.MustCompile(`"lockstep/v1": "[0-9a-f]{32}"`).FindAllString(ts.ReadFile(args[0]), -1)
	if len(found) == 0 {
		ts.Fatalf("%s has no fingerprint", args[0])
	}
	slices.Sort(found)
	_, err := ts.Stdout().Write([]byte(strings.Join(slices.Compact(found), "\n") + "\n"))
	ts.Check(err)
}

// start starts the command as a process of its own.
func start(t *testing.T, args ...string) (process *exec.Cmd, stdout, stderr *bufio.Reader) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process = exec.Command(program)
	process.Args = append([]string{"lockstep"}, args...)
	process.Dir = t.TempDir()
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors, err := process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { process.Process.Kill() })
	return process, bufio.NewReader(out), bufio.NewReader(errors)
}

// TestInterrupt checks that an interrupt ends a run with what was done.
func TestInterrupt(t *testing.T) {
	process, stdout, stderr := start(t, "run", "dead-record", "reentrant-test", "--impl", "redis/getset-repaired",
		"--seeds", "1-300", "--jobs", "2")
	line, err := stderr.ReadString('\n')
	if want := "dead-record redis/getset-repaired: as expected after 300 seeds in "; err != nil ||
		!strings.HasPrefix(line, want) {
		t.Fatalf("the first row ends with %q, %v, want %q", line, err, want)
	}
	if err := process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stderr)
	text, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	process.Wait()
	if code := process.ProcessState.ExitCode(); code != exitUnknown {
		t.Errorf("the exit code is %d, want %d", code, exitUnknown)
	}
	if out := string(text); !strings.Contains(out, "interrupted after") || !strings.HasSuffix(out, " failed\n") {
		t.Errorf("it prints\n%s", out)
	}
}

// TestTimeServer checks that the time server tells the time and ends with an interrupt.
func TestTimeServer(t *testing.T) {
	process, stdout, stderr := start(t, "timeserver", "--listen", "127.0.0.1:0")
	line, err := stdout.ReadString('\n')
	if err != nil {
		rest, _ := io.ReadAll(stderr)
		t.Fatalf("it says %q, %v: %s", line, err, rest)
	}
	address, found := strings.CutPrefix(strings.TrimSpace(line), "time server on ")
	if !found {
		t.Fatalf("it says %q", line)
	}
	askTime(t, address)
	if err := process.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		t.Errorf("after an interrupt it ends with %v", err)
	}
}

// askTime asks a time server once.
func askTime(t *testing.T, address string) {
	t.Helper()
	client := timeserver.NewClient(timeserver.ClientOptions{
		Address: address, Dial: new(net.Dialer).DialContext, Clock: clockwork.NewRealClock(),
	})
	defer client.Close()
	if millis, err := client.Millis(t.Context()); err != nil || millis <= 0 {
		t.Errorf("it says that it is %d, %v", millis, err)
	}
}

// TestInterruptReading checks that an interrupt ends commands that wait for the standard input, with nothing written.
func TestInterruptReading(t *testing.T) {
	for _, args := range [][]string{{"check", "-"}, {"convert", "-", "--out", "out"}, {"export", "-", "--to", "csv"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, held := io.Pipe()
		var stdout, stderr strings.Builder
		code := make(chan int)
		go func() { code <- execute(ctx, args, streams{in, &stdout, &stderr}) }()
		if _, err := held.Write([]byte("{:type :invoke,")); err != nil { // it reads: the write comes back
			t.Fatal(err)
		}
		cancel()
		if got := <-code; got != exitUnknown || stdout.Len() > 0 || !strings.HasSuffix(stderr.String(), ": interrupted\n") {
			t.Errorf("%q exits %d and prints %q and %q", args, got, stdout.String(), stderr.String())
		}
		held.Close()
	}
}

// TestWorse checks what the exit codes of several files come to.
func TestWorse(t *testing.T) {
	order := []int{exitExpected, exitUnknown, exitUsage, exitViolation, exitInternal}
	for i, a := range order {
		for k, b := range order {
			if got, want := worse(a, b), order[max(i, k)]; got != want {
				t.Errorf("%d and %d come to %d, want %d", a, b, got, want)
			}
		}
	}
}

// TestPanic checks that a panic is one line and an exit code.
func TestPanic(t *testing.T) {
	var stderr strings.Builder
	code := execute(t.Context(), []string{"version"}, streams{strings.NewReader(""), panicking{}, &stderr})
	if code != exitInternal {
		t.Errorf("the exit code is %d, want %d", code, exitInternal)
	}
	message := stderr.String()
	if strings.Count(message, "\n") != 1 || !strings.Contains(message, "the disk is on fire at ") ||
		!strings.Contains(message, "panicking.Write") {
		t.Errorf("it prints %q", message)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("the disk\nis on fire") }

func TestExitCode(t *testing.T) {
	for conclusion, want := range map[scenarios.Conclusion]int{
		scenarios.AsExpected: 0, scenarios.Violation: 1, scenarios.Inconclusive: 2, scenarios.Unexpected: 3,
		scenarios.NothingRan: 4, scenarios.NotDeterministic: 5, scenarios.Broken: 70,
	} {
		if got := exitCode(conclusion); got != want {
			t.Errorf("%q has exit code %d, want %d", conclusion, got, want)
		}
	}
}

func TestShellWords(t *testing.T) {
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"lockstep", "run", "dead-record"}, "lockstep run dead-record"},
		{[]string{"--impl", "redis/setnx-px!token-reused+no-loss"}, "--impl 'redis/setnx-px!token-reused+no-loss'"},
		{[]string{"my file.yaml", ""}, "'my file.yaml' ''"},
		{[]string{"it's"}, `'it'\''s'`},
		{[]string{"a\x1b[31m\n'b\\\u202e\xff", "ü"}, `$'a\x1b[31m\x0a\'b\\\xe2\x80\xae\xff' 'ü'`},
	} {
		if got := shellWords(test.words...); got != test.want {
			t.Errorf("shellWords(%q) = %s, want %s", test.words, got, test.want)
		}
	}
}

func TestCheckLoopback(t *testing.T) {
	for address, fine := range map[string]bool{
		"127.0.0.1:9999": true, "127.0.0.1:0": true, "127.8.8.8:1": true, "[::1]:9999": true,
		"0.0.0.0:9999": false, ":9999": false, "[::]:9999": false, "192.168.1.2:9999": false, "localhost:9999": false,
		"127.0.0.1": false, "127.0.0.1:x": false, "127.0.0.1:70000": false, "": false,
	} {
		if err := checkLoopback(address); (err == nil) != fine {
			t.Errorf("checkLoopback(%q) = %v", address, err)
		}
	}
}

// TestCheckFolder checks that nothing is left behind, and that no file is taken for a folder.
func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	if err := checkFolder(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it leaves %v behind (%v)", entries, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{file, filepath.Join(file, "a"), filepath.Join(file, "a", "b")} {
		if err := checkFolder(bad); err == nil {
			t.Errorf("%s is taken for a folder that can be written", bad)
		}
	}
}
