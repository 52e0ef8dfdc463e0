package e2e

import (
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The CLI has a catalogue of its events. The table of package hook has the same
// ones, with matchers where the CLI has them.
func TestRealEventCatalog(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "the list of hooks")
	r := realCLI(t, claudetest.Say("one"))
	s := r.connect(t)
	listing, err := s.Settings().Hooks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[hook.Event]bool)
	for _, e := range listing.Catalog {
		info, known := hook.Event(e.Name).Info()
		if !known {
			t.Errorf("the CLI has the event %s: %s", e.Name, e.Summary)
			continue
		}
		seen[info.Event] = true
		if e.SupportsMatcher != (info.Subject != "") {
			t.Errorf("%s: the CLI has matchers = %v, the table says %q", e.Name, e.SupportsMatcher, info.Subject)
		}
	}
	for _, info := range hook.Events() {
		if !seen[info.Event] {
			t.Errorf("the CLI does not have the event %s", info.Event)
		}
	}
}
