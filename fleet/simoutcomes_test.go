package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/fleet"
)

// service follows the outcomes of all conversations. It keeps a cursor and what it has
// dealt with; it dies now and then, also between the two, and starts again on any machine.
type service struct {
	w    *world
	rng  *rand.Rand // of the service itself
	luck *rand.Rand // of what happens to it
	stop func()

	mu     sync.Mutex
	cursor fleet.Cursor
	seen   map[string][]fleet.PromptStatus // by prompt
	order  map[string][]string             // prompts of a conversation that have ended, as first seen
	texts  map[string]string
	twice  int
}

func newService(w *world, seed uint64) *service {
	return &service{
		w: w, rng: rand.New(rand.NewPCG(seed, 12)), luck: rand.New(rand.NewPCG(seed, 13)), stop: func() {},
		seen: make(map[string][]fleet.PromptStatus), order: make(map[string][]string), texts: make(map[string]string),
	}
}

// restart ends the service and starts it on a machine, or on the client if that is nil.
func (s *service) restart(ctx context.Context, m *machine) {
	s.stop()
	f, name := s.w.client, "the client"
	if m != nil {
		f, name = m.fleet, m.name
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	s.stop = func() {
		cancel()
		<-ended
	}
	s.w.log("the service starts on %s, after %q", name, s.cursor)
	go func() {
		defer close(ended)
		for o, err := range f.Outcomes(ctx, s.after()) {
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, fleet.ErrClosed) {
					s.w.fault("the service: %v", err)
				}
				return
			}
			s.take(&o)
		}
	}()
}

func (s *service) after() fleet.Cursor {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cursor
}

// take deals with an outcome. The cursor is kept later, or never.
func (s *service) take(o *fleet.PromptOutcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := o.Ticket.Prompt
	if o.Ticket.Status.Done() {
		if slices.ContainsFunc(s.seen[id], fleet.PromptStatus.Done) {
			s.twice++
		} else {
			s.order[o.Key] = append(s.order[o.Key], id)
		}
		s.texts[id] = o.Ticket.Text
	}
	s.seen[id] = append(s.seen[id], o.Ticket.Status)
	if s.rng.IntN(2) == 0 {
		s.cursor = o.Cursor
	}
}

// anywhere restarts the service now and then.
func (s *service) anywhere(ctx context.Context) {
	switch n := s.luck.IntN(8); {
	case n == 0:
		s.restart(ctx, nil)
	case n < 3 && len(s.w.fleets) > 0:
		s.restart(ctx, s.w.fleets[s.luck.IntN(len(s.w.fleets))])
	}
}

func (s *service) has(id string, status fleet.PromptStatus) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen[id], status)
}

// checkStuck checks that the service learns about a prompt that a conversation is stuck on.
func (s *service) checkStuck(id string) {
	for range 90 {
		if s.has(id, fleet.PromptStuck) {
			return
		}
		<-time.After(2 * time.Second)
	}
	s.w.fault("the service does not know that prompt %s is stuck", id)
}

// check checks that the service knows everything that has ended, in order.
func (s *service) check(ctx context.Context, f *fleet.Fleet) {
	<-time.After(time.Minute)
	s.stop()
	want := make(map[string][]string)
	for i := range s.w.sent {
		p := &s.w.sent[i]
		o, err := f.Prompt(ctx, p.key, p.id)
		if err != nil {
			continue // it was not accepted
		}
		if !s.has(p.id, o.Status) || s.texts[p.id] != o.Text {
			s.w.fault("the service does not know of prompt %s, which is %s %q: %q %q", p.id, o.Status, o.Text, s.seen[p.id], s.texts[p.id])
		}
		if !p.steers && o.Status == fleet.PromptAnswered {
			want[p.key] = append(want[p.key], p.id)
		}
	}
	for key, ids := range want {
		got := slices.DeleteFunc(slices.Clone(s.order[key]), func(id string) bool { return !slices.Contains(ids, id) })
		if !slices.Equal(got, ids) {
			s.w.fault("the service knows %s in the order %s, want %s", key, fmt.Sprint(got), fmt.Sprint(ids))
		}
	}
}
