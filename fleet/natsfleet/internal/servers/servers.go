// Package servers starts NATS servers in processes of their own, for programs that are
// not tests; tests use package natstest. A server runs the program that starts it, so
// its main function begins with
//
//	if servers.Play() {
//		return
//	}
package servers

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/claude-agent-go/claude/internal/proc"
)

// nodeVariable holds the nodeRole of a process that is a server.
const nodeVariable = "NATS_NODE"

// nodeRole configures a server in another process.
type nodeRole struct {
	Name, Dir string
	Clustered bool
	Seed      string // where it reaches the first one; empty: it is that
}

// nodeAddress is its report that it accepts connections.
type nodeAddress struct{ Clients, Route string }

// Play is the program of a server, if this process was started to be one, and reports
// whether it was. The end of stdin ends it, so it does not outlive the process that
// started it. If it fails, it ends the process.
func Play() bool {
	if os.Getenv(nodeVariable) == "" {
		return false
	}
	signal.Ignore(os.Interrupt) // a terminal sends it to all; the fleets still need the servers to end
	var r nodeRole
	err := json.Unmarshal([]byte(os.Getenv(nodeVariable)), &r)
	if err == nil {
		err = r.serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

// readyBound is how long a server may take to accept connections.
const readyBound = 30 * time.Second

func (r nodeRole) serve() error {
	o := &server.Options{
		ServerName: r.Name, Host: "127.0.0.1", Port: server.RANDOM_PORT,
		JetStream: true, StoreDir: r.Dir, JetStreamMaxMemory: 256 << 20, JetStreamMaxStore: 8 << 30, NoSigs: true, NoLog: true,
	}
	if r.Clustered {
		o.Cluster = server.ClusterOpts{Name: "servers", Host: "127.0.0.1", Port: server.RANDOM_PORT}
		o.Routes = server.RoutesFromStr(r.Seed)
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(readyBound) {
		return errors.New("it takes no connections")
	}
	address := nodeAddress{Clients: s.ClientURL()}
	if r.Clustered {
		address.Route = "nats://" + s.ClusterAddr().String()
	}
	if err := json.NewEncoder(os.Stdout).Encode(address); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // however it ends
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}

// Cluster is one server, or several that replicate, each in a process of its own. Its
// methods may be called from any goroutine until Stop.
type Cluster struct{ nodes []*node }

type node struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	address nodeAddress
}

// Start starts servers, with their data below a directory. Streams can be made once the
// servers have elected a leader, which clients wait for.
func Start(ctx context.Context, dir string, nodes int) (_ *Cluster, err error) {
	c := new(Cluster)
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	for i := range nodes {
		r := nodeRole{Name: fmt.Sprint("node-", i), Clustered: nodes > 1}
		r.Dir = filepath.Join(dir, r.Name)
		if i > 0 {
			r.Seed = c.nodes[0].address.Route
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := startNode(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		c.nodes = append(c.nodes, n)
	}
	return c, nil
}

// startNode starts a server. It runs until it is stopped, whatever happens meanwhile:
// when the user interrupts a measurement, the fleets end before their servers.
func startNode(r nodeRole) (*node, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	role, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program)
	cmd.Env, cmd.Stderr = append(os.Environ(), nodeVariable+"="+string(role)), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	n := &node{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &n.address)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server did not start: %w", err), n.stop())
	}
	return n, nil
}

func (n *node) stop() error {
	return errors.Join(n.stdin.Close(), n.cmd.Wait())
}

// Stop ends the servers.
func (c *Cluster) Stop() error {
	var errs []error
	for _, n := range c.nodes {
		errs = append(errs, n.stop())
	}
	return errors.Join(errs...)
}

// URL is where clients reach the servers.
func (c *Cluster) URL() string {
	var all []string
	for _, n := range c.nodes {
		all = append(all, n.address.Clients)
	}
	return strings.Join(all, ",")
}

// Nodes is how many servers there are.
func (c *Cluster) Nodes() int { return len(c.nodes) }

// Signal sends a signal to one of the servers.
func (c *Cluster) Signal(node int, s os.Signal) error { return c.nodes[node].cmd.Process.Signal(s) }

// Memory returns the memory of the largest server, where the system reports it.
func (c *Cluster) Memory() (most int64, err error) {
	for _, n := range c.nodes {
		u, err := proc.Measure(n.cmd.Process.Pid)
		if err != nil && !errors.Is(err, proc.ErrNoUsage) {
			return 0, err
		}
		most = max(most, u.Memory)
	}
	return most, nil
}
