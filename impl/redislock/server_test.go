package redislock

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if realRedis.process != nil {
		realRedis.process.Kill()
		realRedis.process.Wait()
		os.RemoveAll(realRedis.folder)
	}
	os.Exit(code)
}

// onEachServer runs a test on miniredis and on a real Redis, each empty and behind an unmodified go-redis client.
func onEachServer(t *testing.T, test func(t *testing.T, client *redis.Client)) {
	t.Run("miniredis", func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		t.Cleanup(server.Close)
		client := redis.NewClient(&redis.Options{
			Addr:            "127.0.0.1:1",
			Dialer:          func(context.Context, string, string) (net.Conn, error) { return server.Dial() },
			MaxRetries:      -1,
			DisableIdentity: true,
		})
		t.Cleanup(func() { client.Close() })
		test(t, client)
	})
	t.Run("redis", func(t *testing.T) {
		client := redis.NewClient(&redis.Options{Addr: realRedisAddress(t), MaxRetries: -1, DisableIdentity: true})
		t.Cleanup(func() { client.Close() })
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if err := client.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		test(t, client)
	})
}

// realRedis is the one redis-server of this test binary.
var realRedis struct {
	once    sync.Once
	address string
	folder  string
	process *os.Process
	err     error
}

func realRedisAddress(t *testing.T) string {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("redis-server is not installed, and CI must not skip this")
		}
		t.Skip("redis-server is not installed")
	}
	realRedis.once.Do(func() { realRedis.err = startRedis(binary) })
	if realRedis.err != nil {
		t.Fatal(realRedis.err)
	}
	return realRedis.address
}

// startRedis starts a server that keeps nothing, and returns when it takes connections.
func startRedis(binary string) error {
	probe, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(probe.Addr().String())
	probe.Close()
	if err != nil {
		return err
	}
	if realRedis.folder, err = os.MkdirTemp("", "redislock"); err != nil {
		return err
	}
	command := exec.Command(binary, "--bind", "127.0.0.1", "--port", port, "--save", "", "--appendonly", "no",
		"--dir", realRedis.folder)
	output, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	realRedis.process, realRedis.address = command.Process, "127.0.0.1:"+port
	lines := bufio.NewScanner(output)
	var said []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), "eady to accept connections") {
			go func() {
				for lines.Scan() { // lest the server block on a full pipe
				}
			}()
			return nil
		}
		said = append(said, lines.Text())
	}
	return fmt.Errorf("redis-server did not start: %s", strings.Join(said, "; "))
}
