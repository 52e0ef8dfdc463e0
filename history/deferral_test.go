package history_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
)

// TestDefer marks the call with which a session broke off, once, and no other.
func TestDefer(t *testing.T) {
	const id = "00000000-0000-4000-8000-0000000000aa"
	line := func(kind, message, content string, n int) string {
		parent := "null"
		if n > 1 {
			parent = fmt.Sprintf(`"00000000-0000-4000-8000-00000000000%d"`, n-1)
		}
		return fmt.Sprintf(`{"type":%q,"uuid":"00000000-0000-4000-8000-00000000000%d","parentUuid":%s,"sessionId":%q,"cwd":"/repo","version":"2.1.325","message":{"id":%q,"role":%q,"content":%s}}`, kind, n, parent, id, message, kind, content)
	}
	call := func(name string) string {
		return `[{"type":"tool_use","id":"` + name + `","name":"Bash","input":{"command":"make"}}]`
	}
	result := func(name string) string {
		return `[{"type":"tool_result","tool_use_id":"` + name + `","content":"x"}]`
	}
	prompt := line("user", "", `"build it"`, 1)
	const refusal = `[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"Tool permission request failed: AbortError: Tool permission stream closed before response received"}]`
	refused := strings.Replace(line("user", "", refusal, 3), `"cwd"`, `"sourceToolAssistantUUID":"00000000-0000-4000-8000-000000000002","cwd"`, 1)
	for name, c := range map[string]struct {
		lines []string
		ok    bool
	}{
		"waits":                 {[]string{prompt, line("assistant", "m", call("a"), 2)}, true},
		"behind another":        {[]string{prompt, line("assistant", "m", call("b"), 2), line("assistant", "m", call("a"), 3), line("user", "", result("b"), 4)}, true},
		"refused by the CLI":    {[]string{prompt, line("assistant", "m", call("a"), 2), refused}, true},
		"and talked about":      {[]string{prompt, line("assistant", "m", call("a"), 2), refused, line("assistant", "n", `[{"type":"text","text":"x"}]`, 4)}, true},
		"and another call made": {[]string{prompt, line("assistant", "m", call("a"), 2), refused, line("assistant", "n", call("b"), 4)}, false},
		"and prompted again":    {[]string{prompt, line("assistant", "m", call("a"), 2), refused, line("user", "", `"hello?"`, 4)}, false},
		"and made once more":    {[]string{prompt, line("assistant", "m", call("a"), 2), refused, line("user", "", `"hello?"`, 4), line("assistant", "n", call("b"), 5)}, false},
		"refused with another":  {[]string{prompt, line("assistant", "m", call("b"), 2), line("assistant", "m", call("a"), 3), line("user", "", refusal, 4)}, false},
		"refused and answered":  {[]string{prompt, line("assistant", "m", call("b"), 2), line("assistant", "m", call("a"), 3), line("user", "", result("b"), 4), line("user", "", refusal, 5)}, false},
		"refused, answered":     {[]string{prompt, line("assistant", "m", call("b"), 2), line("assistant", "m", call("a"), 3), line("user", "", refusal, 4), line("user", "", result("b"), 5)}, false},
		"printed the refusal":   {[]string{prompt, line("assistant", "m", call("a"), 2), strings.Replace(refused, `"is_error":true`, `"is_error":false`, 1)}, false},
		"has a result":          {[]string{prompt, line("assistant", "m", call("a"), 2), line("user", "", result("a"), 3)}, false},
		"the next prompt":       {[]string{prompt, line("assistant", "m", call("a"), 2), line("user", "", `"hello?"`, 3)}, false},
		"the next answer":       {[]string{prompt, line("assistant", "m", call("a"), 2), line("assistant", "n", `[{"type":"text","text":"x"}]`, 3)}, false},
		"beside one that broke": {[]string{prompt, line("assistant", "m", call("a"), 2), line("assistant", "m", call("b"), 3)}, false},
		"no such call":          {[]string{prompt}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "projects", "-repo", id+".jsonl")
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(strings.Join(c.lines, "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time changes nothing
				err := history.Disk(dir).Defer(t.Context(), id, "a")
				if c.ok && err != nil || !c.ok && !errors.Is(err, history.ErrNotWaiting) {
					t.Errorf("%v", err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if c.ok {
				want = 1
			}
			if got := strings.Count(string(data), "hook_deferred_tool"); got != want {
				t.Fatalf("%d marks, want %d", got, want)
			}
			if mark := string(data[strings.LastIndex(strings.TrimSpace(string(data)), "\n")+1:]); c.ok && (!strings.Contains(mark, `"toolInput":{"command":"make"}`) || !strings.Contains(mark, `"cwd":"/repo"`)) {
				t.Errorf("the mark is %s", mark)
			}
		})
	}
	if err := history.Disk(t.TempDir()).Defer(t.Context(), id, "a"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("without a session: %v, want %v", err, history.ErrNotFound)
	}
}

// TestDeferRefused defers a call that the CLI has refused, twice. The conversation ends
// with the answer that made the call each time, without what was said about the refusal.
func TestDeferRefused(t *testing.T) {
	const id = "00000000-0000-4000-8000-0000000000aa"
	dir := t.TempDir()
	file := filepath.Join(dir, "projects", "-repo", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	n := 0
	write := func(kind, message, parent, content string) string {
		n++
		uuid := fmt.Sprintf("00000000-0000-4000-8000-00000000000%d", n)
		line, err := json.Marshal(map[string]any{
			"type": kind, "uuid": uuid, "parentUuid": parent, "sourceToolAssistantUUID": parent, "sessionId": id, "version": "2.1.325",
			"timestamp": fmt.Sprintf("2026-01-01T00:00:0%d.000Z", n), "message": map[string]any{"id": message, "role": kind, "content": json.RawMessage(content)},
		})
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Write(append(line, '\n')); err != nil {
			t.Fatal(err)
		}
		return uuid
	}
	const call = `[{"id":"a","input":{"message":{"id":"m"},"uuid":"u"},"name":"Send","type":"tool_use"}]`
	at := write("user", "", "", `"send it"`)
	at = write("assistant", "m", at, `[{"text":"I will.","type":"text"}]`)
	at = write("assistant", "m", at, call)
	for range 2 {
		at = write("user", "", at, `[{"type":"tool_result","tool_use_id":"a","is_error":true,"content":"Tool permission request failed: AbortError: Tool permission stream closed before response received"}]`)
		write("assistant", "n", at, `[{"type":"text","text":"A pity."}]`)
		h := history.Disk(dir)
		if err := h.Defer(t.Context(), id, "a"); err != nil {
			t.Fatal(err)
		}
		said, err := h.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		var got, ids []string
		for line, err := range said.Entries(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			var l struct {
				Type, UUID string
				Message    struct {
					ID      string
					Content json.RawMessage
				}
			}
			if err := json.Unmarshal(line, &l); err != nil {
				t.Fatal(err)
			}
			got = append(got, l.Type+string(l.Message.Content))
			if ids = append(ids, l.Message.ID); l.Type == "assistant" {
				at = l.UUID
			}
		}
		if want := []string{`user"send it"`, `assistant[{"text":"I will.","type":"text"}]`, "assistant" + call, "attachment"}; !slices.Equal(got, want) {
			t.Fatalf("the conversation is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if ids[1] == "m" || ids[1] != ids[2] {
			t.Errorf("the messages are %q, want one new answer", ids)
		}
		if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), `{"type":"last-prompt","leafUuid":"`+at+`"`) {
			t.Errorf("%v, no note that the conversation ends with %s:\n%s", err, at, data)
		}
	}
}
