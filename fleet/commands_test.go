package fleet_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/store"
)

// commanding is a CLI that announces slash commands.
func commanding(commands ...control.Command) *claudetest.CLI {
	return claudetest.NewCLI(&claudetest.Script{Options: host.Options{Info: control.Info{Commands: commands}}})
}

func commandsOf(t *testing.T, f fleet.Conversations, key string) (names []string) {
	t.Helper()
	commands, err := f.Commands(t.Context(), key)
	if err != nil {
		t.Errorf("the commands of %s: %v", key, err)
	}
	for _, c := range commands {
		names = append(names, c.Name)
	}
	return names
}

// The commands that a CLI has announced can be read while the conversation sleeps, and by
// a fleet that does not run it. The same commands are not written again, others replace
// them, and a deletion leaves nothing of them.
func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		review := control.Command{Name: "review", Description: "Reviews the code", ArgumentHint: "[file]", Aliases: []string{"r"}, Builtin: true}
		f := open(t, db, commanding(review, control.Command{Name: "hi"}), nil)
		if _, err := f.Commands(t.Context(), "ada"); !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("of an unknown conversation: %v", err)
		}
		if err := f.Describe(t.Context(), "ada", fleet.Description{Title: "new"}); err != nil {
			t.Fatal(err)
		}
		if got := commandsOf(t, f, "ada"); got != nil {
			t.Errorf("before the first CLI: %q", got)
		}
		ask(t, f, "ada", "hello")
		got, err := f.Commands(t.Context(), "ada")
		if err != nil || len(got) != 2 || got[0].Name != "review" || got[0].Description != review.Description || got[0].ArgumentHint != "[file]" || !slices.Equal(got[0].Aliases, review.Aliases) || !got[0].Builtin {
			t.Errorf("%+v, %v", got, err)
		}
		closeFleet(t, f)
		first := allRecords(t, db, "commands")

		f = open(t, db, commanding(review, control.Command{Name: "hi"}), nil)
		if got := commandsOf(t, f, "ada"); !slices.Equal(got, []string{"review", "hi"}) {
			t.Errorf("while it sleeps: %q", got)
		}
		before := revisionOf(t, db, "commands")
		ask(t, f, "ada", "again")
		if now := revisionOf(t, db, "commands"); now != before || !slices.Equal(first, allRecords(t, db, "commands")) {
			t.Errorf("the same commands were written again, as revision %d after %d", now, before)
		}
		closeFleet(t, f)

		f = open(t, db, commanding(control.Command{Name: "deploy"}), nil)
		ask(t, f, "ada", "again")
		if got := commandsOf(t, f, "ada"); !slices.Equal(got, []string{"deploy"}) {
			t.Errorf("after a change: %q", got)
		}
		closeFleet(t, f)

		f = open(t, db, commanding(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "again")
		if got := commandsOf(t, f, "ada"); got != nil {
			t.Errorf("of a CLI without commands: %q", got)
		}
		if err := f.Delete(t.Context(), "ada"); err != nil || len(allRecords(t, db, "commands")) != 0 {
			t.Errorf("Delete = %v, and left %q", err, allRecords(t, db, "commands"))
		}
	})
}

// revisionOf returns the revision of the only record of a kind.
func revisionOf(t *testing.T, db store.Fleet, kind string) (revision int64) {
	t.Helper()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		revision = r.Revision
	}
	return revision
}

// What is kept of commands is bounded, whatever a project names its own.
func TestCommandsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		many := make([]control.Command, 600)
		for i := range many {
			many[i].Name = "c"
		}
		long := []control.Command{{Name: strings.Repeat("n", 3000)}, {Name: "ü", Description: strings.Repeat("ü", 5000), ArgumentHint: strings.Repeat("h", 5000), Aliases: []string{"a", strings.Repeat("n", 3000)}}}
		var large []control.Command
		for range 400 {
			large = append(large, control.Command{Name: "l", Description: strings.Repeat("d", 1000)})
		}
		for name, c := range map[string]struct {
			announced []control.Command
			kept      int
		}{"many": {many, 500}, "long": {long, 1}, "large": {large, 130}} {
			f := open(t, store.Memory(), commanding(c.announced...), nil)
			ask(t, f, "ada", "hello")
			got, err := f.Commands(t.Context(), "ada")
			if err != nil || len(got) != c.kept {
				t.Errorf("%s: %d of %d are kept, want %d, %v", name, len(got), len(c.announced), c.kept, err)
			}
			if name == "long" && len(got) == 1 && (got[0].Description != strings.Repeat("ü", 1024) || len(got[0].ArgumentHint) != 2048 || !slices.Equal(got[0].Aliases, []string{"a"})) {
				t.Errorf("kept %d bytes of a description, %d of a hint, and %d aliases", len(got[0].Description), len(got[0].ArgumentHint), len(got[0].Aliases))
			}
			closeFleet(t, f)
		}
	})
}
