package permission

import "testing"

const usualRequest = `{"subtype":"can_use_tool","tool_name":"Write","display_name":"Write","input":{"file_path":"/repo/w.txt","content":"Hello"},"description":"w.txt","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"behavior":"allow","destination":"session"},{"type":"addDirectories","directories":["/a"],"destination":"session"}],"blocked_path":null,"tool_use_id":"toolu_1","new":[1]}`

// TestAllocations pins the cost of a question and its answer.
func TestAllocations(t *testing.T) {
	raw := []byte(usualRequest)
	if n := testing.AllocsPerRun(100, func() { new(Request).UnmarshalJSON(raw) }); n > 14 {
		t.Errorf("%v allocations for a request, want 14 at most", n)
	}
	req := new(Request)
	if err := req.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { Allow().Reply(req) }); n > 1 {
		t.Errorf("%v allocations for an answer, want 1", n)
	}
}

func BenchmarkRequest(b *testing.B) {
	raw := []byte(usualRequest)
	for b.Loop() {
		new(Request).UnmarshalJSON(raw)
	}
}
