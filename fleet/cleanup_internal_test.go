package fleet

import (
	"fmt"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// The log of outcomes is kept for as long as the outcomes are, and for 30 days if they are
// kept forever.
func TestLogKept(t *testing.T) {
	const day = 24 * time.Hour
	for _, test := range []struct{ keep, log time.Duration }{{time.Hour, time.Hour}, {90 * day, 90 * day}, {KeepForever, 30 * day}} {
		f := assemble(t.Context(), Options{Store: store.Memory(), Project: "p", StoreTimeout: patient, Keep: test.keep})
		ended := time.Unix(1e9, 0)
		for n := range 65 { // more than a page: the last one always stays
			name := fmt.Sprintf("c/ada/%d", n)
			mark, err := f.log.Mark(name, outcomelog.Entry{Key: "ada", Prompt: fmt.Sprint(n), Status: string(PromptAnswered), At: ended}, store.Fence{})
			if err != nil {
				t.Fatal(err)
			}
			if err := f.log.PutMark(t.Context(), mark, store.Fence{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, look := range []struct {
			age   time.Duration
			begin int64
		}{{test.log, 0}, {test.log + time.Second, 64}} {
			if err := f.janitor.trimLog(t.Context(), ended.Add(look.age)); err != nil {
				t.Fatal(err)
			}
			if at, err := f.log.Begin(t.Context()); err != nil || at != look.begin {
				t.Errorf("Keep is %v: after %v the log begins at %d, want %d (%v)", test.keep, look.age, at, look.begin, err)
			}
		}
	}
}
