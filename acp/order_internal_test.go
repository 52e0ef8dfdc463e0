package acp

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/permission"
)

// slow is a session whose changes wait, and a back-end that opens it.
type slow struct {
	backend
	agentSession
	goOn    chan struct{}
	changed []schema.SessionModeID
	loads   int
}

func (s *slow) ID() schema.SessionID                 { return "a" }
func (s *slow) Modes() *schema.SessionModeState      { return nil }
func (s *slow) Config() []schema.SessionConfigOption { return nil }
func (s *slow) Close() error                         { return nil }

func (s *slow) SetMode(_ context.Context, mode schema.SessionModeID) error {
	s.changed = append(s.changed, mode)
	<-s.goOn
	return nil
}

func (s *slow) Load(context.Context, *editor, *schema.LoadSessionRequest) (agentSession, error) {
	s.loads++
	<-s.goOn
	return s, nil
}

func (s *slow) Delete(context.Context, schema.SessionID) error { return nil }

func newSlow() (*slow, *server) {
	a := &slow{goOn: make(chan struct{})}
	return a, &server{backend: a, initialized: true, sessions: make(map[schema.SessionID]*openSession), held: make(map[schema.SessionID]bool)}
}

func run(ctx context.Context, work rpc.Work) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, _, err := work(ctx)
		done <- err
	}()
	return done
}

// TestChangesInOrder starts the work of later requests first, and withdraws one
// of them.
func TestChangesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newSlow()
		s.sessions["a"] = &openSession{agentSession: a}
		var works []rpc.Work
		for _, mode := range []string{"one", "two", "three"} {
			works = append(works, s.Request(schema.MethodAgentSessionSetMode, []byte(`{"sessionId":"a","modeId":"`+mode+`"}`)))
		}
		third := run(t.Context(), works[2])
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		second := run(ctx, works[1])
		synctest.Wait()
		cancel()
		if err := <-second; !errors.Is(err, context.Canceled) {
			t.Errorf("the request that was withdrawn: %v", err)
		}
		first := run(t.Context(), works[0])
		synctest.Wait()
		if !slices.Equal(a.changed, []schema.SessionModeID{"one"}) {
			t.Errorf("changed %q while the first change runs", a.changed)
		}
		close(a.goOn)
		if err := errors.Join(<-first, <-third); err != nil {
			t.Error(err)
		}
		if !slices.Equal(a.changed, []schema.SessionModeID{"one", "three"}) {
			t.Errorf("changed %q, want one and three", a.changed)
		}
	})
}

// TestOpenedOnce refuses to open or delete a session that is being opened.
func TestOpenedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := newSlow()
		load := []byte(`{"sessionId":"a","cwd":"/","mcpServers":[]}`)
		first := run(t.Context(), s.Request(schema.MethodAgentSessionLoad, load))
		synctest.Wait()
		second := run(t.Context(), s.Request(schema.MethodAgentSessionLoad, load))
		deleted := run(t.Context(), s.Request(schema.MethodAgentSessionDelete, []byte(`{"sessionId":"a"}`)))
		synctest.Wait()
		close(a.goOn)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; err == nil || a.loads != 1 {
			t.Errorf("a second load: %v, %d loads, want it refused", err, a.loads)
		}
		if err := <-deleted; err == nil {
			t.Error("the session was deleted while it was being opened")
		}
		if err := <-run(t.Context(), s.Request(schema.MethodAgentSessionDelete, []byte(`{"sessionId":"a"}`))); err != nil {
			t.Errorf("later: %v", err)
		}
		if len(s.sessions)+len(s.held)+s.opening != 0 {
			t.Errorf("left: %d sessions, %d held, %d opening", len(s.sessions), len(s.held), s.opening)
		}
	})
}

// TestTakeBack takes back what failed and nothing else.
func TestTakeBack(t *testing.T) {
	before := choices{mode: permission.ModeDefault, model: "small", effort: "high"}
	after := before
	after.model, after.effort = "large", ""
	now := after
	now.mode, now.thinking = permission.ModePlan, true
	got := now.without(after, before)
	if got.model != "small" || got.effort != "high" || got.mode != permission.ModePlan || !got.thinking {
		t.Errorf("%+v, want the model and its effort taken back alone", got)
	}
	now.model = "other"
	if got := now.without(after, before); got.model != "other" {
		t.Errorf("model %s, want the one chosen since", got.model)
	}
}
