package zookeeper_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/lockstep-sim/lockstep/sim/zookeeper"
)

// TestZkCli has the command line client of the ZooKeeper distribution create, list, watch, read, change and delete
// nodes on an embedded server.
func TestZkCli(t *testing.T) {
	const script = "/usr/share/zookeeper/bin/zkCli.sh"
	if _, err := os.Stat(script); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: install the package zookeeper", err)
		}
		t.Skipf("%v: Debian's package zookeeper has it", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	server := zookeeper.NewEmbedded(zookeeper.EmbeddedOptions{Clock: clockwork.NewRealClock()})
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()
	limit, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	client := exec.CommandContext(limit, "bash", script, "-server", listener.Addr().String())
	client.Stdin = strings.NewReader(strings.Join([]string{
		"create /lock first", "create -s -e /lock/n- x", "ls /lock", "get -w /lock", "set /lock second", "get /lock",
		"delete /lock/n-0000000000", "delete /lock", "ls /", "quit", "",
	}, "\n"))
	output, err := client.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, want := range []string{
		"Created /lock", "Created /lock/n-0000000000", "[n-0000000000]", "first", "NodeDataChanged path:/lock", "second",
		"[zookeeper]",
	} {
		if !strings.Contains(string(output), want) {
			t.Errorf("the client did not print %q:\n%s", want, output)
		}
	}
}
