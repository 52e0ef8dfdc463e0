package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

// A person may edit only an input that the page shows unchanged. The form would send back what
// it shows: the rest of a long input, and characters that are not shown, would change unseen.
func TestEditOnlyWhatIsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		kind    api.ApprovalKind
		want    bool
	}{
		"short":                   {"make clean", api.KindTool, true},
		"too long to show":        {strings.Repeat("x", 2*maxText), api.KindTool, false},
		"an escape":               {"make \x1b[2Kclean", api.KindTool, true}, // JSON spells it
		"a right-to-left mark":    {"make \u202eclean", api.KindTool, false},
		"a character of no width": {"make\u200b clean", api.KindTool, false},
		"a plan":                  {"make clean", api.KindPlan, false},
	} {
		input, err := json.Marshal(map[string]string{"command": c.command})
		if err != nil {
			t.Fatal(err)
		}
		a := api.Approval{ID: "1", Kind: c.kind, Tool: "Bash", Input: input}
		got := newCard(&a, api.User{}, "where", "/").Edit
		if (got != "") != c.want || got != "" && got != pretty(input) {
			t.Errorf("%s: the form has %q", name, got)
		}
	}
}
