package hook

import (
	"context"
	"testing"
)

// TestAllocations pins the cost of a call beyond the work of the hook.
func TestAllocations(t *testing.T) {
	const usual = `{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/repo","prompt_id":"p","permission_mode":"default","effort":{"level":"medium","new":1},"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/w","content":"x\n"},"tool_use_id":"toolu_1","tool_response":{"ok":true},"duration_ms":1.5,"new":[]}`
	h := PreToolUse("", func(context.Context, *PreToolUseInput) (*PreToolUseOutput, error) { return nil, nil })
	raw := []byte(usual)
	call := func() {
		out, err := h.Func(t.Context(), raw, "toolu_1")
		if err == nil {
			_, err = Encode(out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, call); n > 6 {
		t.Errorf("%v allocations for a call, want 6 at most", n)
	}
}
