package natstest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options selects what to start. The zero value is a single server.
type Options struct {
	// Nodes is how many servers there are: 1 or 3. Zero is 1.
	Nodes int
	// Configure changes the options of each server before it starts, such as
	// its users or its limits. Leave its addresses and its directory alone.
	Configure func(*server.Options)
}

// Bound is how long a cluster may take to become ready. An election takes up to
// nine seconds, and cannot be made faster.
const Bound = 60 * time.Second

// Cluster is one server, or several that replicate. Its methods may be called from
// any goroutine.
type Cluster struct {
	t       testing.TB
	options []*server.Options

	mu    sync.Mutex
	nodes []*server.Server // nil: stopped
}

// Start starts servers, and stops them when the test ends. It returns when they
// are ready, and fails the test if they are not within [Bound].
func Start(t testing.TB, o Options) *Cluster {
	t.Helper()
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Nodes != 1 && o.Nodes != 3 {
		t.Fatalf("natstest: %d nodes; want 1 or 3", o.Nodes)
	}
	// Another process may take a port between its choice and its use.
	var err error
	for range 3 {
		c := &Cluster{t: t, nodes: make([]*server.Server, o.Nodes)}
		if err = c.plan(o, t.TempDir()); err != nil {
			t.Fatalf("natstest: %v", err)
		}
		t.Cleanup(c.stopAll)
		if err = c.startAll(); err == nil {
			return c
		}
		c.stopAll()
	}
	t.Fatalf("natstest: %v", err)
	return nil
}

// plan chooses addresses and directories.
func (c *Cluster) plan(o Options, dir string) error {
	ports, err := freePorts(2 * o.Nodes)
	if err != nil {
		return err
	}
	var routes []string
	for i := range o.Nodes {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[2*i+1]))
	}
	for i := range o.Nodes {
		n := &server.Options{
			ServerName: fmt.Sprintf("node-%d", i), Host: "127.0.0.1", Port: ports[2*i],
			JetStream: true, StoreDir: filepath.Join(dir, fmt.Sprint("node-", i)),
			JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 8 << 30,
			NoSigs: true, NoLog: true,
		}
		if o.Nodes > 1 {
			n.Cluster = server.ClusterOpts{Name: "natstest", Host: "127.0.0.1", Port: ports[2*i+1]}
			n.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		}
		if o.Configure != nil {
			o.Configure(n)
		}
		c.options = append(c.options, n)
	}
	return nil
}

// freePorts returns unused ports of the loopback interface. They are below the
// ephemeral range, so that no other program is given one while its server is
// stopped.
func freePorts(n int) ([]int, error) {
	const lowest, count = 10_000, 20_000
	var ports []int
	for attempt := 0; len(ports) < n; attempt++ {
		port := lowest + rand.IntN(count)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil && attempt > 100 {
			return nil, err
		}
		if err == nil {
			defer l.Close() // all are held until the last is found
			ports = append(ports, port)
		}
	}
	return ports, nil
}

func (c *Cluster) startAll() error {
	for i := range c.options {
		if err := c.start(i); err != nil {
			return err
		}
	}
	return c.ready()
}

// start starts a node, and returns when it takes connections.
func (c *Cluster) start(i int) error {
	opts := c.options[i].Clone()
	s, err := server.NewServer(opts)
	if err != nil {
		return err
	}
	s.Start()
	c.mu.Lock()
	c.nodes[i] = s
	c.mu.Unlock()
	if !s.ReadyForConnections(Bound / 3) {
		return fmt.Errorf("node %d takes no connections", i)
	}
	return nil
}

// ready waits until the cluster takes streams: a leader knows all nodes, and all
// nodes are connected.
func (c *Cluster) ready() error {
	deadline := time.Now().Add(Bound)
	for !c.isReady() {
		if time.Now().After(deadline) {
			return fmt.Errorf("the cluster is not ready after %v", Bound)
		}
		time.Sleep(5 * time.Millisecond) // there is nothing to wait for
	}
	return nil
}

// routesPerNode is how many connections a node has to each other: a pool of three,
// and one for the system account.
const routesPerNode = 4

func (c *Cluster) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.nodes) == 1 {
		return c.nodes[0].JetStreamEnabled()
	}
	running, led := 0, false
	for _, s := range c.nodes {
		if s != nil {
			running++
		}
	}
	for _, s := range c.nodes {
		if s == nil {
			continue
		}
		if s.NumRoutes() < routesPerNode*(running-1) {
			return false
		}
		if s.JetStreamIsLeader() && (running < len(c.nodes) || len(s.JetStreamClusterPeers()) == len(c.nodes)) {
			led = true
		}
	}
	return led
}

// URL is the address of all nodes, for nats.Connect.
func (c *Cluster) URL() string {
	var all []string
	for i := range c.options {
		all = append(all, c.NodeURL(i))
	}
	return strings.Join(all, ",")
}

// NodeURL is the address of one node.
func (c *Cluster) NodeURL(i int) string {
	return fmt.Sprintf("nats://127.0.0.1:%d", c.options[i].Port)
}

// Node is a server that runs, nil if it was stopped.
func (c *Cluster) Node(i int) *server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i]
}

// Leader is the number of the node that leads a stream of the global account, -1
// if none does.
func (c *Cluster) Leader(stream string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.nodes {
		if s != nil && s.JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream) {
			return i
		}
	}
	return -1
}

// Stop stops a node. Its data stays for [Cluster.Start].
func (c *Cluster) Stop(i int) {
	c.mu.Lock()
	s := c.nodes[i]
	c.nodes[i] = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// Start restarts a node that was stopped, with its data. It returns when the cluster
// is ready.
func (c *Cluster) Start(i int) {
	c.t.Helper()
	if c.Node(i) != nil {
		return
	}
	if err := c.start(i); err != nil {
		c.t.Fatalf("natstest: %v", err)
	}
	if err := c.ready(); err != nil {
		c.t.Fatalf("natstest: %v", err)
	}
}

// Restart stops all nodes, and starts them again with their data.
func (c *Cluster) Restart() {
	c.t.Helper()
	c.stopAll()
	if err := c.startAll(); err != nil {
		c.t.Fatalf("natstest: %v", err)
	}
}

func (c *Cluster) stopAll() {
	var wg sync.WaitGroup
	for i := range c.options {
		wg.Go(func() { c.Stop(i) })
	}
	wg.Wait()
}
