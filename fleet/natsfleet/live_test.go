package natsfleet_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/message"
)

// screen is a client's view of a conversation: the stored text, followed by the
// live text.
type screen struct {
	mu     sync.Mutex
	stored []string
	live   string
	ended  int
	broken []string
	change chan struct{} // one slot
}

// watch shows the events of a conversation until ctx ends.
func watch(ctx context.Context, f fleet.Conversations, key string) *screen {
	s := &screen{change: make(chan struct{}, 1)}
	go func() {
		for e, err := range f.Events(ctx, key, "") {
			if err != nil {
				return
			}
			s.show(e)
			select {
			case s.change <- struct{}{}:
			default:
			}
		}
	}()
	return s
}

func (s *screen) show(e fleet.ConversationEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := e.Message.(type) {
	case *message.StreamEvent:
		if m.EventType != message.EventBlockDelta {
			return
		}
		if e.Offset != len(s.live) {
			s.broken = append(s.broken, "a gap or a double")
		}
		s.live += m.Text()
	case *message.Result:
		s.ended++
	case *message.Assistant:
		if !strings.HasPrefix(m.Text(), s.live) {
			s.broken = append(s.broken, "live text that was not stored")
		}
		s.live = ""
		s.stored = append(s.stored, m.Text())
	}
}

// until waits until the screen shows something.
func (s *screen) until(t *testing.T, what string, shows func() bool) {
	t.Helper()
	limit := time.After(bound)
	for {
		s.mu.Lock()
		ok := shows()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.change:
		case <-limit:
			t.Fatalf("%s: %d stored, live %q, %d results, %q", what, len(s.stored), s.live, s.ended, s.broken)
		}
	}
}

// A client on another machine sees an answer while it is written, even when it comes
// late or hears nonsense, and then once from the store.
func TestLiveText(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	rest := make(chan struct{})
	text := strings.Repeat("all work and no play ", 20)
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(call *claudetest.ModelCall) claudetest.Reply {
		if call.Prompt != "long" {
			return heard(call)
		}
		return claudetest.Say(text).Chunks(10, 0).Hold(rest)
	}})
	startWorker(t, c.URL(), nil, func(o *fleet.Options) {
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet(), PartialMessages: true}, nil
		}
	})
	client, other := connect(t, c.URL()), connect(t, c.URL())
	if _, err := answer(t.Context(), client, "ada", "hello"); err != nil {
		t.Fatal(err)
	}
	early := watch(t.Context(), client, "ada")
	early.until(t, "the first answer", func() bool { return len(early.stored) == 1 })
	noise(t, c.URL())
	if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "long"}); err != nil {
		t.Fatal(err)
	}
	early.until(t, "the answer while it is written", func() bool { return len(early.live) == len(text)/2 })
	late := watch(t.Context(), other, "ada")
	late.until(t, "the same, late", func() bool { return len(late.live) == len(text)/2 })
	close(rest)
	for _, s := range []*screen{early, late} {
		s.until(t, "the whole answer", func() bool { return len(s.stored) == 2 && s.ended == 1 })
		if s.stored[1] != text || len(s.broken) > 0 {
			t.Errorf("stored %q, %q", s.stored[1], s.broken)
		}
	}
}

// noise sends what no worker would send to the subjects of live text.
func noise(t *testing.T, url string) {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, data := range []string{"", "nonsense", `{"run":"x"}`, `{"run":"x","number":1}`, `{"run":"y","number":7,"message":{"type":"result"}}`, `{"run":"z","number":1,"message":[]}`} {
		if err := nc.Publish("claude.bus.live|p|ada", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
}
