package history_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// A copy ends before a call that was deferred, wherever the original is and wherever the
// copy goes, unless the caller asks for the call.
func TestForkEndsBeforeADeferredCall(t *testing.T) {
	const id = "00000000-0000-4000-8000-0000000000ab"
	line := func(n int, kind, rest string) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf("%q", sid(n-1))
		}
		return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,"uuid":%q,"sessionId":%q,"cwd":"/work",%s}`+"\n", parent, kind, sid(n), id, rest)
	}
	text := line(1, "user", `"message":{"role":"user","content":"hello"}`) +
		line(2, "assistant", `"message":{"id":"m-1","role":"assistant","model":"m","content":[{"type":"text","text":"hi"}]}`) +
		line(3, "assistant", `"message":{"id":"m-2","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]}`) +
		line(4, "attachment", `"attachment":{"type":"hook_deferred_tool","toolUseID":"toolu_1","toolName":"Bash","toolInput":{}}`)
	for _, home := range homes() {
		t.Run(home.name, func(t *testing.T) {
			h, put := home.open(t)
			put(id, "", text)
			for _, into := range []*history.History{nil, history.In(store.Memory(), "copies")} {
				for keep, want := range map[bool]int{false: 2, true: 3} {
					fork, err := h.Fork(t.Context(), id, history.ForkOptions{KeepDeferred: keep, Into: into})
					if err != nil {
						t.Fatal(err)
					}
					from := h
					if into != nil {
						from = into
					}
					tr, err := from.Read(t.Context(), fork)
					if err != nil || tr.Len() != want {
						t.Errorf("KeepDeferred %v: the copy has %d messages, %v; want %d", keep, tr.Len(), err, want)
					}
				}
			}
		})
	}
}
