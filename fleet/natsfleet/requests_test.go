package natsfleet_test

import (
	"bytes"
	"context"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// requestLog counts what a process asks its server: the messages that want an answer.
// It implements [nats.CustomDialer].
type requestLog struct {
	mu    sync.Mutex
	kinds map[string]int
}

// Dial makes a connection to a server.
func (l *requestLog) Dial(network, address string) (net.Conn, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	return &loggedConn{Conn: c, log: l}, nil
}

// take returns what was counted since it was last called.
func (l *requestLog) take() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	kinds := l.kinds
	l.kinds = nil
	return kinds
}

// variable are the parts of a subject that differ between requests of a kind.
var variable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{16}-`)

func (l *requestLog) add(subject string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = make(map[string]int)
	}
	l.kinds[variable.ReplaceAllString(subject, "ID")]++
}

// loggedConn parses the traffic as the server does.
type loggedConn struct {
	net.Conn
	log  *requestLog
	rest []byte // the beginning of a line
	skip int    // bytes of a message that are to come
}

// Write counts requests, and sends them.
func (c *loggedConn) Write(b []byte) (int, error) {
	for data := append(c.rest, b...); ; {
		n := min(c.skip, len(data))
		data, c.skip = data[n:], c.skip-n
		line, after, whole := bytes.Cut(data, []byte("\r\n"))
		if !whole {
			c.rest = bytes.Clone(data)
			break
		}
		data = after
		if fields := strings.Fields(string(line)); len(fields) > 2 && (fields[0] == "PUB" || fields[0] == "HPUB") {
			size, _ := strconv.Atoi(fields[len(fields)-1]) // the client writes a number
			c.skip = size + len("\r\n")
			if extra := map[string]int{"PUB": 4, "HPUB": 5}[fields[0]]; len(fields) == extra {
				c.log.add(fields[1])
			}
		}
	}
	return c.Conn.Write(b)
}

// maxRequests is how many requests a turn may take: of a conversation that is awake,
// from Run to the result and back to rest, if its entries are stored in usualBatches:
// those before the result, and those behind it. Each takes one request, and a busy
// machine makes more of them.
const (
	maxRequests  = 5
	usualBatches = 2
)

// On three replicas, the cost of a turn is its number of requests. It does not grow
// by accident.
func TestRequestsOfATurn(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var log requestLog
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("yes") }})
	w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet(), NATS: []nats.Option{nats.SetCustomDialer(&log)}},
		Fleet: fleet.Options{TTL: time.Hour, Poll: time.Hour, IdleAfter: time.Hour, Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, w)
	turn := func() {
		if _, err := answer(t.Context(), w, "ada", "hello"); err != nil {
			t.Fatal(err)
		}
	}
	turn() // starts the CLI
	log.take()
	const turns = 20
	for range turns {
		turn()
	}
	total, kinds := 0, log.take()
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Logf("%6.2f %s", float64(kinds[kind])/turns, kind)
		total += kinds[kind]
	}
	batches := 0
	for kind, n := range kinds {
		if strings.HasPrefix(kind, "claude.t.") {
			batches += n
		}
	}
	total -= max(batches-usualBatches*turns, 0)
	if got := float64(total) / turns; got > maxRequests {
		t.Errorf("a turn takes %.1f requests; want at most %d", got, maxRequests)
	} else {
		t.Logf("a turn takes %.1f requests", got)
	}
}
