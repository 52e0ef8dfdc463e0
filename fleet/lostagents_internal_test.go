package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// replied is the line of an answer, which calls a tool if there is a call.
func replied(id, call string, minute int) string {
	content := `[{"type":"text","text":"x"}]`
	if call != "" {
		content = fmt.Sprintf(`[{"type":"tool_use","id":%q,"name":"Agent","input":{}}]`, call)
	}
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC).Format(time.RFC3339)
	return fmt.Sprintf(`{"type":"assistant","uuid":"line-%s","timestamp":%q,"message":{"id":%q,"role":"assistant","model":"m","content":%s,"usage":{"output_tokens":1}}}`, id, at, id, content)
}

// startedBy is the note about a subagent.
func startedBy(call, parent string) string {
	return fmt.Sprintf(`{"type":"agent_metadata","agentType":"x","toolUseId":%q,"parentAgentId":%q}`, call, parent)
}

// The answers of subagents that no result has reported are counted like those of the main
// conversation, and each once: all of an agent that an uncounted answer has started, and of
// any other those behind the mark.
func TestLostAnswersOfSubagents(t *testing.T) {
	at := func(minute int) time.Time { return time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC) }
	counted := []string{replied("m1", "c1", 1), replied("m2", "", 5)}
	for name, c := range map[string]struct {
		main   []string
		agents map[string][]string // their lines, by id
		mark   through
		want   string // the lost answers
	}{
		"an agent of a lost answer":       {append(slices.Clone(counted), replied("m3", "c3", 6)), map[string][]string{"a": {startedBy("c3", ""), replied("a1", "", 7), replied("a2", "", 8)}}, through{Answer: "m2", At: at(5)}, "m3 a1 a2"},
		"an agent of a counted one":       {append(slices.Clone(counted), replied("m3", "", 6)), map[string][]string{"a": {startedBy("c1", ""), replied("a1", "", 2), replied("a2", "", 3)}}, through{Answer: "m2", At: at(5)}, "m3"},
		"one that worked on":              {counted, map[string][]string{"a": {startedBy("c1", ""), replied("a1", "", 4), replied("a2", "", 5), replied("a3", "", 6), replied("a4", "", 7)}}, through{Answer: "m2", At: at(5), Agents: true}, "a3 a4"},
		"nothing behind the mark":         {counted, map[string][]string{"a": {startedBy("c1", ""), replied("a1", "", 4)}}, through{Answer: "m2", At: at(5)}, ""},
		"an agent of an agent":            {append(slices.Clone(counted), replied("m3", "c3", 6)), map[string][]string{"a": {startedBy("b1c", "b"), replied("a1", "", 3)}, "b": {startedBy("c3", ""), replied("b1", "b1c", 2)}}, through{Answer: "m2", At: at(5)}, "m3 a1 b1"},
		"an agent of a counted agent":     {append(slices.Clone(counted), replied("m3", "", 6)), map[string][]string{"a": {startedBy("b1c", "b"), replied("a1", "", 3)}, "b": {startedBy("c1", ""), replied("b1", "b1c", 2)}}, through{Answer: "m2", At: at(5)}, "m3"},
		"a copy of the main conversation": {append(slices.Clone(counted), replied("m3", "c3", 6)), map[string][]string{"a": {startedBy("c3", ""), counted[0], counted[1], replied("m3", "c3", 6), replied("a1", "", 7)}}, through{Answer: "m2", At: at(5)}, "m3 a1"},
		"an answer that two agents have":  {append(slices.Clone(counted), replied("m3", "c3", 6)), map[string][]string{"a": {startedBy("c3", ""), replied("a1", "", 7)}, "b": {startedBy("", "a"), replied("a1", "", 7), replied("b1", "", 8)}}, through{Answer: "m2", At: at(5)}, "m3 a1 b1"},
		"a call that was made once more":  {append(slices.Clone(counted), replied("m3", "c1", 6)), map[string][]string{"a": {startedBy("c1", ""), replied("a1", "", 2)}}, through{Answer: "m2", At: at(5)}, "m3"},
		"an agent that nobody knows":      {append(slices.Clone(counted), replied("m3", "", 6)), map[string][]string{"a": {replied("a1", "", 2), replied("a2", "", 9)}}, through{Answer: "m2", At: at(5)}, "m3 a2"},
		"a conversation without a mark":   {[]string{`{"type":"user","uuid":"prompt","message":{"role":"user","content":"x"}}`, replied("m1", "c1", 1)}, map[string][]string{"a": {startedBy("c1", ""), replied("a1", "", 2)}, "b": {startedBy("", ""), replied("b1", "", 3)}}, through{}, "m1 a1"},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			k := store.Key{Project: "p", Session: progressID(0)}
			put := func(k store.Key, lines []string) {
				t.Helper()
				var b store.Batch
				for _, line := range lines {
					b.Entries = append(b.Entries, store.Entry(line))
				}
				if err := db.Append(t.Context(), k, b); err != nil {
					t.Fatal(err)
				}
			}
			put(k, c.main)
			newest := c.mark.At
			for id, lines := range c.agents {
				put(store.Key{Project: k.Project, Session: k.Session, Sub: "subagents/agent-" + id}, lines)
			}
			for _, lines := range append(slices.Collect(maps.Values(c.agents)), c.main) {
				for _, line := range lines {
					if at := lineTime([]byte(line)); at.After(newest) {
						newest = at
					}
				}
			}
			h := newHouse(t.Context(), Options{Store: db, Project: "p", StoreTimeout: patient})

			lost, err := h.meter.lostAnswers(t.Context(), &record{Key: "ada", Session: k.Session, Through: c.mark}, "prompt")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			if lost != nil {
				for _, a := range lost.answers {
					got = append(got, a.id)
				}
				if !lost.to.At.Equal(newest) || lost.to.Agents {
					t.Errorf("the next mark is %+v, want %v", lost.to, newest)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("lost %q, want %s", got, c.want)
			}
		})
	}
}
