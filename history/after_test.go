package history_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/store"
)

// paged lists all sessions, page by page.
func paged(t *testing.T, h *history.History, q history.Query) (all []history.SessionInfo) {
	t.Helper()
	for {
		page := list(t, h, q)
		all = append(all, page...)
		if len(page) < q.Limit {
			return all
		}
		q.After = page[len(page)-1].Position()
	}
}

// simultaneous is a store whose sessions were all modified at the same moment. Their
// order is its own.
type simultaneous struct{ store.Transcripts }

func (s simultaneous) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return func(yield func(store.Summary, error) bool) {
		for sum, err := range s.Transcripts.List(ctx, project) {
			if sum.Modified = time.Unix(1, 0); !yield(sum, err) {
				return
			}
		}
	}
}

// The pages of a listing are the listing, whatever its sessions have in common.
func TestListPages(t *testing.T) {
	places := append(homes(), home{"simultaneous", func(t *testing.T) (*history.History, func(session, sub, text string)) {
		return inStore(t, simultaneous{store.Memory()})
	}})
	for _, place := range places {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			for i := range 7 {
				put(sid(i+1), "", exchange(sid(i+1), "", fmt.Sprint("question-", i), "yes"))
			}
			whole := list(t, h, history.Query{})
			for limit := 1; limit <= 8; limit++ {
				if got := titles(paged(t, h, history.Query{Limit: limit})); got != titles(whole) || len(whole) != 7 {
					t.Errorf("in pages of %d: %s, want %s", limit, got, titles(whole))
				}
			}
			if _, err := h.Delete(t.Context(), whole[2].ID); err != nil {
				t.Fatal(err)
			}
			rest := titles(list(t, h, history.Query{After: whole[2].Position()}))
			if want := titles(whole[3:]); !strings.HasSuffix(rest, want) {
				t.Errorf("after a session that is gone: %s, want %s", rest, want)
			}
		})
	}
}

// A session with a copy in another directory is on one page only.
func TestListPagesOfCopies(t *testing.T) {
	h := history.Disk(configWith(t, map[string]string{
		"projects//-other//" + sid(1) + ".jsonl": exchange(sid(1), "", "copied", "1"), // the newest
		sid(1) + ".jsonl":                        exchange(sid(1), "", "one", "1"),
		sid(2) + ".jsonl":                        exchange(sid(2), "", "two", "2"),
	}))
	whole := titles(list(t, h, history.Query{}))
	if got := titles(paged(t, h, history.Query{Limit: 1})); got != whole || strings.Count(got, " ") != 1 {
		t.Errorf("in pages %q, want %q", got, whole)
	}
}

// A copy that has nothing to show hides no other one, on any page. One that a query does
// not want does: it is the session's newest state.
func TestListPagesOfHiddenCopies(t *testing.T) {
	for _, c := range []struct{ name, newest, archived, want string }{
		{"nothing to show", `{"type":"summary","summary":""}` + "\n", "", "two one"},
		{"damaged", "{\n", "", "two one"},
		{"archived", exchange(sid(1), "", "newest", "1"), `{"archived":true,"at":"2026-02-01T00:00:00Z","by":"sdk"}`, "two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			newest := "projects//-other//" + sid(1)
			h := history.Disk(configWith(t, map[string]string{
				newest + ".jsonl": c.newest, newest + "//archived.json": c.archived,
				sid(2) + ".jsonl": exchange(sid(2), "", "two", "2"),
				sid(1) + ".jsonl": exchange(sid(1), "", "one", "1"),
			}))
			q := history.Query{Archived: history.ArchivedExcluded}
			if got := titles(list(t, h, q)); got != c.want {
				t.Errorf("at once %q, want %q", got, c.want)
			}
			q.Limit = 1
			if got := titles(paged(t, h, q)); got != c.want {
				t.Errorf("in pages %q, want %q", got, c.want)
			}
		})
	}
}

// The last page costs no more than the first: what is before it is not read.
func TestListPagesReadOnce(t *testing.T) {
	files := make(map[string]string)
	for i := range 300 {
		files[sid(i)+".jsonl"] = exchange(sid(i), "", fmt.Sprint("question-", i), "yes")
	}
	h := history.Disk(configWith(t, files))
	whole := list(t, h, history.Query{})
	cost := func(after history.Position) float64 {
		return testing.AllocsPerRun(3, func() {
			if n := len(list(t, h, history.Query{Limit: 5, After: after})); n != 5 {
				t.Errorf("%d sessions, want 5", n)
			}
		})
	}
	if first, last := cost(history.Position{}), cost(whole[len(whole)-6].Position()); last > 1.2*first {
		t.Errorf("the last page takes %.0f allocations, the first %.0f", last, first)
	}
}
