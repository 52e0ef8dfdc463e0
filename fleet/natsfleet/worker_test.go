package natsfleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/host"
)

// leaseTime is how long the leases of the workers in these tests last.
const leaseTime = 10 * time.Second

// workerRole configures a worker in another process.
type workerRole struct {
	URL     string
	Name    string // of the fleet
	Journal string
	TTL     time.Duration
	MaxLive int

	// Answers lets the model of the scripted CLI answer by itself. Otherwise it
	// reports on stdout when it is asked, and waits for a line on stdin.
	Answers bool
	// CLI is the real CLI, with its working directory and environment.
	CLI, Dir string
	Env      []string

	Attempts int
	Poll     time.Duration

	IdleAfter time.Duration
	Patience  time.Duration // before a call is deferred; 0: the user is not asked
	DieAt     *diePoint
	Beside    beside
	CompactAt int // how many messages a transcript has before it is compacted
}

// options are those of the worker. It calls refused with the conversations that it wrote
// to without owning them.
func (r workerRole) options(cli *claudetest.CLI, refused func(key string)) natsfleet.WorkerOptions {
	o := natsfleet.WorkerOptions{
		Options: r.Beside.options(natsfleet.Options{URL: r.URL, Name: r.Name, Project: "p", Logger: quiet()}, r.DieAt),
		Fleet: fleet.Options{TTL: r.TTL, MaxLive: r.MaxLive, Attempts: r.Attempts, Poll: r.Poll, IdleAfter: r.IdleAfter, Journal: r.Journal, Session: func(context.Context, string) (*claude.Options, error) {
			if r.CLI != "" {
				return &claude.Options{CLIPath: r.CLI, Cwd: r.Dir, Env: r.Env, Logger: quiet()}, nil
			}
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}},
	}
	if r.CompactAt > 0 {
		o.CompactAt(r.CompactAt)
		o.ArchiveTTL(r.TTL)
	}
	o.Fleet.Trace = &fleet.PromptTrace{Fenced: refused}
	if r.Patience > 0 {
		o.Fleet.Gate = &approval.Options{Patience: r.Patience}
	}
	if r.DieAt != nil && r.DieAt.Call == "" {
		o.NATS = append(o.NATS, nats.SetCustomDialer(r.DieAt.dialer()))
	}
	return o
}

// work is the program of a worker in another process. The end of stdin ends it.
func work(r workerRole) int {
	ctx := context.Background()
	lines := make(chan struct{})
	o := r.options(r.scripted(lines, func() { fmt.Println("the tool runs") }), func(key string) { fmt.Println("refused", key) })
	w, err := natsfleet.StartWorker(ctx, o)
	for begin := time.Now(); err != nil && time.Since(begin) < time.Minute; { // the servers may be away
		<-time.After(50 * time.Millisecond)
		w, err = natsfleet.StartWorker(ctx, o)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("started")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		lines <- struct{}{}
	}
	_ = w.Close(ctx) // the test looks at the store
	return 0
}

// scripted is the CLI of a worker. It calls ran when a tool runs.
func (r workerRole) scripted(lines <-chan struct{}, ran func()) *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if n := len(c.ToolResults); n > 0 {
				return claudetest.Say("It says: " + c.ToolResults[n-1].Text)
			}
			if strings.HasPrefix(c.Prompt, "tool ") {
				return claudetest.UseTool("Bash", map[string]string{"command": c.Prompt, "description": "try it"})
			}
			if r.Answers {
				return heard(c)
			}
			fmt.Println("asked", c.Prompt)
			select {
			case <-lines:
			case <-c.Context().Done():
				fmt.Println("aborted")
			}
			return claudetest.Say("the other process has heard " + c.Prompt)
		},
		Tools: map[string]host.RunFunc{"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
			ran()
			return host.TextOutput("built"), nil
		}},
	})
}

// consumers counts the consumers of the stream.
func consumers(t *testing.T, url string) (n int) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the server says nothing about the stream", func() bool {
		s, err := js.Stream(t.Context(), "claude")
		if err == nil {
			n = s.CachedInfo().State.Consumers
		}
		return err == nil
	})
	return n
}
