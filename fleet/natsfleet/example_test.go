package natsfleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/example"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// Two workers and a service: when one of them stops, the other continues its
// conversation.
func TestExample(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var wg sync.WaitGroup
	defer wg.Wait()
	stop := make(map[string]context.CancelFunc)
	for _, name := range []string{"one", "two"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stop[name] = cancel
		cli := claudetest.NewCLI(&claudetest.Script{Model: func(call *claudetest.ModelCall) claudetest.Reply {
			n := 0
			for _, m := range call.Messages {
				if m.Role == "user" && m.Text != "" {
					n++
				}
			}
			return claudetest.Say(name + strings.Repeat("!", n))
		}})
		wg.Go(func() {
			if err := example.RunWorker(ctx, c.URL(), func(string) *claude.Options { return &claude.Options{Transport: cli, Cwd: "/work", Logger: quiet()} }); err != nil {
				t.Errorf("worker %s: %v", name, err)
			}
		})
	}
	first, err := example.Ask(t.Context(), c.URL(), "acme/user-42", "hello")
	if err != nil || first != "one!" && first != "two!" {
		t.Fatalf("%q, %v", first, err)
	}
	who, other := "one", "two"
	if first == "two!" {
		who, other = other, who
	}
	stop[who]()
	second, err := example.Ask(t.Context(), c.URL(), "acme/user-42", "again")
	if err != nil || second != other+"!!" && second != who+"!!" {
		t.Errorf("%q, %v", second, err)
	}
	stop[other]()
}
