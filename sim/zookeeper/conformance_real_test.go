package zookeeper_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"testing"
	"time"
)

// realServer is a standalone ZooKeeper process with a data folder and a loopback port of its own.
type realServer struct {
	t       *testing.T
	address string
	folder  string
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
	s := &realServer{t: t, address: free.Addr().String(), folder: t.TempDir()}
	_ = free.Close()
	_, port, _ := net.SplitHostPort(s.address)
	config := fmt.Sprintf("tickTime=%d\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\n"+
		"admin.enableServer=false\n4lw.commands.whitelist=ruok,srvr,stat,isro\n", realTick, s.folder, port)
	if err := os.WriteFile(filepath.Join(s.folder, "zoo.cfg"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(sweep)
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *realServer) start(sweep time.Duration) {
	process := osexec.Command("java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dzookeeper.extendedTypesEnabled=true", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.forceSync=no",
		"-Dzookeeper.jmx.log4j.disable=true", "-Dzookeeper.preAllocSize=1024",
		fmt.Sprintf("-Dznode.container.checkIntervalMs=%d", sweep.Milliseconds()),
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

func (s *realServer) setCounter(string, int32) error {
	return errors.New("a real server's counter cannot be preset")
}

// restart kills the process, as a crash would, and starts it again on the same data.
func (s *realServer) restart() {
	s.stop()
	s.start(24 * time.Hour)
}

// unavailable skips a test, or fails it where everything must be there.
func unavailable(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
