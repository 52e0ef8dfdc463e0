package fleet

import (
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// progressLine is the line number n of a session, which follows the one before it.
func progressLine(n int, what string) string {
	kind, body, more := "user", `"role":"user","content":"and then"`, ""
	switch what {
	case "takes":
		kind, more = "attachment", fmt.Sprintf(`"attachment":{"type":"queued_command","prompt":"and","source_uuid":%q},`, progressID(1000+n))
	case "says", "invents":
		model := "claude"
		if what == "invents" {
			model = syntheticModel
		}
		kind, body = "assistant", fmt.Sprintf(`"id":"m%d","role":"assistant","model":%q,"content":[{"type":"text","text":"x"}]`, n, model)
	case "calls":
		kind, body = "assistant", fmt.Sprintf(`"id":"m%d","role":"assistant","model":"claude","content":[{"type":"tool_use","id":"t%d","name":"Bash","input":{}}]`, n, n)
	case "returns":
		body = fmt.Sprintf(`"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":"x"}]`, n-1)
	case "continues":
		more = `"isMeta":true,`
	}
	return fmt.Sprintf(`{"type":%q,%s"uuid":%q,"parentUuid":%s,"sessionId":%q,"message":{%s}}`, kind, more, progressID(n), parentOf(n), progressID(0), body)
}

func progressID(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }

func parentOf(n int) string {
	if n == 1 {
		return "null"
	}
	return fmt.Sprintf("%q", progressID(n-1))
}

// The progress of a turn is its last message: neither an earlier one, nor one of another
// turn, nor what the CLI has made up itself.
func TestLastProgress(t *testing.T) {
	for name, c := range map[string]struct {
		lines  string // their kinds, in order
		prompt int    // the line that is the prompt
		want   int    // the line of the last progress, 0 for none
	}{
		"nothing yet":                       {"prompt", 1, 0},
		"an answer":                         {"prompt says", 1, 2},
		"several answers":                   {"prompt says says says", 1, 4},
		"a call":                            {"prompt says calls", 1, 3},
		"its result":                        {"prompt calls returns", 1, 3},
		"an answer behind a result":         {"prompt calls returns says", 1, 4},
		"results of several calls":          {"prompt calls returns calls returns", 1, 5},
		"an answer that the CLI made up":    {"prompt says invents", 1, 2},
		"nothing but such an answer":        {"prompt invents", 1, 0},
		"a turn that the CLI has continued": {"prompt calls returns continues", 1, 3},
		"a prompt that the turn took in":    {"prompt says takes says", 1, 4},
		"the turn before":                   {"prompt says prompt", 3, 0},
		"the turn before, and this one":     {"prompt calls returns prompt says", 4, 5},
		"the turn after":                    {"prompt says prompt calls returns", 1, 2},
		"nothing before the next turn":      {"prompt prompt says", 1, 0},
		"a prompt that is not there":        {"prompt says", 9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			var b store.Batch
			for i, what := range strings.Fields(c.lines) {
				b.Entries = append(b.Entries, store.Entry(progressLine(i+1, what)))
				if what == "takes" {
					b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":%q,"sessionId":%q}`, progressID(1001+i), progressID(0))))
				}
			}
			if err := db.Append(t.Context(), store.Key{Project: "p", Session: progressID(0)}, b); err != nil {
				t.Fatal(err)
			}
			tr, err := history.In(db, "p").Read(t.Context(), progressID(0))
			if err != nil {
				t.Fatal(err)
			}
			want := ""
			if c.want > 0 {
				want = progressID(c.want)
			}
			if got, err := lastProgress(t.Context(), tr, progressID(c.prompt)); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		})
	}
}
