package natsfleet_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// Outcomes of three workers reach their followers in clients and workers, each at
// least once and in the order of its conversation, promptly and without polling. A
// follower that stops and continues elsewhere misses none.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const conversations, prompts = 6, 20
	c := natstest.Start(t, natstest.Options{})
	rare := func(o *fleet.Options) { o.Poll = time.Hour }
	first := startWorker(t, c.URL(), heard, rare)
	startWorker(t, c.URL(), heard, rare)
	startWorker(t, c.URL(), heard, rare)
	client := connect(t, c.URL())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for _, f := range []fleet.Conversations{client, first} {
		wg.Go(func() {
			seen := make(map[string][]string)
			var cursor fleet.Cursor
			for n := 0; n < conversations*prompts; {
				for o, err := range f.Outcomes(ctx, cursor) {
					if err != nil {
						t.Errorf("after %d outcomes: %v", n, err)
						return
					}
					if !slices.Contains(seen[o.Key], o.Ticket.Prompt) {
						seen[o.Key] = append(seen[o.Key], o.Ticket.Prompt)
						n++
					}
					if cursor = o.Cursor; n%7 == 0 || n == conversations*prompts {
						break // it starts again
					}
				}
				f = client
			}
			for key, got := range seen {
				var want []string
				for p := range prompts {
					want = append(want, fleet.PromptID(key, fmt.Sprint(p)))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q, want %q", key, got, want)
				}
			}
		})
	}
	for k := range conversations {
		wg.Go(func() {
			key := fmt.Sprintf("acme/user-%d", k)
			for p := range prompts {
				if _, err := client.Send(ctx, key, fleet.Prompt{ID: fleet.PromptID(key, fmt.Sprint(p)), Text: fmt.Sprint(p)}); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			}
		})
	}
	wg.Wait()
}
