//go:build unix

package natsfleet_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// lab is a cluster of three servers in processes of their own, with a gate before
// every way to them, so that anything can happen to it.
type lab struct {
	t       *testing.T
	whole   *lab // if it is that of a part of the test
	roles   []nodeRole
	nodes   []*process
	routes  [3][3]*gate // from, to
	clients way         // of the test itself
}

// way is a client's path to the servers: a gate for each.
type way []*gate

func (w way) url() string {
	var all []string
	for _, g := range w {
		all = append(all, g.url())
	}
	return strings.Join(all, ",")
}

func (w way) each(do func(*gate)) {
	for _, g := range w {
		do(g)
	}
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, nodes: make([]*process, 3)}
	ports := freePorts(t, 7)
	for i := range 3 {
		l.roles = append(l.roles, nodeRole{
			Name: fmt.Sprint("node-", i), Port: ports[2*i], Route: ports[2*i+1], Unreachable: ports[6], Dir: t.TempDir(), PingInterval: 2 * time.Second,
		})
	}
	for i := range 3 {
		for j := range 3 {
			if i != j {
				l.routes[i][j] = newGate(t, fmt.Sprintf("127.0.0.1:%d", l.roles[j].Route))
				l.roles[i].Routes = append(l.roles[i].Routes, l.routes[i][j].url())
			}
		}
	}
	for i := range 3 {
		l.startNode(i)
	}
	l.clients = l.newWay()
	return l
}

// within is the same lab for a part of the test. Nodes that the part starts live on.
func (l *lab) within(t *testing.T) *lab {
	part := *l
	part.t, part.whole = t, l
	part.clients = part.newWay()
	return &part
}

// freePorts returns ports without a listener, outside the ephemeral range: a node
// that is killed needs its own port again.
func freePorts(t *testing.T, n int) []int {
	t.Helper()
	var ports []int
	for attempt := 0; len(ports) < n; attempt++ {
		port := 10_000 + rand.IntN(20_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil && attempt > 100 {
			t.Fatal(err)
		}
		if err == nil {
			defer l.Close() // when all are found
			ports = append(ports, port)
		}
	}
	return ports
}

func (l *lab) startNode(i int) {
	l.t.Helper()
	t := l.t
	if l.whole != nil {
		t = l.whole.t
	}
	l.nodes[i] = startProcess(t, roles{Node: &l.roles[i]}) // the slice is shared
	l.nodes[i].says("started")
}

// newWay makes gates to the servers.
func (l *lab) newWay() way {
	var w way
	for _, r := range l.roles {
		w = append(w, newGate(l.t, fmt.Sprintf("127.0.0.1:%d", r.Port)))
	}
	return w
}

// around are the routes of a node, in both directions.
func (l *lab) around(i int) way {
	var w way
	for j := range 3 {
		if i != j {
			w = append(w, l.routes[i][j], l.routes[j][i])
		}
	}
	return w
}

// current waits until all replicas of a stream have what the leader has, and
// returns the number of the leader.
func (l *lab) current(stream string) (leader int) {
	l.t.Helper()
	nc, err := nats.Connect(l.clients.url(), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond), nats.RetryOnFailedConnect(true))
	if err != nil {
		l.t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		l.t.Fatal(err)
	}
	var last any
	for limit := time.Now().Add(bound); time.Now().Before(limit); <-time.After(50 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Second)
		s, err := js.Stream(ctx, stream)
		cancel()
		if err != nil {
			last = err
			continue
		}
		in := s.CachedInfo()
		if last = in.Cluster; isCurrent(in) {
			fmt.Sscanf(in.Cluster.Leader, "node-%d", &leader)
			return leader
		}
	}
	l.t.Fatalf("the replicas of %s are not current: %+v", stream, last)
	return 0
}

func isCurrent(in *jetstream.StreamInfo) bool {
	if in.Cluster == nil || in.Cluster.Leader == "" || len(in.Cluster.Replicas) != 2 {
		return false
	}
	for _, r := range in.Cluster.Replicas {
		if !r.Current || r.Offline || r.Lag != 0 {
			return false
		}
	}
	return true
}
