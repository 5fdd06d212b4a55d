package zookeeper_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// realServer is a standalone ZooKeeper process with a data folder and a loopback port of its own.
type realServer struct {
	t       *testing.T
	address string
	folder  string
	sweep   time.Duration
	stop    func()
}

// archive is where Debian's package puts ZooKeeper; its manifest names everything else that is needed.
const archive = "/usr/share/java/zookeeper.jar"

// realTick is the tick of both servers in milliseconds: a session's time-out lies between 2 and 20 of them.
const realTick = 500

// startReal starts the ZooKeeper that this package is compared with. Nodes that expire by themselves are left alone for
// sweep, so that a script decides whether that happens while it runs.
func startReal(t *testing.T, sweep time.Duration) *realServer {
	t.Helper()
	if _, err := osexec.LookPath("java"); err != nil {
		unavailable(t, "java is not installed")
	}
	if _, err := os.Stat(archive); err != nil {
		unavailable(t, "ZooKeeper is not installed: "+archive+" is missing")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &realServer{t: t, address: free.Addr().String(), folder: t.TempDir(), sweep: sweep}
	_ = free.Close()
	_, port, _ := net.SplitHostPort(s.address)
	config := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr,stat,isro\n", realTick, s.folder, port)
	if err := os.WriteFile(filepath.Join(s.folder, "zoo.cfg"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *realServer) start() {
	process := osexec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.extendedTypesEnabled=true", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no",
		"-Dzookeeper.digest.enabled=false",
		"-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=1024",
		fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", s.sweep.Milliseconds()),
		"-cp", archive, "org.apache.zookeeper.server.ZooKeeperServerMain", filepath.Join(s.folder, "zoo.cfg"))
	process.Dir = s.folder
	if err := process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.stop = func() {
		_ = process.Process.Kill()
		_ = process.Wait()
	}
	for limit := time.Now().Add(patience); time.Now().Before(limit); {
		if conn, err := s.dial(); err == nil {
			_ = conn.SetDeadline(time.Now().Add(200 * time.Millisecond)) // one that comes too early may stay without an answer
			_, _ = conn.Write([]byte("isro"))
			answer, _ := io.ReadAll(conn)
			_ = conn.Close()
			if string(answer) == "rw" {
				return
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	s.t.Fatal("ZooKeeper is not ready in time")
}

func (s *realServer) dial() (net.Conn, error) { return net.Dial("tcp", s.address) }

// setCounter changes the counter behind a node's sequential children in the server's data, while the server is down. A
// server that starts writes a snapshot of everything; the changed one is what it reads when it starts again.
func (s *realServer) setCounter(path string, n int32) error {
	s.restart()
	s.stop()
	snapshots, err := filepath.Glob(filepath.Join(s.folder, "version-2", "snapshot.*"))
	if err != nil || len(snapshots) == 0 {
		return fmt.Errorf("no snapshot in %s", s.folder)
	}
	newest := slices.MaxFunc(snapshots, func(a, b string) int { return cmp.Compare(snapshotZxid(a), snapshotZxid(b)) })
	data, err := os.ReadFile(newest)
	if err != nil {
		return err
	}
	changed := presetCounter(data, path, n)
	if err := os.WriteFile(newest, data, 0o600); err != nil {
		return err
	}
	s.start()
	if !changed {
		return fmt.Errorf("%s: no such node", path)
	}
	return nil
}

// snapshotZxid is the last transaction in a snapshot, which is in its name.
func snapshotZxid(name string) uint64 {
	zxid, _ := strconv.ParseUint(strings.TrimPrefix(filepath.Ext(name), "."), 16, 64)
	return zxid
}

// presetCounter changes a snapshot. A node stands in it as its path, its data, the number of its access list, four
// times of eight bytes, its version and then its counter. The file ends with a checksum and the path of the root.
func presetCounter(snapshot []byte, path string, n int32) bool {
	const end = 8 + 4 + 1
	key := append(binary.BigEndian.AppendUint32(nil, uint32(len(path))), path...)
	at := bytes.Index(snapshot, key)
	if at < 0 {
		return false
	}
	at += len(key)
	at += 4 + max(int(int32(binary.BigEndian.Uint32(snapshot[at:]))), 0)
	at += 8 + 4*8 + 4
	binary.BigEndian.PutUint32(snapshot[at:], uint32(n))
	body := len(snapshot) - end
	binary.BigEndian.PutUint64(snapshot[body:], uint64(adler32.Checksum(snapshot[:body])))
	return true
}

// restart kills the process, as a crash would, and starts it again on the same data.
func (s *realServer) restart() {
	s.stop()
	s.start()
}

// unavailable skips a test, or fails it where everything must be there.
func unavailable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
