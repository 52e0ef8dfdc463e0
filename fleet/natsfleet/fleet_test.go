package natsfleet_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

var full = flag.Bool("full", false, "run 1,000 prompts over 100 conversations")

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// heard answers a prompt with all that the conversation was ever told, in order. So
// an answer shows that nothing was lost, doubled or swapped on the way.
func heard(c *claudetest.ModelCall) claudetest.Reply {
	var all []string
	for _, m := range c.Messages {
		if m.Role == "user" && m.Text != "" {
			all = append(all, m.Text)
		}
	}
	return claudetest.Say("heard " + strings.Join(all, ", "))
}

// startWorker starts a worker on a scripted CLI.
func startWorker(t testing.TB, url string, reply func(*claudetest.ModelCall) claudetest.Reply, change func(*fleet.Options)) *natsfleet.Worker {
	t.Helper()
	cli := claudetest.NewCLI(&claudetest.Script{Model: reply})
	o := natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: url, Project: "p", Logger: quiet()},
		Fleet: fleet.Options{MaxLive: 8, TTL: 30 * time.Second, Grace: 10 * time.Second, Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}},
	}
	if change != nil {
		change(&o.Fleet)
	}
	w, err := natsfleet.StartWorker(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, w) })
	return w
}

// shut closes a client or worker.
func shut(t testing.TB, c interface{ Close(context.Context) error }) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func connect(t testing.TB, url string) *natsfleet.Client {
	t.Helper()
	c, err := natsfleet.Connect(t.Context(), natsfleet.Options{URL: url, Project: "p", Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, c) })
	return c
}

// answer runs a prompt and returns the text of its result.
func answer(ctx context.Context, f fleet.Conversations, key, prompt string) (string, error) {
	text := ""
	for m, err := range f.Run(ctx, key, prompt) {
		if err != nil {
			return text, err
		}
		if r, ok := m.(*message.Result); ok {
			text = r.Text
		}
	}
	return text, nil
}

// converse sends prompts to conversations, many at a time, and wants each answered
// once and in order.
func converse(t *testing.T, f *natsfleet.Client, conversations, prompts int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var wg sync.WaitGroup
	for c := range conversations {
		wg.Go(func() {
			key := fmt.Sprintf("tenant-%d/user-%d", c%3, c)
			var ids, said []string
			for p := range prompts {
				text := fmt.Sprintf("%d.%d", c, p)
				said = append(said, text)
				id, err := persist(ctx, f, key, text)
				if err != nil {
					t.Errorf("%s: %v", text, err)
					return
				}
				ids = append(ids, id)
			}
			if err := followToEnd(ctx, f, key, ids[len(ids)-1]); err != nil {
				t.Errorf("%s: %v", key, err)
			}
			for i, id := range ids {
				var o fleet.Ticket
				err := insist(ctx, func(ctx context.Context) (err error) {
					o, err = f.Prompt(ctx, key, id)
					return err
				})
				if want := "heard " + strings.Join(said[:i+1], ", "); err != nil || o.Status != fleet.PromptAnswered || o.Text != want {
					t.Errorf("%s: %s %q, %v; want %q", said[i], o.Status, o.Text, err, want)
				}
			}
		})
	}
	wg.Wait()
}

// persist sends a prompt until it is accepted, whatever happens to the servers. Its id is
// made by the fleet, and used again only if the prompt may have been accepted: one with a
// new id may begin without being queued.
func persist(ctx context.Context, f fleet.Conversations, key, text string) (id string, err error) {
	p := fleet.Prompt{Text: text}
	err = insist(ctx, func(ctx context.Context) (err error) {
		id, err = f.Send(ctx, key, p)
		if err != nil {
			if doubt, ok := errors.AsType[*fleet.InDoubtError](err); ok {
				p.ID = doubt.Prompt
			}
		}
		return err
	})
	return id, err
}

// followToEnd follows a prompt until it has ended, whatever happens to the servers.
func followToEnd(ctx context.Context, f *natsfleet.Client, key, id string) error {
	var failed *fleet.FailedError
	err := insist(ctx, func(ctx context.Context) (last error) {
		for _, err := range f.RunPrompt(ctx, key, fleet.Prompt{ID: id, Text: "known"}) {
			last = err
		}
		if errors.As(last, &failed) {
			return nil // it has ended
		}
		return last
	})
	if failed != nil {
		return failed
	}
	return err
}

// insist repeats what fails while servers are away.
func insist(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for {
		err := do(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		<-time.After(20 * time.Millisecond) // a refusal may come at once
	}
}

// size is how much a test does.
func size() (conversations, prompts int) {
	if *full {
		return 100, 10
	}
	return 12, 3
}

// Prompts of many conversations are answered by several workers, each once and in
// order.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	var mu sync.Mutex
	by := make(map[int]int)
	for i := range 4 {
		startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
			mu.Lock()
			by[i]++
			mu.Unlock()
			return heard(call)
		}, func(o *fleet.Options) { o.MaxLive = 2 })
	}
	conversations, prompts := size()
	converse(t, connect(t, c.URL()), conversations, prompts)
	total := 0
	for _, n := range by {
		total += n
	}
	if n := consumers(t, c.URL()); n != 0 {
		t.Errorf("the stream has %d consumers; a purge could strand what they have not acknowledged", n)
	}
	if want := conversations * prompts; total != want || len(by) < 2 {
		t.Errorf("the models were asked %d times, by %d workers; want %d times, by several", total, len(by), want)
	}
}

// The same while the node that leads the stream stops and comes back.
func TestNodeStops(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	for range 2 {
		startWorker(t, c.URL(), heard, func(o *fleet.Options) { o.TTL = 30 * time.Second })
	}
	client := connect(t, c.URL())
	if _, err := answer(t.Context(), client, "first", "x"); err != nil {
		t.Fatal(err)
	}
	conversations, prompts := size()
	done := make(chan struct{})
	go func() {
		defer close(done)
		converse(t, client, conversations, prompts)
	}()
	i := -1
	eventually(t, "the stream has no leader", func() bool { i = c.Leader("claude"); return i >= 0 })
	c.Stop(i)
	c.Start(i)
	<-done
}

// What was accepted is there when all servers have started again from their disks.
func TestServersRestart(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	client := connect(t, c.URL())
	w := startWorker(t, c.URL(), heard, nil)
	if text, err := answer(t.Context(), client, "ada", "one"); err != nil || text != "heard one" {
		t.Fatalf("%q, %v", text, err)
	}
	shut(t, w)
	id, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "two"})
	if err != nil {
		t.Fatal(err)
	}
	c.Restart()
	startWorker(t, c.URL(), heard, nil)
	text, err := answer(t.Context(), client, "ada", "three")
	if err != nil || text != "heard one, two, three" {
		t.Errorf("%q, %v", text, err)
	}
	if o, err := client.Prompt(t.Context(), "ada", id); err != nil || o.Status != fleet.PromptAnswered {
		t.Errorf("%+v, %v", o, err)
	}
}

// A model that the CLI of another machine refuses as mistyped is not kept.
func TestMistypedModelElsewhere(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	startWorker(t, c.URL(), heard, nil)
	client := connect(t, c.URL())
	if _, err := answer(t.Context(), client, "ada", "hello"); err != nil { // it stays awake
		t.Fatal(err)
	}
	if err := client.SetModel(t.Context(), "ada", "claude-opus-4-1"); err != nil {
		t.Fatal(err)
	}
	err := client.SetModel(t.Context(), "ada", "defualt")
	if option, ok := errors.AsType[*claude.OptionError](err); !errors.Is(err, store.ErrInvalid) || !ok || option.Field != "Model" {
		t.Errorf("SetModel: %v", err)
	}
	if info, err := client.Get(t.Context(), "ada"); err != nil || info.Model != "claude-opus-4-1" {
		t.Errorf("chosen is %q, %v", info.Model, err)
	}
}

// A client reaches the worker that runs a conversation.
func TestInterruptElsewhere(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	asked := make(chan struct{})
	startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
		if call.Prompt == "hold" {
			close(asked)
			<-call.Context().Done()
		}
		return heard(call)
	}, nil)
	startWorker(t, c.URL(), heard, func(o *fleet.Options) { o.Runs = func(key string) bool { return key == "other" } })
	client := connect(t, c.URL())
	ended := make(chan error, 1)
	go func() {
		_, err := answer(t.Context(), client, "ada", "hold")
		ended <- err
	}()
	<-asked
	if err := client.SetModel(t.Context(), "ada", "claude-opus-4-1"); err != nil {
		t.Errorf("SetModel: %v", err)
	}
	if err := client.Interrupt(t.Context(), "ada"); err != nil {
		t.Errorf("Interrupt: %v", err)
	}
	err := <-ended
	if failed, ok := errors.AsType[*fleet.FailedError](err); !ok || failed.Ticket.Status != fleet.PromptFailed {
		t.Errorf("the turn: %v", err)
	}
	if text, err := answer(t.Context(), client, "ada", "next"); err != nil || !strings.HasSuffix(text, "next") {
		t.Errorf("the next prompt: %q, %v", text, err)
	}
	if err := client.Interrupt(t.Context(), "ada"); err != nil {
		t.Errorf("Interrupt of a conversation that does nothing: %v", err)
	}
}

// Close leaves nothing behind in this process, even after a reconnection and with a
// watcher still running. It is not run in parallel, because it counts goroutines.
func TestCloseLeavesNothing(t *testing.T) {
	leak.Check(t)
	c := natstest.Start(t, natstest.Options{})
	client := connect(t, c.URL())
	startWorker(t, c.URL(), heard, nil)
	if text, err := answer(t.Context(), client, "ada", "one"); err != nil || text != "heard one" {
		t.Fatalf("%q, %v", text, err)
	}
	watcher := watch(t.Context(), client, "ada")
	watcher.until(t, "the answer", func() bool { return len(watcher.stored) == 1 })
	s := openStore(t, c.URL())
	if err := s.Reconnect(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection is not made again", func() bool { return s.Reconnects() == 1 })
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
}

// bound is how long a test waits for something that must happen. It mostly takes a
// moment; a machine with far too much to do may need minutes.
const bound = 3 * time.Minute

// eventually waits until something holds that announces itself nowhere.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(bound); !holds(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// ends follows a prompt that was sent before to its answer.
func ends(t *testing.T, f *natsfleet.Client, key, id string) fleet.Ticket {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	for _, err := range f.RunPrompt(ctx, key, fleet.Prompt{ID: id, Text: "known"}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	o, err := f.Prompt(t.Context(), key, id)
	if err != nil || o.Status != fleet.PromptAnswered {
		t.Fatalf("%+v, %v", o, err)
	}
	return o
}
