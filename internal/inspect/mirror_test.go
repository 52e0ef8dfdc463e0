package inspect_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// Frames of the mirror are counted, and those that follow each other are shown as
// one. Their names are known, and text that they repeat is not counted twice.
func TestMirrorFrames(t *testing.T) {
	const file = `/home/a/.claude/projects/-work/00000000-0000-4000-8000-000000000001`
	mirror := func(at, name, entries string) string {
		return `{"dir":"out","t_ms":` + at + `,"msg":{"type":"transcript_mirror","filePath":"` + file + name + `.jsonl","entries":[` + entries + `]}}`
	}
	const call = `{"type":"assistant","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}]},"session_id":"s","uuid":"a1"}`
	rep := parse(t,
		`{"dir":"in","t_ms":1,"msg":{"type":"user","message":{"role":"user","content":"go"},"uuid":"p1"}}`,
		mirror("2", "", `{"type":"user","uuid":"u1"},{"type":"attachment","uuid":"u2"}`),
		mirror("3", "/subagents/agent-a1", `{"type":"agent_metadata"}`),
		mirror("4", "", ``),
		`{"dir":"out","t_ms":5,"msg":`+call+`}`,
		mirror("6", "", call),
		`{"dir":"out","t_ms":7,"msg":{"type":"result","subtype":"success","is_error":false,"result":"ok","session_id":"s","uuid":"r"}}`,
	)
	if s := rep.Summary; s.MirrorFrames != 4 || s.MirrorEntries != 4 || s.ToolCalls != 1 || s.Turns != 1 {
		t.Errorf("%d mirror frames with %d entries, %d tool calls, %d turns; want 4, 4, 1, 1", s.MirrorFrames, s.MirrorEntries, s.ToolCalls, s.Turns)
	}
	for _, u := range rep.Unknown {
		if strings.Contains(u.Name, "mirror") {
			t.Errorf("%s is not known", u.Name)
		}
	}
	if got, want := rep.Frames[2].Summary, "1 line of agent-a1 in 00000000-0000-4000-8000-000000000001"; got != want {
		t.Errorf("the frame of a subagent is %q, want %q", got, want)
	}
	var text, page bytes.Buffer
	if err := rep.WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	if err := rep.WriteHTML(&page, inspect.Limits{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 mirror frames (4 lines)", "mirror     3 mirror frames (3 lines)", "mirror     1 line of 00000000-0000-4000-8000-000000000001"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	for _, want := range []string{"<dt>Mirrored</dt><dd>4 lines", "3 mirror frames (3 lines), lines 2 to 4", "<option>mirror</option>"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q on the page", want)
		}
	}
	rep.Keep(inspect.Filter{Kinds: []string{"mirror"}})
	if len(rep.Frames) != 4 {
		t.Errorf("a filter finds %d mirror frames", len(rep.Frames))
	}
}
