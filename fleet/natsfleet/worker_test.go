package natsfleet_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
)

// leaseTime is how long the leases of the workers in these tests last.
const leaseTime = 3 * time.Second

// work is the program of a worker in another process. Its model says on stdout when
// it is asked, and answers when a line comes in on stdin, which ends the worker
// when it ends.
func work(url string) int {
	ctx := context.Background()
	lines := make(chan struct{})
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		fmt.Println("asked", c.Prompt)
		select {
		case <-lines:
		case <-c.Context().Done():
			fmt.Println("aborted")
		}
		return claudetest.Say("the other process has heard " + c.Prompt)
	}})
	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: url, Project: "p", Logger: quiet()},
		Fleet: fleet.Options{TTL: leaseTime, Journal: os.Getenv("WORKER_TEST_JOURNAL"), Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}},
	})
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

// consumers counts the consumers of the stream.
func consumers(t *testing.T, url string) int {
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
	s, err := js.Stream(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Consumers
}
