package fleet_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// With the real CLI, the first words of a conversation that was prewarmed come sooner than
// those of one that sleeps.
func TestRealPrewarm(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a fleet")
	cli, mark := realcli.Need(t, realcli.Tested()), leak.Processes(t)
	model := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply { return claudetest.Say("noted") })
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, base)
	dir := t.TempDir()
	f := open(t, store.Memory(), nil, func(o *fleet.Options) {
		o.IdleAfter = 2 * time.Second
		o.Session = func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{CLIPath: cli, Cwd: dir, Env: append(slices.Clone(env), mark), Logger: slog.New(slog.DiscardHandler), PartialMessages: true}, nil
		}
	})
	defer closeFleet(t, f)
	ask(t, f, "ada", "hello")
	took := make(map[bool][]time.Duration)
	for round := range 6 {
		prewarmed := round%2 == 1
		for state := fleet.StateAwake; state != fleet.StateAsleep; <-time.After(20 * time.Millisecond) {
			info, err := f.Get(t.Context(), "ada")
			if err != nil {
				t.Fatal(err)
			}
			state = info.State
		}
		if prewarmed {
			if err := f.Prewarm(t.Context(), "ada"); err != nil {
				t.Fatal(err)
			}
		}
		begin := time.Now()
		took[prewarmed] = append(took[prewarmed], firstWord(t, f, begin))
	}
	for _, all := range took {
		slices.Sort(all)
	}
	sleeping, prewarmed := took[false][1], took[true][1]
	t.Logf("time to the first word, median of 3: asleep %v, prewarmed %v", sleeping.Round(time.Millisecond), prewarmed.Round(time.Millisecond))
	if prewarmed >= sleeping {
		t.Errorf("prewarmed %v, asleep %v", took[true], took[false])
	}
}

// firstWord sends a prompt, and returns how long its first text took.
func firstWord(t *testing.T, f *fleet.Fleet, begin time.Time) (took time.Duration) {
	t.Helper()
	for m, err := range f.Run(t.Context(), "ada", "more") {
		if err != nil {
			t.Fatal(err)
		}
		if _, said := m.(*message.Assistant); said && took == 0 {
			took = time.Since(begin)
		}
	}
	if took == 0 {
		t.Fatal("nothing was said")
	}
	return took
}
