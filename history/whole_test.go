package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/transcript"
	"github.com/claude-agent-go/claude/message"
)

// script writes the lines of a conversation, with the members that differ.
type script struct {
	strings.Builder
	session string
	n       int
}

func (s *script) line(kind, id, parent, more string) {
	s.n++
	before := "null"
	if parent != "" {
		before = fmt.Sprintf("%q", parent)
	}
	if !strings.Contains(more, `"isSidechain"`) {
		more = `"isSidechain":false,` + more
	}
	fmt.Fprintf(s, `{"parentUuid":%s,"type":%q,"uuid":%q,"sessionId":%q,"cwd":"/work","gitBranch":"main","entrypoint":"cli","timestamp":"2026-01-01T00:%02d:%02d.000Z",%s}`+"\n", before, kind, id, s.session, s.n/60, s.n%60, more)
}

func (s *script) user(id, parent, text string) {
	s.line("user", id, parent, fmt.Sprintf(`"message":{"role":"user","content":%q}`, text))
}

func (s *script) said(id, parent, text string) {
	s.line("assistant", id, parent, fmt.Sprintf(`"message":{"id":"m-%s","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":%q}]}`, id, text))
}

// call is a line of an answer that makes several calls.
func (s *script) call(id, parent, answer string) {
	s.line("assistant", id, parent, fmt.Sprintf(`"message":{"id":%q,"role":"assistant","model":"m","content":[{"type":"tool_use","id":"toolu_%s","name":"Bash","input":{}}]}`, answer, id))
}

func (s *script) result(id, parent, call string) {
	s.line("user", id, parent, fmt.Sprintf(`"message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%s","content":"done"}]}`, call))
}

// shownIn are the ids of a page, each with what is special about its message.
func shownIn(t *testing.T, tr *history.Transcript, p history.Page) string {
	t.Helper()
	var all []string
	for m, err := range tr.Messages(t.Context(), p) {
		if err != nil {
			t.Fatal(err)
		}
		id := m.UUID
		if m.Summary {
			id += " (summary)"
		}
		if m.MidTurn {
			id += " (in mid-turn)"
		}
		all = append(all, id)
	}
	return strings.Join(all, ", ")
}

// A conversation is shown as it went: from the last compaction on, with what that preserved
// behind its summary, parallel calls with each of their results, and prompts that a turn took
// in where it did.
func TestConversationIsWhole(t *testing.T) {
	s := &script{session: sid(1)}
	s.user("old", "", "before")
	s.said("older", "old", "long ago")
	s.user("kept", "older", "stays")
	s.said("keeps", "kept", "stays too")
	s.line("system", "cut", "", `"subtype":"compact_boundary","content":"compacted","compactMetadata":{"preservedMessages":{"anchorUuid":"sum","uuids":["kept","keeps"]}}`)
	s.line("user", "sum", "cut", `"isCompactSummary":true,"message":{"role":"user","content":"what was said"}`)
	s.user("build", "sum", "build")
	s.call("c1", "build", "m1")
	s.call("c2", "c1", "m1")
	s.result("r1", "c1", "c1")
	s.call("c3", "c2", "m1")
	s.result("r3", "c3", "c3")
	s.result("r2", "c2", "c2")
	s.line("system", "aside", "r2", `"isSidechain":true,"subtype":"informational","content":"of an agent"`)
	s.line("attachment", "taken", "aside", `"attachment":{"type":"queued_command","source_uuid":"steer","prompt":"and test"}`)
	s.WriteString(`{"type":"queue-operation","operation":"remove","reason":"absorbed_mid_turn","commandUuid":"steer","sessionId":"` + sid(1) + `"}` + "\n")
	s.line("attachment", "waits", "taken", `"attachment":{"type":"queued_command","source_uuid":"later","prompt":"not taken in"}`)
	s.said("end", "waits", "Built.")
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			h, put := place.open(t)
			put(sid(1), "", s.String())
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			const want = "sum (summary), kept, keeps, build, c1, c2, r1, c3, r3, r2, steer (in mid-turn), end"
			if got := shownIn(t, tr, history.Page{}); got != want || tr.Len() != 12 {
				t.Errorf("%d messages: %s\nwant %s", tr.Len(), got, want)
			}
			if got := shownIn(t, tr, history.Page{System: true}); !strings.HasPrefix(got, "cut, sum (summary)") || strings.Contains(got, "aside") || strings.Contains(got, "old") {
				t.Errorf("with system lines: %s", got)
			}
			if got := shownIn(t, tr, history.Page{Whole: true}); got != "old, older, kept, keeps, "+strings.ReplaceAll(want, "kept, keeps, ", "") {
				t.Errorf("with what was left behind: %s", got)
			}
			if got := shownIn(t, tr, history.Page{Whole: true, System: true, Offset: 1, Limit: 5}); got != "older, kept, keeps, cut, sum (summary)" {
				t.Errorf("a page of it: %s", got)
			}
			if n := tr.Prompts(); n != 3 { // kept, build and the one that was taken in
				t.Errorf("%d prompts", n)
			}
			for id, want := range map[string]history.PromptState{"build": history.PromptAnswered, "steer": history.PromptAnswered, "nothing": history.PromptUnseen} {
				if state, open := tr.PromptState(id); state != want || len(open) > 0 {
					t.Errorf("%s is %v, open %q", id, state, open)
				}
			}
		})
	}
}

// The transcript of a subagent, whose lines are all marked as such, has every message of the
// last thread, and each belongs to the call that started the agent.
func TestSubagentIsWhole(t *testing.T) {
	agent := &script{session: sid(1)}
	agent.line("user", "task", "", `"isSidechain":true,"message":{"role":"user","content":"count"}`)
	agent.line("assistant", "tries", "task", `"isSidechain":true,"message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"hm"}]}`)
	agent.line("user", "hint", "tries", `"isSidechain":true,"isMeta":true,"message":{"role":"user","content":"continue"}`)
	agent.line("assistant", "done", "hint", `"isSidechain":true,"message":{"id":"m2","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"three"}]}`)
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			tr, own := withAgent(t, place, agent)
			if got := shownIn(t, own, history.Page{}); got != "task, tries, hint, done" || own.Len() != 4 || own.ID != sid(1) {
				t.Errorf("%s, %d messages of %s", got, own.Len(), own.ID)
			}
			for m, err := range own.Messages(t.Context(), history.Page{}) {
				if err != nil || !strings.Contains(string(m.Head().Raw), `"parent_tool_use_id":"t1"`) {
					t.Errorf("%s, %v", m.Head().Raw, err)
				}
			}
			if got := shownIn(t, tr, history.Page{System: true}); got != "q-one, a-1" {
				t.Errorf("the main conversation has %s", got)
			}
		})
	}
}

// withAgent stores a session with a subagent, and returns both transcripts.
func withAgent(t *testing.T, place home, agent *script) (main, own *history.Transcript) {
	t.Helper()
	h, put := place.open(t)
	put(sid(1), "", exchange(sid(1), "", "one", "1"))
	put(sid(1), "abc", agent.String())
	main, err := h.Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	if own, err = main.Subagent(t.Context(), "abc"); err != nil {
		t.Fatal(err)
	}
	return main, own
}

// What a compaction of a subagent has left behind can be read as well.
func TestCompactedSubagentIsWhole(t *testing.T) {
	agent := &script{session: sid(1)}
	agent.line("user", "task", "", `"isSidechain":true,"message":{"role":"user","content":"count"}`)
	agent.line("assistant", "tries", "task", `"isSidechain":true,"message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"text","text":"hm"}]}`)
	agent.line("user", "kept", "tries", `"isSidechain":true,"message":{"role":"user","content":"kept"}`)
	agent.line("system", "cut", "", `"isSidechain":true,"subtype":"compact_boundary","content":"compacted","compactMetadata":{"preservedMessages":{"anchorUuid":"sum","uuids":["kept"]}}`)
	agent.line("user", "sum", "cut", `"isSidechain":true,"isCompactSummary":true,"message":{"role":"user","content":"what was said"}`)
	agent.line("assistant", "done", "sum", `"isSidechain":true,"message":{"id":"m2","role":"assistant","model":"m","stop_reason":"end_turn","content":[{"type":"text","text":"three"}]}`)
	for _, place := range homes() {
		t.Run(place.name, func(t *testing.T) {
			_, own := withAgent(t, place, agent)
			for want, page := range map[string]history.Page{"sum (summary), kept, done": {}, "task, tries, kept, sum (summary), done": {Whole: true}} {
				if got := shownIn(t, own, page); got != want {
					t.Errorf("%+v: %s, want %s", page, got, want)
				}
			}
		})
	}
}

// Lines far longer than what is read at once are whole wherever they are, and so are their
// neighbours, which the list and a page need.
func TestLongLinesAreWhole(t *testing.T) {
	wide := strings.Repeat("wide ", transcript.Edge) // five times what a list reads at an end
	for name, where := range map[string]map[int]bool{"first": {0: true}, "middle": {3: true}, "last": {7: true}, "all": {0: true, 3: true, 4: true, 7: true}} {
		t.Run(name, func(t *testing.T) {
			s := &script{session: sid(1)}
			parent, want := "", make([]string, 8)
			for i := range want {
				if want[i] = fmt.Sprint("text ", i); where[i] {
					want[i] += " " + wide
				}
				id := fmt.Sprint("l", i)
				if i%2 == 0 {
					s.user(id, parent, want[i])
				} else {
					s.said(id, parent, want[i])
				}
				parent = id
			}
			for _, place := range homes() {
				h, put := place.open(t)
				put(sid(1), "", s.String())
				tr, err := h.Read(t.Context(), sid(1))
				if err != nil || tr.Len() != 8 || tr.Skipped != 0 {
					t.Fatalf("%s: %+v, %v", place.name, tr, err)
				}
				for offset := range want {
					i := offset
					for m, err := range tr.Messages(t.Context(), history.Page{Offset: offset, Limit: 3}) {
						got := ""
						switch m := m.Message.(type) {
						case *message.User:
							got = m.Text()
						case *message.Assistant:
							got = m.Text()
						}
						if err != nil || got != want[i] {
							t.Errorf("%s: message %d has %d bytes, want %d; %v", place.name, i, len(got), len(want[i]), err)
						}
						i++
					}
					if i != min(offset+3, 8) {
						t.Errorf("%s: the page at %d ends at %d", place.name, offset, i)
					}
				}
				if state, _ := tr.PromptState("l6"); state != history.PromptAnswered {
					t.Errorf("%s: the last prompt is %v", place.name, state)
				}
				for _, info := range list(t, h, history.Query{}) {
					if !strings.HasPrefix(info.FirstPrompt, "text 0") || info.Dir != "/work" || info.Entrypoint != "cli" || info.Created.Second() != 1 {
						t.Errorf("%s: %+v", place.name, info)
					}
				}
			}
		})
	}
}

// A line that changed under a reader ends its loop: the error comes once, as the last, and
// everything before it is as it was.
func TestChangedLineEndsLoop(t *testing.T) {
	s := &script{session: sid(1)}
	s.user("l0", "", "zero")
	for i := range 300 {
		s.said(fmt.Sprint("l", i+1), fmt.Sprint("l", i), fmt.Sprint("answer ", i+1))
	}
	config := configWith(t, map[string]string{sid(1) + ".jsonl": s.String()})
	tr, err := history.Disk(config).Read(t.Context(), sid(1))
	if err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(s.String(), `"uuid":"l150"`, `"uuid":"x150"`, 1)
	if err := os.WriteFile(filepath.Join(config, "projects", "-work", sid(1)+".jsonl"), []byte(damaged), 0o600); err != nil {
		t.Fatal(err)
	}
	var ends []error
	messages := 0
	for _, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			ends = append(ends, err)
		} else if messages++; len(ends) > 0 {
			t.Fatal("a message came behind the error")
		}
	}
	if len(ends) != 1 || !errors.Is(ends[0], history.ErrChanged) || messages != 150 {
		t.Errorf("%d messages, errors %v", messages, ends)
	}
}

// A session that was archived in the moment of its last prompt is archived; a later prompt
// brings it back.
func TestArchivedAtLastPrompt(t *testing.T) {
	for at, want := range map[string]bool{"2026-01-01T00:00:01Z": true, "2026-01-01T00:00:00.999Z": false} {
		s := &script{session: sid(1)}
		s.user("l0", "", "zero")
		s.said("l1", "l0", "one")
		config := configWith(t, map[string]string{sid(1) + ".jsonl": s.String(), sid(1) + "/archived.json": `{"archived":true,"at":"` + at + `"}`})
		info, err := history.Disk(config).Info(t.Context(), sid(1))
		if err != nil || info.Archived != want {
			t.Errorf("archived at %s: %v, %v", at, info.Archived, err)
		}
	}
}
