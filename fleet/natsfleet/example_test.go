package natsfleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/message"
)

// runWorker runs conversations until ctx ends, which a program gets from
// signal.NotifyContext. Then turns may end for a while, and the others continue on
// another worker.
func runWorker(ctx context.Context, url string, optionsFor func(key string) *claude.Options) error {
	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: url, Project: "prod"},
		Fleet: fleet.Options{
			MaxLive: 8, // CLIs at the same time
			Session: func(_ context.Context, key string) (*claude.Options, error) { return optionsFor(key), nil },
		},
	})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return w.Close(context.WithoutCancel(ctx))
}

// ask sends a prompt to a conversation and returns the answer, whichever worker
// gives it.
func ask(ctx context.Context, url, key, prompt string) (string, error) {
	f, err := natsfleet.Connect(ctx, natsfleet.Options{URL: url, Project: "prod"})
	if err != nil {
		return "", err
	}
	defer f.Close(ctx)
	for msg, err := range f.Run(ctx, key, prompt) {
		if err != nil {
			return "", err
		}
		if result, ok := msg.(*message.Result); ok {
			return result.Text, nil
		}
	}
	return "", claude.ErrNoResult
}

// Two workers and a service: when one of them stops, the other continues its
// conversation.
func TestExample(t *testing.T) {
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
			if err := runWorker(ctx, c.URL(), func(string) *claude.Options { return &claude.Options{Transport: cli, Cwd: "/work", Logger: quiet()} }); err != nil {
				t.Errorf("worker %s: %v", name, err)
			}
		})
	}
	first, err := ask(t.Context(), c.URL(), "acme/user-42", "hello")
	if err != nil || first != "one!" && first != "two!" {
		t.Fatalf("%q, %v", first, err)
	}
	who, other := "one", "two"
	if first == "two!" {
		who, other = other, who
	}
	stop[who]()
	second, err := ask(t.Context(), c.URL(), "acme/user-42", "again")
	if err != nil || second != other+"!!" && second != who+"!!" {
		t.Errorf("%q, %v", second, err)
	}
	stop[other]()
}
