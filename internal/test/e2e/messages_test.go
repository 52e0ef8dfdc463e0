package e2e

import (
	"math"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
)

// TestRealHelpers follows two turns of the real CLI with the helpers of package
// message.
func TestRealHelpers(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "1.0.128", "PartialMessages")
	r := realCLI(t,
		claudetest.Think("hm", "I look.").With(claudetest.UseTool("Bash", map[string]string{"command": "echo hello", "description": "say hello"})),
		claudetest.Say("Done."), claudetest.Say("Again."))
	r.opts.PartialMessages = true
	r.opts.AllowedTools = []string{"Bash"}
	s := r.connect(t)
	var (
		draft    message.Draft
		calls    message.ToolCalls
		spending message.Spending
		texts    []string
		last     *message.Result
	)
	for _, prompt := range []string{"look", "again"} {
		for msg, err := range s.Run(t.Context(), prompt) {
			if err != nil {
				t.Fatal(err)
			}
			calls.Add(msg)
			spending.Add(msg)
			if draft.Add(msg) && draft.Done {
				texts = append(texts, draft.Text())
				for _, use := range draft.Content().ToolUses() {
					if use.Name != "Bash" || len(use.Input) == 0 {
						t.Errorf("drafted call %s %s", use.Name, use.Input)
					}
				}
			}
			if res, ok := msg.(*message.Result); ok {
				last = res
			}
		}
	}
	if len(texts) != 3 || texts[0] != "I look." || texts[1] != "Done." || texts[2] != "Again." {
		t.Errorf("drafts %q", texts)
	}
	if all := calls.All(); len(all) != 1 || all[0].Result == nil || all[0].Result.Content.Text() != "hello" || all[0].Agent != (message.Subagent{}) {
		t.Errorf("calls %+v", all)
	}
	if spending.Turns != 2 || last == nil || math.Abs(spending.TotalUSD-last.TotalCostUSD) > 1e-9 || spending.TurnUSD >= spending.TotalUSD || spending.TurnUSD <= 0 {
		t.Errorf("spent %+v", spending)
	}
}
