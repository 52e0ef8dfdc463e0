package approval_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// transcriptLine is a line of a transcript, with the uuid "u" and its number.
func transcriptLine(kind, content string, n int) store.Entry {
	parent := "null"
	if n > 1 {
		parent = fmt.Sprintf(`"u%d"`, n-1)
	}
	return store.Entry(fmt.Sprintf(`{"type":%q,"uuid":"u%d","parentUuid":%s,"cwd":"/repo","version":"2.1.325","message":{"id":"m%d","role":%q,"content":%s}}`, kind, n, parent, n, kind, content))
}

// A question becomes a deferral if the transcript breaks off at its call, and
// only then.
func TestRecover(t *testing.T) {
	key := store.Key{Project: "p", Session: "00000000-0000-4000-8000-0000000000aa"}
	prompt := transcriptLine("user", `"build it"`, 1)
	use := transcriptLine("assistant", `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]`, 2)
	result := transcriptLine("user", `[{"type":"tool_result","tool_use_id":"toolu_1","content":"x"}]`, 3)
	for name, c := range map[string]struct {
		lines   []store.Entry
		before  func(*testing.T, *approval.Questions, approval.Question)
		holds   bool
		want    error
		markers int
	}{
		"waits":           {[]store.Entry{prompt, use}, nil, false, nil, 1},
		"decided":         {[]store.Entry{prompt, use}, always(permission.Allow()), false, nil, 1},
		"has a result":    {[]store.Entry{prompt, use, result}, nil, false, approval.ErrNotWaiting, 0},
		"next prompt":     {[]store.Entry{prompt, use, transcriptLine("user", `"hello?"`, 3)}, nil, false, approval.ErrNotWaiting, 0},
		"next answer":     {[]store.Entry{prompt, use, transcriptLine("assistant", `[{"type":"text","text":"x"}]`, 3)}, nil, false, approval.ErrNotWaiting, 0},
		"no such call":    {[]store.Entry{prompt}, nil, false, approval.ErrNotWaiting, 0},
		"holds a process": {[]store.Entry{prompt, use}, nil, true, approval.ErrNotWaiting, 0},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			in := approval.NewQuestions(db, "p")
			if err := db.Append(t.Context(), key, store.Batch{ID: "1", Entries: c.lines}); err != nil {
				t.Fatal(err)
			}
			asked := question("toolu_1")
			asked.HoldsProcess = c.holds
			q := ask(t, in, asked)
			if c.before != nil {
				c.before(t, in, q)
			}
			for range 2 { // the second time changes nothing
				got, err := in.Recover(t.Context(), db, key, q.ID, store.Fence{})
				if !errors.Is(err, c.want) || c.want == nil && (err != nil || !got.Deferred) {
					t.Errorf("%+v, %v", got, err)
				}
			}
			markers := 0
			for e, err := range store.Entries(t.Context(), db, key) {
				if err != nil {
					t.Fatal(err)
				}
				if text := string(e); strings.Contains(text, "hook_deferred_tool") {
					markers++
					for _, part := range []string{`"toolUseID":"toolu_1"`, `"parentUuid":"u2"`, `"version":"2.1.325"`, `"toolInput":` + string(q.Input)} {
						if !strings.Contains(text, part) {
							t.Errorf("the marker lacks %s: %s", part, text)
						}
					}
				}
			}
			if markers != c.markers {
				t.Errorf("%d markers", markers)
			}
		})
	}
}

func TestRecoverWhatCannotBe(t *testing.T) {
	db := store.Memory()
	in := approval.NewQuestions(db, "p")
	key := store.Key{Project: "p", Session: "00000000-0000-4000-8000-0000000000aa"}
	q := ask(t, in, question("toolu_1"))
	if _, err := in.Recover(t.Context(), db, key, q.ID, store.Fence{}); !errors.Is(err, store.ErrNotFound) && !errors.Is(err, approval.ErrNotWaiting) {
		t.Errorf("without a transcript: %v", err)
	}
	steps(decide(allow), release)(t, in, q)
	if _, err := in.Recover(t.Context(), db, key, q.ID, store.Fence{}); err == nil {
		t.Error("a call that was released is deferred")
	} else if e, ok := errors.AsType[*approval.StateError](err); !ok || e.State != approval.StateReleased {
		t.Errorf("released: %v", err)
	}
	if _, err := in.Recover(t.Context(), db, key, "nothing", store.Fence{}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such question: %v", err)
	}
}
