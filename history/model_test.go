package history_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// modelSession is a session as a person would describe it.
type modelSession struct {
	title, first, last, tag, entrypoint string
	archived                            bool
	said                                []string
	agents                              int
}

// listed returns the session's entry in a list.
func (s *modelSession) listed(id string) string {
	return fmt.Sprintf("%s %q custom %q first %q tag %q archived %v %s", id, cmp.Or(s.title, s.last, s.first), s.title, s.first, s.tag, s.archived, s.entrypoint)
}

// Whatever is done to sessions in whatever order, each home agrees with the model.
func TestHistoryModel(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			seeds := uint64(2)
			if place.name == "files" {
				seeds = 1 // it syncs every change
			}
			for seed := range seeds {
				historyRun(t, place, seed)
			}
		})
	}
}

func historyRun(t *testing.T, place home, seed uint64) {
	ctx, random := t.Context(), rand.New(rand.NewPCG(seed, 5))
	h, put := place.open(t)
	model := make(map[string]*modelSession)
	gone := make(map[string]bool)
	var taken []string
	done := func(what string, got, want error) {
		t.Helper()
		taken = append(taken, fmt.Sprintf("%s: %v", what, want))
		if (got == nil) != (want == nil) || !errors.Is(got, want) {
			t.Fatalf("seed %d: %s: %v, want %v, after\n%s", seed, what, got, want, strings.Join(taken, "\n"))
		}
	}
	for n := range 60 {
		id := sid(1 + random.IntN(4))
		s := model[id]
		missing := history.ErrNotFound
		if s != nil {
			missing = nil
		}
		switch random.IntN(9) {
		case 0, 1:
			if s != nil || gone[id] {
				continue
			}
			s = &modelSession{first: fmt.Sprint("first ", n), entrypoint: []string{"cli", "sdk-go"}[random.IntN(2)]}
			text := strings.ReplaceAll(exchange(id, "", s.first, fmt.Sprint("answer ", n)), `"cli"`, `"`+s.entrypoint+`"`)
			s.said = []string{s.first, fmt.Sprint("answer ", n)}
			if random.IntN(2) == 0 {
				second := fmt.Sprint("second ", n)
				text += exchange(id, fmt.Sprint("a-answer ", n), second, fmt.Sprint("reply ", n))
				s.said = append(s.said, second, fmt.Sprint("reply ", n))
			}
			put(id, "", longIDs(text))
			if random.IntN(2) == 0 {
				s.agents = 1
				put(id, "abc", exchange(id, "", "look", "seen"))
			}
			model[id] = s
			taken = append(taken, "begin "+id)
		case 2:
			title := fmt.Sprint("title ", n)
			done("rename", h.Rename(ctx, id, " "+title+"\n"), missing)
			if s != nil {
				s.title = title
			}
		case 3:
			tag := []string{"blue", "red", ""}[random.IntN(3)]
			done("tag "+tag, h.Tag(ctx, id, tag), missing)
			if s != nil {
				s.tag = tag
			}
		case 4:
			done("archive", h.Archive(ctx, id), missing)
			if s != nil {
				s.archived = true
			}
		case 5:
			done("unarchive", h.Unarchive(ctx, id), missing)
			if s != nil {
				s.archived = false
			}
		case 6:
			removed, err := h.Delete(ctx, id)
			done("delete", err, missing)
			if s != nil && (len(removed.Paths) == 0 || removed.Files < 1+s.agents || removed.Bytes == 0) {
				t.Fatalf("seed %d: removed %+v", seed, removed)
			}
			gone[id] = gone[id] || s != nil
			delete(model, id)
		case 7, 8:
			to := sid(10 + n)
			want := missing
			if random.IntN(3) == 0 {
				if others := slices.Sorted(maps.Keys(model)); len(others) > 0 {
					to, want = others[0], fs.ErrExist
				}
			}
			_, err := h.Fork(ctx, id, history.ForkOptions{ID: to})
			done("fork", err, want)
			if want == nil {
				model[to] = &modelSession{title: cmp.Or(s.title, s.last, s.first) + " (fork)", first: s.first, entrypoint: s.entrypoint, said: s.said}
			}
		}
		compareHistory(t, h, model, func(format string, args ...any) {
			t.Helper()
			t.Fatalf("seed %d: "+format+"\nafter\n"+strings.Join(taken, "\n"), append([]any{seed}, args...)...)
		})
	}
}

var messageID = regexp.MustCompile(`"[qa]-[^"]*"`)

// longIDs gives the messages of exchange ids of the length that the CLI's have.
func longIDs(text string) string {
	return messageID.ReplaceAllStringFunc(text, func(id string) string {
		h := fnv.New32a()
		_, _ = h.Write([]byte(id)) // never fails
		return `"` + sid(int(h.Sum32())) + `"`
	})
}

// compareHistory compares all answers of a history with the model.
func compareHistory(t *testing.T, h *history.History, model map[string]*modelSession, fatal func(string, ...any)) {
	t.Helper()
	for _, q := range []history.Query{{}, {Tag: "blue"}, {Archived: history.ArchivedOnly}, {Archived: history.ArchivedExcluded, SkipProgrammatic: true}, {Limit: 2}, {Offset: 2}} {
		var got, want []string
		for _, info := range list(t, h, q) {
			got = append(got, fmt.Sprintf("%s %q custom %q first %q tag %q archived %v %s", info.ID, info.Title, info.CustomTitle, info.FirstPrompt, info.Tag, info.Archived, info.Entrypoint))
			if info.Dir != "/work" || info.Branch != "main" || info.Created.IsZero() || info.Modified.IsZero() {
				fatal("listed %+v", info)
			}
		}
		for id, s := range model {
			if (q.Tag == "" || s.tag == q.Tag) && (q.Archived == history.ArchivedIncluded || s.archived == (q.Archived == history.ArchivedOnly)) && (!q.SkipProgrammatic || s.entrypoint == "cli") {
				want = append(want, s.listed(id))
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if q.Limit > 0 || q.Offset > 0 { // which of them come first depends on the clock
			if n := max(0, len(want)-q.Offset); len(got) != n && len(got) != q.Limit || slices.ContainsFunc(got, func(g string) bool { return !slices.Contains(want, g) }) {
				fatal("%+v: %q of %q", q, got, want)
			}
			continue
		}
		if !slices.Equal(got, want) {
			fatal("%+v:\n%s\nwant\n%s", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for id, s := range model {
		tr, err := h.Read(t.Context(), id)
		if err != nil || tr.ID != id || tr.Len() != len(s.said) || tr.Prompts() != len(s.said)/2 || tr.Skipped != 0 {
			fatal("Read %s: %+v, %v", id, tr, err)
		}
		if got := spoken(t, tr); !slices.Equal(got, s.said) {
			fatal("%s: %q, want %q", id, got, s.said)
		}
		agents, err := tr.Subagents(t.Context())
		if err != nil || len(agents) != s.agents {
			fatal("%s: %d subagents, %v, want %d", id, len(agents), err, s.agents)
		}
	}
}

// spoken returns the texts of a conversation.
func spoken(t *testing.T, tr *history.Transcript) (all []string) {
	t.Helper()
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.Message.(type) {
		case *message.User:
			all = append(all, m.Text())
		case *message.Assistant:
			all = append(all, m.Text())
		}
	}
	return all
}

// A method whose context has ended returns its error, and changes nothing.
func TestEndedContexts(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", exchange(sid(1), "", "one", "1"))
			put(sid(1), "abc", exchange(sid(1), "", "look", "seen"))
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			because := errors.New("enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(because)
			for name, do := range map[string]func() error{
				"Rename":    func() error { return h.Rename(ctx, sid(1), "x") },
				"Tag":       func() error { return h.Tag(ctx, sid(1), "x") },
				"Archive":   func() error { return h.Archive(ctx, sid(1)) },
				"Unarchive": func() error { return h.Unarchive(ctx, sid(1)) },
				"Delete":    func() error { _, err := h.Delete(ctx, sid(1)); return err },
				"Info":      func() error { _, err := h.Info(ctx, sid(1)); return err },
				"Read":      func() error { _, err := h.Read(ctx, sid(1)); return err },
				"Fork":      func() error { _, err := h.Fork(ctx, sid(1), history.ForkOptions{}); return err },
				"Fork to":   func() error { _, err := h.Fork(ctx, sid(1), history.ForkOptions{ID: sid(9)}); return err },
				"Subagents": func() error { _, err := tr.Subagents(ctx); return err },
				"Subagent":  func() error { _, err := tr.Subagent(ctx, "abc"); return err },
				"Entries": func() (last error) {
					for _, err := range tr.Entries(ctx) {
						last = err
					}
					return last
				},
				"Messages": func() (last error) {
					for _, err := range tr.Messages(ctx, history.Page{}) {
						last = err
					}
					return last
				},
				"List": func() (last error) {
					for _, err := range h.List(ctx, history.Query{}) {
						last = err
					}
					return last
				},
			} {
				if err := do(); !errors.Is(err, because) && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", name, err)
				}
			}
			got := list(t, h, history.Query{})
			if len(got) != 1 || got[0].Title != "one" || got[0].Tag != "" || got[0].Archived {
				t.Errorf("changed: %+v", got)
			}
		})
	}
}

// Errors name the session that they are about.
func TestErrorsNameTheSession(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", exchange(sid(1), "", "one", "1"))
			for _, id := range []string{sid(7), "no-id"} {
				_, infoErr := h.Info(t.Context(), id)
				_, readErr := h.Read(t.Context(), id)
				_, forkErr := h.Fork(t.Context(), id, history.ForkOptions{})
				_, deleteErr := h.Delete(t.Context(), id)
				for i, err := range []error{infoErr, readErr, forkErr, deleteErr, h.Rename(t.Context(), id, "x"), h.Archive(t.Context(), id)} {
					if err == nil || !strings.Contains(err.Error(), id) || !strings.HasPrefix(err.Error(), "claude: history: ") {
						t.Errorf("method %d: %v", i, err)
					}
				}
			}
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tr.Subagent(t.Context(), "xyz"); err == nil || !strings.Contains(err.Error(), sid(1)) || !strings.Contains(err.Error(), `"xyz"`) {
				t.Errorf("Subagent: %v", err)
			}
			if _, err := h.Delete(t.Context(), sid(1)); err != nil {
				t.Fatal(err)
			}
			if place.name != "disk" {
				return // what was loaded stays in memory
			}
			for _, err := range tr.Entries(t.Context()) {
				if !errors.Is(err, history.ErrNotFound) || !strings.Contains(err.Error(), sid(1)) {
					t.Errorf("Entries: %v", err)
				}
			}
		})
	}
}

func TestPromptStates(t *testing.T) {
	for s, want := range map[history.PromptState]string{
		history.PromptUnseen: "unseen", history.PromptAnswered: "answered", history.PromptDeferred: "deferred", history.PromptCut: "cut", -1: "PromptState(-1)", 4: "PromptState(4)",
	} {
		if s.String() != want {
			t.Errorf("%d is %q", int(s), s)
		}
	}
}
