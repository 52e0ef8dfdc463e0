package history_test

import (
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// A session that another one continues is listed only if the other one is
// missing.
func TestContinuedSessions(t *testing.T) {
	next := func(id string) string {
		return `{"type":"continued-in","continuedInSessionId":"` + id + `"}` + "\n"
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"there":     {map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1") + next(sid(2)), sid(2) + ".jsonl": exchange(sid(2), "", "two", "2")}, "two"},
		"not there": {map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1") + next(sid(2))}, "one"},
		"itself":    {map[string]string{sid(1) + ".jsonl": exchange(sid(1), "", "one", "1") + next(sid(1))}, "one"},
	} {
		if got := titles(list(t, history.Disk(configWith(t, tt.files)), history.Query{})); got != tt.want {
			t.Errorf("%s: listed %q, want %q", name, got, tt.want)
		}
	}
}

// A session that names an odd successor is listed like any other, wherever it is, and does
// not end the list.
func TestOddSuccessor(t *testing.T) {
	for _, home := range homes() {
		t.Run(home.name, func(t *testing.T) {
			h, put := home.open(t)
			put(sid(1), "", exchange(sid(1), "", "one", "1")+`{"type":"continued-in","continuedInSessionId":"../elsewhere"}`+"\n")
			put(sid(2), "", exchange(sid(2), "", "two", "2"))
			if got := list(t, h, history.Query{}); len(got) != 2 {
				t.Errorf("listed %q", titles(got))
			}
		})
	}
}
