package zookeeper

import (
	"fmt"
	"strings"
)

// version is the ZooKeeper whose behaviour this server has, as the four-letter words tell it.
const version = "3.8.0-lockstep, built on 2022-02-25 08:49 UTC"

// fourLetters answers a connection that begins with a four-letter word in place of a frame, and closes it. The words
// stand for frames of a size that is never read.
func (c *Conn) fourLetters(word []byte) bool {
	s := c.server
	var text string
	switch string(word) {
	case "ruok":
		text = "imok"
	case "srvr":
		text = s.summary()
	case "stat":
		text = s.stat()
	case "conf":
		text = s.configuration()
	case "isro":
		text = "rw"
	case "cons", "crst", "dirs", "dump", "envi", "gtmk", "hash", "mntr", "srst", "stmk", "wchc", "wchp", "wchs":
		text = string(word) + " is not executed because it is not in the whitelist.\n"
	default:
		return false
	}
	c.port.Write([]byte(text))
	c.close()
	return true
}

func (s *Server) summary() string {
	return fmt.Sprintf("Zookeeper version: %s\n", version) + s.figures()
}

func (s *Server) stat() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Zookeeper version: %s\nClients:\n", version)
	for _, c := range s.connections() {
		address := c.client.proved[0].Name
		fmt.Fprintf(&b, " /%s:%d[%d](queued=0,recved=0,sent=0)\n", address, c.client.Conn, btoi(c.connected))
	}
	return b.String() + "\n" + s.figures()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// figures are the lines that end both srvr and stat. Latencies are not measured: every request takes no time.
func (s *Server) figures() string {
	return fmt.Sprintf("Latency min/avg/max: 0/0.0/0\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: 0\n"+
		"Zxid: 0x%x\nMode: standalone\nNode count: %d\n",
		s.received, s.sent, len(s.conns), s.state.zxid, len(s.state.tree.nodes))
}

func (s *Server) configuration() string {
	tick := s.state.tick
	return fmt.Sprintf("tickTime=%d\nmaxClientCnxns=0\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=0\n",
		tick, minTicks*tick, maxTicks*tick)
}
