package fleet_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// fences is a store that notes which writes have no fence.
type fences struct {
	strict

	mu       sync.Mutex
	writes   int
	unfenced []string
}

func (s *fences) note(what string, f store.Fence) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	log := what == "ended" || what == "outcomelog" // which is written now and then
	if f.IsZero() && !log && !slices.Contains(s.unfenced, what) {
		s.unfenced = append(s.unfenced, what)
	}
}

// take returns the kinds of writes without a fence since the last call, and how many
// writes there were.
func (s *fences) take() (unfenced []string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unfenced, writes = s.unfenced, s.writes
	s.unfenced, s.writes = nil, 0
	slices.Sort(unfenced)
	return unfenced, writes
}

func (s *fences) Append(ctx context.Context, k store.Key, b store.Batch) error {
	s.note("transcript", b.Fence)
	return s.strict.Append(ctx, k, b)
}

func (s *fences) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	s.note("delete", f)
	return s.MemoryStore.Delete(ctx, k, f)
}

func (s *fences) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	for _, one := range c {
		s.note(one.Key.Kind, f)
	}
	return s.strict.Change(ctx, f, c...)
}

// Every write of an owner has its fence: a process that was replaced changes nothing
// any more. Only requests of users have none, which any process may write, and the log
// of outcomes, which belongs to no conversation.
func TestEverythingIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &fences{strict: strict{MemoryStore: store.Memory(), report: func(what string) { t.Errorf("without a fence: %s", what) }}}
		cli := newScripted()
		broken, sent := true, make(chan struct{})
		start := func() *fleet.Fleet {
			return open(t, db, cli, func(o *fleet.Options) {
				o.DayBudgetUSD, o.IdleAfter = 1000, 20*time.Second
				o.Gate = &approval.Options{Patience: 30 * time.Second, Lifetime: 10 * time.Minute}
				usual := o.Session
				o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
					if key == "stuck" && broken {
						<-sent
						return nil, errors.New("no such repository")
					}
					return usual(ctx, key)
				}
			})
		}
		f := start()
		phase := ""
		// byUsers are the writes of a call; owners checks those since then.
		byUsers := func(what string, want ...string) {
			t.Helper()
			phase = what
			if got, _ := db.take(); !slices.Equal(got, want) {
				t.Errorf("%s writes %q without a fence, want %q", what, got, want)
			}
		}
		owners := func(wait time.Duration, may ...string) {
			t.Helper()
			<-time.After(wait)
			got, writes := db.take()
			got = slices.DeleteFunc(got, func(kind string) bool { return slices.Contains(may, kind) })
			if len(got) > 0 || writes == 0 {
				t.Errorf("after %s, the owner makes %d writes, without a fence: %q", phase, writes, got)
			}
		}
		ask := func(key, text string, want ...string) string {
			t.Helper()
			release := cli.pause()
			id, err := f.Send(t.Context(), key, fleet.Prompt{ID: uuid.New(), Text: text})
			if err != nil {
				t.Fatal(err)
			}
			byUsers("Send "+text, want...)
			release()
			return id
		}
		db.take()
		ask("ada", "hello", "conversation", "prompt")
		owners(time.Minute)
		ask("ada", "tool 1", "prompt")
		owners(time.Second)
		decide(t, f, question(t, f), permission.Allow())
		byUsers("a decision in time", "question")
		owners(time.Minute)
		ask("ada", "tool 2", "prompt")
		owners(time.Minute)
		decide(t, f, question(t, f), permission.Allow())
		byUsers("a decision after it has slept", "question")
		owners(time.Minute)
		ask("ada", "tool 3", "prompt")
		owners(20*time.Minute, "question") // it expires
		ask("stuck", "hello", "conversation", "prompt")
		close(sent)
		owners(time.Minute)
		broken = false
		if err := f.Retry(t.Context(), "stuck"); err != nil {
			t.Fatal(err)
		}
		byUsers("Retry", "conversation", "prompt")
		owners(time.Minute)
		release := cli.pause()
		ask2 := func(text string) string {
			id, err := f.Send(t.Context(), "ada", fleet.Prompt{ID: uuid.New(), Text: text})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		ask2("runs")
		waits := ask2("waits")
		<-time.After(time.Second)
		db.take()
		if err := f.Cancel(t.Context(), "ada", waits); err != nil {
			t.Fatal(err)
		}
		db.take() // the mark, and the clean-up of a prompt that has never begun
		if err := f.Interrupt(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		byUsers("Interrupt", "prompt")
		release()
		owners(time.Minute)
		release = cli.pause()
		id := ask2("cut off")
		<-time.After(time.Second)
		db.take()
		phase = "Close"
		closeFleet(t, f)
		owners(0)
		release()
		f = start()
		phase = "Open"
		owners(2 * time.Minute)
		if o := outcome(t, f, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		if err := f.Delete(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		byUsers("Delete", "deletion") // before its lease is known to be free
		closeFleet(t, f)
	})
}
