package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// kinds is a conversation with lines of each kind: a call with its result, system lines of
// the conversation and of a subagent, and the cost of the session.
func kinds(id string) string {
	line := func(n int, kind, more string) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf("%q", sid(1000+n-1))
		}
		return fmt.Sprintf(`{"parentUuid":%s,"type":%q,"uuid":%q,"sessionId":%q,"cwd":"/work","gitBranch":"main","entrypoint":"cli","timestamp":"2026-01-01T00:00:%02d.000Z",%s}`+"\n", parent, kind, sid(1000+n), id, n, more)
	}
	return line(1, "user", `"isSidechain":false,"message":{"role":"user","content":"build"}`) +
		line(2, "assistant", `"isSidechain":false,"message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"command":"make"}}]}`) +
		line(3, "user", `"isSidechain":false,"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"built"}]}`) +
		line(4, "system", `"isSidechain":false,"subtype":"informational","content":"a note"`) +
		line(5, "assistant", `"isSidechain":false,"message":{"id":"m2","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Done."}]}`) +
		line(6, "user", `"isSidechain":false,"message":{"role":"user","content":"thanks"}`) +
		line(7, "assistant", `"isSidechain":false,"message":{"id":"m3","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"Welcome."}]}`) +
		`{"type":"cost-state","totalCostUSD":0.25,"sessionId":"` + id + `"}` + "\n"
}

// Results of tools are messages but not prompts, system lines are shown to those who ask,
// and a list knows the cost.
func TestKindsOfLines(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", kinds(sid(1)))
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil || tr.Len() != 6 || tr.Prompts() != 2 {
				t.Fatalf("%d messages, %d prompts, %v", tr.Len(), tr.Prompts(), err)
			}
			shown := func(p history.Page) (ids []string) {
				for m, err := range tr.Messages(t.Context(), p) {
					if err != nil {
						t.Fatal(err)
					}
					if m.Time.IsZero() || m.Summary || m.MidTurn || (m.Entry != nil) != p.Entries {
						t.Errorf("%+v", m)
					}
					ids = append(ids, strings.TrimLeft(m.UUID[24:], "0"))
				}
				return ids
			}
			for want, p := range map[string]history.Page{
				"1001 1002 1003 1005 1006 1007":      {},
				"1001 1002 1003 1004 1005 1006 1007": {System: true, Entries: true},
				"1003 1004":                          {System: true, Offset: 2, Limit: 2},
				"1005":                               {Offset: 3, Limit: 1},
				"1007":                               {Offset: 5, Limit: 9},
			} {
				if got := strings.Join(shown(p), " "); got != want {
					t.Errorf("%+v: %s, want %s", p, got, want)
				}
			}
			entries := 0
			for line, err := range tr.Entries(t.Context()) {
				if entries++; err != nil || !strings.Contains(kinds(sid(1)), string(line)+"\n") {
					t.Errorf("%s, %v", line, err)
				}
			}
			if entries != 7 {
				t.Errorf("%d entries", entries)
			}
			for _, prompt := range []int{1001, 1006} {
				if s, open := tr.PromptState(sid(prompt)); s != history.PromptAnswered || len(open) > 0 {
					t.Errorf("prompt %d is %v, open %q", prompt, s, open)
				}
			}
			if s, _ := tr.PromptState(sid(9)); s != history.PromptUnseen {
				t.Errorf("another prompt is %v", s)
			}
			infos := list(t, h, history.Query{})
			one, err := h.Info(t.Context(), sid(1))
			for _, info := range append(infos, one) {
				if err != nil || info.CostUSD != 0.25 || info.FirstPrompt != "build" || info.Created.Second() != 1 {
					t.Errorf("%+v, %v", info, err)
				}
			}
		})
	}
}

// A fork up to a message has everything up to it and nothing behind; its ids are new, and
// it names itself. The original stays unchanged, byte for byte.
func TestForkIsACopy(t *testing.T) {
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", kinds(sid(1)))
			before := lines(t, h, sid(1))
			for upTo, want := range map[int]int{0: 7, 1003: 3, 1005: 5, 1006: 6, 1007: 7} {
				o := history.ForkOptions{}
				if upTo > 0 {
					o.UpTo = sid(upTo)
				}
				fork, err := h.Fork(t.Context(), sid(1), o)
				if err != nil {
					t.Fatal(err)
				}
				got := lines(t, h, fork)
				if len(got) != want {
					t.Errorf("up to %d: %d lines, want %d", upTo, len(got), want)
				}
				for i, line := range got {
					origin := `"forkedFrom":{"sessionId":"` + sid(1) + `","messageUuid":"` + sid(1001+i) + `"}`
					if !strings.Contains(line, `,"sessionId":"`+fork) || strings.Contains(line, `,"uuid":"`+sid(1001+i)) || !strings.Contains(line, origin) || strings.Contains(line, `"2026-01-01`) != (i < want-1) {
						t.Errorf("line %d of the fork: %s", i, line)
					}
				}
			}
			if _, err := h.Fork(t.Context(), sid(1), history.ForkOptions{UpTo: sid(77)}); !errors.Is(err, history.ErrNotFound) || !strings.Contains(err.Error(), sid(77)) {
				t.Errorf("up to nothing: %v", err)
			}
			if after := lines(t, h, sid(1)); !slices.Equal(before, after) {
				t.Errorf("the original was changed")
			}
		})
	}
}

func lines(t *testing.T, h *history.History, id string) (all []string) {
	t.Helper()
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for line, err := range tr.Entries(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(line))
	}
	return all
}

// A list takes its entry for a long session from both ends of the file: the first prompt
// and the directory from the beginning; title, tag, cost and the last prompt from the end.
func TestListOfLongSessions(t *testing.T) {
	middle := strings.Repeat(`{"type":"mode","mode":"`+strings.Repeat("x", 1000)+`"}`+"\n", 300)
	late := strings.NewReplacer("2026-01-01", "2026-03-01", "q-two", sid(103), "a-2", sid(104)).Replace(exchange(sid(1), sid(102), "two", "2"))
	text := lengthened(exchange(sid(1), "", "one", "1")) + middle + late + `{"type":"tag","tag":"blue","sessionId":"` + sid(1) + `"}` + "\n" + `{"type":"cost-state","totalCostUSD":1.5}` + "\n"
	for at, archived := range map[string]bool{"2026-02-01": false, "2026-04-01": true} { // before and after the last prompt
		config := configWith(t, map[string]string{sid(1) + ".jsonl": text, sid(1) + "/archived.json": `{"archived":true,"at":"` + at + `T00:00:00Z"}`})
		h := history.Disk(config)
		got := list(t, h, history.Query{})
		if len(got) != 1 || got[0].FirstPrompt != "one" || got[0].Dir != "/work" || got[0].Tag != "blue" || got[0].CostUSD != 1.5 || got[0].Archived != archived || got[0].Size != int64(len(text)) {
			t.Errorf("archived at %s: %+v", at, got)
		}
		if err := h.Rename(t.Context(), sid(1), "Named"); err != nil {
			t.Fatal(err)
		}
		info, err := h.Info(t.Context(), sid(1))
		if err != nil || info.Title != "Named" || info.FirstPrompt != "one" {
			t.Errorf("%+v, %v", info, err)
		}
		data, err := os.ReadFile(filepath.Join(config, "projects", "-work", sid(1)+".jsonl"))
		if err != nil || !strings.HasPrefix(string(data), text) || strings.Count(string(data[len(text):]), "\n") != 1 || !strings.Contains(string(data[len(text):]), sid(1)) {
			t.Errorf("appended %q, %v", data[min(len(data), len(text)):], err)
		}
	}
}

// The error of a store that lacks a function names the work it cannot do.
func TestWhatAStoreCannot(t *testing.T) {
	mem := store.Memory()
	_, put := inStore(t, mem)
	put(sid(1), "", exchange(sid(1), "", "one", "1"))
	h := history.In(store.Basic{AppendFunc: mem.Append, LoadFunc: func(ctx context.Context, k store.Key) iter.Seq2[store.Entry, error] {
		return store.Entries(ctx, mem, k)
	}}, "tenant")
	_, deleteErr := h.Delete(t.Context(), sid(1))
	tr, err := h.Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	_, subsErr := tr.Subagents(t.Context())
	_, subErr := tr.Subagent(t.Context(), "abc")
	for what, err := range map[string]error{"delete": deleteErr, "list the subagents": subsErr, "subagents": subErr} {
		if !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for m, err := range tr.Messages(t.Context(), history.Page{Limit: 1}) {
		if u, ok := m.Message.(*message.User); err != nil || !ok || u.Text() != "one" {
			t.Errorf("%+v, %v", m, err)
		}
	}
}
