package transcript

import (
	"strings"
	"testing"
)

// The summary that a compaction in mid-turn leaves is not the next prompt: the turn
// continues behind it.
func TestSummaryInMidTurn(t *testing.T) {
	const summary = ` raw:{"uuid":"s","parentUuid":"r","timestamp":"2026-01-01T00:00:03.000Z","isCompactSummary":true,"type":"user","message":{"role":"user","content":"summary"}} `
	for name, tt := range map[string]struct {
		behind string
		want   PromptState
		open   string
	}{
		"answered behind it":           {"said:a<s", Answered, ""},
		"a call behind it is open":     {"call:b<s!m2+t2", Cut, "t2"},
		"a call behind it was put off": {"call:b<s!m2+t2 wait:w<b+t2", Deferred, "t2"},
		"the next prompt ends it":      {"said:a<s user:q<a call:d<q!m3+t3", Answered, ""},
		"nothing behind it":            {"", Cut, ""},
	} {
		x := index(t, write("user:p call:c<p!m1+t1 done:r<c+t1"+summary+tt.behind))
		got, open := x.PromptState(x.Conversation(), "p")
		if got != tt.want || strings.Join(open, " ") != tt.open {
			t.Errorf("%s: %v %q, want %v %q", name, got, open, tt.want, tt.open)
		}
	}
}
