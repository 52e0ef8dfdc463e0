package serve_test

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// leaver is a client that leaves at one of the calls of the store that its request makes,
// or whose request fails there.
type leaver struct {
	calls atomic.Int64 // until then
	leave context.CancelFunc
	err   error // of that call
}

type leaverKey struct{}

// noticed is a store that notices when a client has left.
type noticed struct{ store.Fleet }

func (noticed) look(ctx context.Context) error {
	if l, ok := ctx.Value(leaverKey{}).(*leaver); ok && l.calls.Add(-1) == 0 {
		if l.err != nil {
			return l.err
		}
		l.leave()
	}
	return ctx.Err()
}

func (n noticed) View(ctx context.Context, v store.View) ([]store.Record, error) {
	if err := n.look(ctx); err != nil {
		return nil, err
	}
	return n.Fleet.View(ctx, v)
}

func (n noticed) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	if err := n.look(ctx); err != nil {
		return nil, err
	}
	return n.Fleet.Change(ctx, f, c...)
}

func (n noticed) Now(ctx context.Context) (time.Time, error) {
	if err := n.look(ctx); err != nil {
		return time.Time{}, err
	}
	return n.Fleet.Now(ctx)
}

func (n noticed) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		if err := n.look(ctx); err != nil {
			yield(store.Record{}, err)
			return
		}
		for r, err := range n.Fleet.Scan(ctx, f, after) {
			if !yield(r, err) {
				return
			}
			if err := n.look(ctx); err != nil { // the rest cannot be read
				yield(store.Record{}, err)
				return
			}
		}
	}
}

// A client may leave at any moment. Its request is then carried out completely, with
// its events in the log, or not at all: after an error it can be repeated.
func TestClientLeavesAtEachCall(t *testing.T) {
	t.Parallel()
	const second = "00000000-0000-4000-8000-000000000002"
	for name, test := range map[string]struct {
		prompt string
		do     func(context.Context, *serve.Service, string) error
		want   func(*api.Event) bool // of one event of the log
		gone   bool                  // the conversation is
	}{
		"decide": {"tool 1", func(ctx context.Context, s *serve.Service, id string) error {
			list, err := s.Approvals(ctx, operator, api.ApprovalQuery{Conversation: id, State: api.ApprovalPending})
			if err != nil || len(list.Items) == 0 {
				return err
			}
			_, err = s.Decide(ctx, operator, list.Items[0].ID, api.Decision{Decision: api.DecideAllow, Digest: list.Items[0].Digest})
			return err
		}, func(e *api.Event) bool { return e.Type == api.EventNotice && e.Notice.Text == "decided: allow Bash" }, false},
		"interrupt": {"tool 1", func(ctx context.Context, s *serve.Service, id string) error {
			return s.Interrupt(ctx, operator, id)
		}, func(e *api.Event) bool { return e.Type == api.EventNotice && e.Notice.Text == "interrupted the turn" }, false},
		"send": {"hello", func(ctx context.Context, s *serve.Service, id string) error {
			_, err := s.Send(ctx, operator, id, api.NewPrompt{ID: second, Content: api.Text("again")})
			return err
		}, func(e *api.Event) bool { return e.Type == api.EventTurn && e.Turn.Prompt == second }, false},
		"delete": {"hello", func(ctx context.Context, s *serve.Service, id string) error {
			return s.Delete(ctx, operator, id)
		}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newService(t, noticed{store.Memory()}, root, func(o *fleet.Options) {
					o.Gate, o.Poll = &approval.Options{Patience: time.Hour}, time.Second
				}, nil)
				s := r.server.Service()
				// A request costs one call more for each conversation there is, so steps of
				// one would never reach the end.
				for first := range int64(long.Pick(1, 2)) {
					for n, left := 1+first, true; left; n += 2 {
						c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text(test.prompt)})
						if err != nil {
							t.Fatal(err)
						}
						<-time.After(5 * time.Second)
						ctx, cancel := context.WithCancel(t.Context())
						client := &leaver{leave: cancel}
						client.calls.Store(n)
						err = test.do(context.WithValue(ctx, leaverKey{}, client), s, c.ID)
						cancel()
						left = client.calls.Load() <= 0
						<-time.After(5 * time.Second)
						if err != nil {
							if err := test.do(t.Context(), s, c.ID); err != nil {
								t.Errorf("left at call %d, and asked again: %v", n, err)
							}
							<-time.After(5 * time.Second)
						}
						events, _, err := s.Log(t.Context(), operator, c.ID)
						if test.gone {
							if err == nil {
								t.Errorf("left at call %d: the conversation is still there", n)
							}
							continue
						}
						found := 0
						for i := range events {
							if test.want(&events[i]) {
								found++
							}
						}
						if err != nil || found != 1 {
							t.Errorf("left at call %d: %d lines in the log, %v", n, found, err)
						}
					}
				}
				if test.gone {
					r.nothingLeft()
				}
			})
		})
	}
}

// A read is complete or fails: no failed call of the store makes a list shorter or a
// sum smaller.
func TestReadsFailOrAreWhole(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newService(t, noticed{store.Memory()}, root, func(o *fleet.Options) {
			o.Gate, o.Poll = &approval.Options{Patience: time.Hour}, time.Second
		}, nil)
		s := r.server.Service()
		var ids []string
		for _, prompt := range []string{"hello", "tool 1", "tool 2", "bye"} {
			c, err := s.Create(t.Context(), operator, api.NewConversation{Preset: "shop", Content: api.Text(prompt)})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, c.ID)
		}
		if _, err := r.fleet.Send(t.Context(), "other/foreign", fleet.Prompt{Text: "not begun here"}); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second)
		if err := s.Delete(t.Context(), operator, ids[3]); err != nil {
			t.Fatal(err)
		}
		r.token("ada", api.RoleOperator)
		r.token("eve", api.RoleViewer)
		<-time.After(5 * time.Second)
		admin := api.User{Name: "root", Role: api.RoleAdmin}
		asked, err := s.Approvals(t.Context(), operator, api.ApprovalQuery{State: api.ApprovalPending})
		if err != nil || len(asked.Items) != 2 {
			t.Fatalf("%+v, %v", asked, err)
		}
		for name, read := range map[string]func(context.Context) (any, error){
			"conversations": func(ctx context.Context) (any, error) { return s.Conversations(ctx, admin, api.ConversationQuery{}) },
			"conversation":  func(ctx context.Context) (any, error) { return s.Conversation(ctx, operator, ids[1]) },
			"overview":      func(ctx context.Context) (any, error) { return s.Overview(ctx, admin, time.Now()) },
			"usage":         func(ctx context.Context) (any, error) { return s.Usage(ctx, admin, api.UsageQuery{}) },
			"approvals":     func(ctx context.Context) (any, error) { return s.Approvals(ctx, operator, api.ApprovalQuery{}) },
			"approval":      func(ctx context.Context) (any, error) { return s.Approval(ctx, operator, asked.Items[0].ID) },
			"prompts":       func(ctx context.Context) (any, error) { return s.Prompts(ctx, operator, ids[1]) },
			"messages":      func(ctx context.Context) (any, error) { return s.Messages(ctx, operator, ids[0], api.MessageQuery{}) },
			"changes":       func(ctx context.Context) (any, error) { return s.Changes(ctx, operator, ids[0], "") },
			"commands":      func(ctx context.Context) (any, error) { return s.Commands(ctx, operator, ids[0]) },
			"tail":          func(ctx context.Context) (any, error) { return s.Tail(ctx, operator, ids[0], 0, 100) },
			"tokens":        func(ctx context.Context) (any, error) { return s.Tokens(ctx, admin) },
			"logins":        func(ctx context.Context) (any, error) { return s.Logins(ctx, admin) },
		} {
			whole, err := read(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for n, failed := int64(1), true; failed; n++ {
				broken := &leaver{err: errors.New("the store does not answer: secret")}
				broken.calls.Store(n)
				got, err := read(context.WithValue(t.Context(), leaverKey{}, broken))
				if failed = broken.calls.Load() <= 0; err == nil && !reflect.DeepEqual(got, whole) {
					t.Errorf("%s without call %d of the store: %+v\nwant %+v", name, n, got, whole)
				}
				if p, ok := errors.AsType[*api.Problem](err); err != nil && (!ok || strings.Contains(p.Title+p.Detail, "secret")) {
					t.Errorf("%s without call %d of the store: %v", name, n, err)
				}
			}
		}
	})
}
