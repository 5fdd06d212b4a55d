package main

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"unsafe"
)

var (
	kills     = flag.Int("kills", 20, "how often TestKilled kills the campaign")
	killSeeds = flag.Int("kill-seeds", 400, "how many seeds its campaign has")
)

// killScenario is quick, and has a lock that breaks.
const killScenario = `name: killed
lock: {name: job, lease: 200ms}
clients: 3
program:
  c1: [lock, work 1s, unlock]
  others: [wait 160ms..204ms, lock for 2s, write, work 5ms..20ms, write, unlock]
faults: |
  crash c1 on c1 after SETNX or on c1 after EVAL
heal: 100ms
until: 1s
grace: 1s
implementations:
  redis/getset: {}
  redis/getset-repaired: {}
`

// killedFormats are what a run writes beside its text, and what is compared.
var killedFormats = []string{"result.json", "junit.xml", "lockstep.sarif", "summary.md"}

// TestKilled kills a campaign at random moments, each time after so many of its results have reached the disk, and lets
// it go on. In the end it tells the same as one that nobody has disturbed, byte for byte, in every format.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests leave the long campaign out")
	}
	calm, disturbed := killedFolder(t), killedFolder(t)
	seeds := "1-" + strconv.Itoa(*killSeeds)
	want := tellKilled(t, calm, "killed.yaml", "--seeds", seeds)
	journal := filepath.Join(disturbed, outputFolder, campaignsFolder, "whole")
	if err := os.MkdirAll(journal, 0o755); err != nil {
		t.Fatal(err)
	}
	writes := watch(t, journal)
	random := rand.New(rand.NewPCG(1, 2))
	killed := 0
	for range *kills {
		// All results are two rows of seeds; several writes may be told of as one.
		if killAfter(t, disturbed, random.IntN(*killSeeds / *kills + 1), writes, "--seeds", seeds) {
			killed++
		}
	}
	if killed < *kills*3/4 {
		t.Errorf("the campaign was killed %d times only, it was over before: give it more seeds", killed)
	}
	results, err := os.ReadFile(filepath.Join(journal, "results.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("after %d kills %d results were there", killed, bytes.Count(results, []byte("\n")))
	got := tellKilled(t, disturbed, "--resume")
	for name, text := range want {
		if !bytes.Equal(text, got[name]) {
			t.Errorf("%s differs after %d kills:\n%s\nwithout:\n%s", name, killed, got[name], text)
		}
	}
	if left, err := filepath.Glob(filepath.Join(disturbed, outputFolder, "*", "*", ".*")); err != nil || len(left) > 0 {
		t.Errorf("unfinished folders are left: %v, %v", left, err)
	}
}

func killedFolder(t *testing.T) string {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "killed.yaml"), []byte(killScenario), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func killedCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	process := exec.Command(program)
	process.Args = append([]string{"lockstep", "run"}, args...)
	process.Dir, process.Stderr = dir, io.Discard
	return process
}

// tellKilled runs the campaign to its end and returns what it tells, by format.
func tellKilled(t *testing.T, dir string, args ...string) map[string][]byte {
	args = append(args, "--format", "text,json=result.json,junit=junit.xml,sarif=lockstep.sarif,github=summary.md")
	process := killedCommand(t, dir, args...)
	text, err := process.Output()
	if code := process.ProcessState.ExitCode(); code != exitDiffers {
		t.Fatalf("it ends with %d, %v:\n%s", code, err, text)
	}
	told := map[string][]byte{"the text": text}
	for _, name := range killedFormats {
		if told[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return told
}

// killAfter lets the campaign go on and kills it after so many writes. It is false when the campaign was over before.
func killAfter(t *testing.T, dir string, number int, writes <-chan struct{}, args ...string) bool {
	process := killedCommand(t, dir, append([]string{"killed.yaml", "--resume"}, args...)...)
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		_ = process.Wait() // how it ended is told by its state
		close(over)
	}()
	for range number {
		select {
		case <-writes:
		case <-over:
			return false
		}
	}
	if err := process.Process.Kill(); err != nil {
		<-over
		return false
	}
	<-over
	return !process.ProcessState.Exited()
}

// watch tells of each write to the results in a folder.
func watch(t *testing.T, dir string) <-chan struct{} {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { events.Close() })
	if _, err := syscall.InotifyAddWatch(fd, dir, syscall.IN_MODIFY); err != nil {
		t.Fatal(err)
	}
	writes := make(chan struct{})
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := events.Read(buffer)
			if err != nil {
				return
			}
			for rest := buffer[:n]; len(rest) >= syscall.SizeofInotifyEvent; {
				event := (*syscall.InotifyEvent)(unsafe.Pointer(&rest[0]))
				name := rest[syscall.SizeofInotifyEvent:][:event.Len]
				rest = rest[syscall.SizeofInotifyEvent+event.Len:]
				if !bytes.HasPrefix(name, []byte("results.jsonl\x00")) {
					continue
				}
				select {
				case writes <- struct{}{}:
				case <-ended:
					return
				}
			}
		}
	}()
	return writes
}
