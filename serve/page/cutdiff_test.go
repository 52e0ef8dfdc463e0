package page

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/edit"
	"github.com/claude-agent-go/claude/serve/api"
)

// A card warns if its diff is not whole, wherever it was cut: a short call can change
// every line of a long file.
func TestCutDiff(t *testing.T) {
	t.Parallel()
	before := strings.Repeat("a line\n", 40_000)
	after := strings.ReplaceAll(before, "a", "the")
	for name, c := range map[string]struct {
		diff string
		want bool
	}{
		"whole":           {edit.Unified("/a", "a\n", "b\n", 1<<20), false},
		"cut when asked":  {edit.Unified("/a", before, after, 4<<10), true},
		"at the limit":    {edit.Unified("/a", before, after, 128<<10), true},
		"cut by the page": {edit.Unified("/a", before, after, 1<<20), true},
	} {
		a := api.Approval{ID: "1", Kind: api.KindTool, Tool: "Edit", Diff: c.diff, Input: json.RawMessage(`{"file_path":"/a","old_string":"a","new_string":"the","replace_all":true}`)}
		if got := newCard(&a, api.User{}, "where", "/"); got.Diff == nil || got.Cut != c.want {
			t.Errorf("%s: the card says %v of %d bytes", name, got.Cut, len(c.diff))
		}
	}
}
