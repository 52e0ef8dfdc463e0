package history_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// A copy can go into a store, wherever the original is. It equals a copy beside
// the original, where nothing appears.
func TestForkInto(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	const text = `{"type":"user","uuid":"10000000-0000-4000-8000-000000000001","parentUuid":null,"sessionId":"` + id + `","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hello"}}
{"type":"assistant","uuid":"20000000-0000-4000-8000-000000000001","parentUuid":"10000000-0000-4000-8000-000000000001","sessionId":"` + id + `","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"Hi"}]}}
`
	for _, home := range homes() {
		t.Run(home.name, func(t *testing.T) {
			h, put := home.open(t)
			put(id, "", text)
			into := history.In(store.Memory(), "copies")
			fork, err := h.Fork(t.Context(), id, history.ForkOptions{Into: into})
			if err != nil {
				t.Fatal(err)
			}
			tr, err := into.Read(t.Context(), fork)
			if err != nil || tr.Len() != 2 {
				t.Fatalf("%+v, %v", tr, err)
			}
			if info, err := into.Info(t.Context(), fork); err != nil || info.Title != "Hello (fork)" {
				t.Errorf("%+v, %v", info, err)
			}
			for info, err := range h.List(t.Context(), history.Query{}) {
				if err != nil || info.ID != id {
					t.Errorf("there is also %+v, %v", info, err)
				}
			}
			if _, err := h.Fork(t.Context(), id, history.ForkOptions{Into: into, ID: fork}); !errors.Is(err, fs.ErrExist) {
				t.Errorf("into a session that is there: %v", err)
			}
			if tr, err := into.Read(t.Context(), fork); err != nil || tr.Len() != 2 {
				t.Errorf("the session that was there: %+v, %v", tr, err)
			}
			if _, err := h.Fork(t.Context(), id, history.ForkOptions{Into: history.Disk(t.TempDir())}); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("into another disk: %v", err)
			}
			if _, err := h.Fork(t.Context(), id, history.ForkOptions{Into: into, UpTo: "none"}); !errors.Is(err, history.ErrNotFound) {
				t.Errorf("up to a message that is not there: %v", err)
			}
		})
	}
}
