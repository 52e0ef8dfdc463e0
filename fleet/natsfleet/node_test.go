package natsfleet_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// nodeRole is a server in another process.
type nodeRole struct {
	Name         string
	Port, Route  int
	Routes       []string // where it reaches the others
	Unreachable  int      // a port without a listener
	Dir          string
	PingInterval time.Duration
}

// serveNode is the program of a server in another process. The end of stdin ends it.
func serveNode(r nodeRole) int {
	s, err := server.NewServer(&server.Options{
		ServerName: r.Name, Host: "127.0.0.1", Port: r.Port, PingInterval: r.PingInterval,
		JetStream: true, StoreDir: r.Dir, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 8 << 30,
		// Neither clients nor the other nodes learn about addresses that are not a gate's.
		Cluster: server.ClusterOpts{Name: "lab", Host: "127.0.0.1", Port: r.Route, NoAdvertise: true, Advertise: fmt.Sprintf("127.0.0.1:%d", r.Unreachable)},
		Routes:  server.RoutesFromStr(strings.Join(r.Routes, ",")),
		NoSigs:  true, NoLog: true,
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		fmt.Println("it takes no connections")
		return 1
	}
	fmt.Println("started")
	_, _ = io.Copy(io.Discard, bufio.NewReader(os.Stdin)) // how it ends does not matter
	s.Shutdown()
	s.WaitForShutdown()
	return 0
}
