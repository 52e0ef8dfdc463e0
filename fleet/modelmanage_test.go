package fleet_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// managed is the expected state of a conversation.
type managed struct {
	title   string
	labels  map[string]string
	model   string
	mode    permission.Mode
	created time.Time
	turns   int
	heard   []string
	asked   time.Time // zero: never
}

// managedFleet is a fleet, and all that must be true of it.
type managedFleet struct {
	*testing.T
	f     *fleet.Fleet
	rng   *rand.Rand
	model map[string]*managed
	// ends are the outcomes so far, and gone those whose conversations were deleted since.
	ends []string
	keys []string // of ends
	gone map[int]bool
}

// refused checks the error of an operation that must fail.
func (m *managedFleet) refused(err, want error) {
	m.Helper()
	if !errors.Is(err, want) {
		m.Errorf("%v, want %v", err, want)
	}
}

// step does something and changes the model in the same way.
func (m *managedFleet) step(n int) {
	m.Helper()
	names := []string{"ada", "bob", "acme/eve"}
	key, ctx := names[m.rng.IntN(len(names))], m.Context()
	now := m.model[key]
	must := func(err error) {
		m.Helper()
		if now == nil {
			m.refused(err, fleet.ErrUnknown)
		} else if err != nil {
			m.Errorf("%s: %v", key, err)
		}
	}
	make := func() *managed {
		if now == nil {
			now = &managed{created: time.Now()}
			m.model[key] = now
		}
		return now
	}
	switch m.rng.IntN(10) {
	case 0, 1, 2:
		make()
		text := fmt.Sprint("p", n)
		now.heard, now.turns, now.asked = append(slices.Clone(now.heard), text), now.turns+1, time.Now()
		want := "heard " + strings.Join(now.heard, ", ")
		if got := ask(m.T, m.f, key, text); got != want {
			m.Errorf("%s: answer %q, want %q", key, got, want)
		}
		m.ends, m.keys = append(m.ends, want), append(m.keys, key)
	case 3:
		make()
		now.title, now.labels = fmt.Sprint("title ", n), map[string]string{"n": fmt.Sprint(n)}
		given := maps.Clone(now.labels)
		if err := m.f.Describe(ctx, key, fleet.Description{Title: now.title, Labels: given}); err != nil {
			m.Error(err)
		}
		given["n"] = "changed by the caller"
	case 4:
		model := []string{"", "opus", "haiku"}[m.rng.IntN(3)]
		must(m.f.SetModel(ctx, key, model))
		if now != nil {
			now.model = model
		}
	case 5:
		mode := []permission.Mode{"", permission.ModePlan, permission.ModeAcceptEdits}[m.rng.IntN(3)]
		must(m.f.SetPermissionMode(ctx, key, mode))
		if now != nil {
			now.mode = mode
		}
	case 6:
		to := names[m.rng.IntN(len(names))]
		err := m.f.Fork(ctx, key, to, "")
		switch {
		case now == nil:
			m.refused(err, fleet.ErrUnknown)
		case m.model[to] != nil:
			m.refused(err, fleet.ErrExists)
		case len(now.heard) == 0:
			m.refused(err, history.ErrEmpty)
		case err != nil:
			m.Error(err)
		default:
			m.model[to] = &managed{model: now.model, mode: now.mode, created: time.Now(), heard: now.heard}
		}
	case 7:
		must(m.f.Delete(ctx, key))
		if now != nil {
			for i, other := range m.keys {
				m.gone[i] = m.gone[i] || other == key
			}
			m.ends, m.keys = append(m.ends, "deleted"), append(m.keys, key)
			delete(m.model, key)
		}
	case 8: // which change nothing
		must(m.f.Retry(ctx, key))
		must(m.f.Interrupt(ctx, key))
	default: // another process asks for a deletion, which only the one that runs it makes
		if here, err := m.f.DeleteHere(ctx, key); (now == nil || time.Since(now.asked) > 2*time.Minute) && (here || err != nil) {
			m.Errorf("%s sleeps, and is deleted by another process: %v, %v", key, here, err)
		} else if here {
			for i, other := range m.keys {
				m.gone[i] = m.gone[i] || other == key
			}
			m.ends, m.keys = append(m.ends, "deleted"), append(m.keys, key)
			delete(m.model, key)
		}
	}
}

// agrees compares the fleet with the model.
func (m *managedFleet) agrees() {
	m.Helper()
	sessions := make(map[string]string)
	var listed []string
	for info, err := range m.f.List(m.Context()) {
		if err != nil {
			m.Fatal(err)
		}
		listed = append(listed, info.Key)
		want := m.model[info.Key]
		if want == nil {
			continue
		}
		if info.Title != want.title || !maps.Equal(info.Labels, want.labels) || info.Model != want.model || info.Mode != want.mode ||
			!info.Created.Equal(want.created) || info.Cost.Turns != want.turns || (info.Cost.USD > 0) != (want.turns > 0) || info.Queued != 0 ||
			info.Stuck != "" || info.Question != "" {
			m.Errorf("%+v, want %+v", info, want)
		}
		if info.State != fleet.StateAwake && info.State != fleet.StateAsleep || info.State == fleet.StateAwake && (want.asked.IsZero() || time.Since(want.asked) > 2*time.Minute) {
			m.Errorf("%s is %s, and was asked at %v", info.Key, info.State, want.asked)
		}
		if other := sessions[info.Session]; other != "" && info.Session != "" {
			m.Errorf("%s and %s have the same session", info.Key, other)
		}
		sessions[info.Session] = info.Key
		if info.Labels != nil {
			info.Labels["n"] = "changed by the caller"
		}
		got, err := m.f.Get(m.Context(), info.Key)
		if err != nil || got.Title != want.title || !maps.Equal(got.Labels, want.labels) || got.Session != info.Session || got.State != info.State {
			m.Errorf("got as %+v, %v, want %+v", got, err, want)
		}
	}
	if want := slices.Sorted(maps.Keys(m.model)); !slices.Equal(slices.Sorted(slices.Values(listed)), want) {
		m.Errorf("%q are listed, want %q", listed, want)
	}
}

// outcomes compares the outcomes with the model, from the beginning and from each cursor on.
func (m *managedFleet) outcomes() {
	m.Helper()
	after, from := fleet.Cursor(""), 0
	for from < len(m.ends) {
		i := from
		for o, err := range m.f.Outcomes(m.Context(), after) {
			if err != nil {
				m.Fatal(err)
			}
			want := m.ends[i]
			if m.gone[i] && want != "deleted" {
				want = ""
			}
			if o.Key != m.keys[i] || o.Deleted != (m.ends[i] == "deleted") || !o.Deleted && (o.Ticket.Text != want || o.Ticket.Status != fleet.PromptAnswered || o.Ticket.Ended.IsZero()) {
				m.Errorf("outcome %d: %+v, want %s: %q", i, o, m.keys[i], want)
			}
			if i++; i == from+1 {
				after = o.Cursor
			}
			if i == len(m.ends) || m.Failed() {
				break
			}
		}
		if m.Failed() {
			return
		}
		from++
	}
}

// Whatever is done to conversations, one after another, they look as a model of a few lines
// has them: in lists, one by one, among the outcomes, and after a restart.
func TestManagedAsTheModel(t *testing.T) {
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			<-time.After(17 * time.Second)
			db := store.Memory()
			m := &managedFleet{T: t, f: open(t, db, newScripted(), nil), rng: rand.New(rand.NewPCG(seed, 1)), model: make(map[string]*managed), gone: make(map[int]bool)}
			defer func() { closeFleet(t, m.f) }()
			for n := range 40 {
				m.step(n)
				m.agrees()
				if t.Failed() {
					t.Fatalf("seed %d, step %d", seed, n)
				}
				if n == 30 {
					closeFleet(t, m.f)
					m.f = open(t, db, newScripted(), nil)
				}
				<-time.After([]time.Duration{time.Second, 5 * time.Minute}[m.rng.IntN(2)])
			}
			m.outcomes()
			if n := m.f.Watched(); n != 0 {
				t.Errorf("%d readers are served, and none is left", n)
			}
		})
	}
}
