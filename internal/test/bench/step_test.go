package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

var update = flag.Bool("update", false, "write testdata/step.ndjson")

// census counts the content of a step: the lines and bytes of each kind of message
// or event, and the entries of transcripts and their bytes.
type census struct {
	lines, bytes        map[string]int
	entries, entryBytes int
}

func take(t *testing.T, lines [][]byte) census {
	t.Helper()
	c := census{lines: make(map[string]int), bytes: make(map[string]int)}
	for _, line := range lines {
		var m struct {
			Type, Subtype string
			Event         struct{ Type string }
			Entries       []json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%.100q: %v", line, err)
		}
		for _, e := range m.Entries {
			c.entries++
			c.entryBytes += len(e)
		}
		if kind := strings.TrimRight(m.Type+" "+m.Subtype+m.Event.Type, " "); m.Entries == nil {
			c.lines[kind]++
			c.bytes[kind] += len(line)
		}
	}
	return c
}

// near reports whether two sizes differ by no more than paths and times do.
func near(got, want int) bool { return got >= want-want/10 && got <= want+want/10 }

// Mirrors are measured with the output of the real CLI: kind by kind as many
// lines, and about as many bytes.
func TestStepIsTheCLIs(t *testing.T) {
	realcli.Need(t, realcli.Version)
	lines, entries := playedStep(t)
	if *update {
		if n := take(t, lines).entries; n != len(entries) {
			t.Fatalf("the machine is too slow for a recording: %d entries came during a step that has %d", n, len(entries))
		}
		if err := os.WriteFile("testdata/step.ndjson", bytes.Join(lines, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := take(t, lines), take(t, newStep(true).lines)
	if size := len(bytes.Join(entries, nil)); got.entries != len(entries) || !near(got.entryBytes, size) {
		t.Errorf("%d entries of transcripts with %d bytes, the CLI has %d with %d", got.entries, got.entryBytes, len(entries), size)
	}
	for kind, n := range want.lines {
		if got.lines[kind] != n || !near(got.bytes[kind], want.bytes[kind]) {
			t.Errorf("%d lines and %d bytes of kind %q, the CLI has %d and %d", got.lines[kind], got.bytes[kind], kind, n, want.bytes[kind])
		}
	}
	for kind := range got.lines {
		if want.lines[kind] == 0 {
			t.Errorf("there are lines of kind %q, which the CLI does not write", kind)
		}
	}
	if plain := take(t, newStep(false).lines); plain.entries > 0 || !maps.Equal(plain.lines, got.lines) {
		t.Error("the two sides of the comparison differ in more than the frames of the mirror")
	}
}

// playedStep lets the real CLI go through some steps. It returns what the CLI wrote from
// the request for the third to the request for the fourth, where the frame is about
// the second, since the CLI mirrors with a delay; and the entries about the third,
// whenever they came.
func playedStep(t *testing.T) (step, entries [][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), cliBound)
	defer cancel()
	const text = "The function \"walk\" visits every node once and keeps the order.\n"
	answer := strings.Repeat(text, 40)[:2500]
	asked, file := 0, ""
	m := claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
		reply := claudetest.Say(answer)
		if asked++; asked < 4 {
			reply = reply.With(claudetest.UseTool("Read", map[string]string{"file_path": file}))
		}
		return reply.Chunks(25, 5*time.Millisecond)
	})
	if _, err := m.Start(); err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := openReal(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	file = filepath.Join(r.opts.Cwd, "walk.go")
	if err := os.WriteFile(file, []byte(strings.Repeat("func walk(n *node) error { return walk(n.next) }\n", 20)), 0o600); err != nil {
		t.Fatal(err)
	}
	requests := 0
	var frames [][]byte
	r.opts.Trace = &claude.Trace{CloseWait: cliBound, FrameRead: func(line []byte) {
		if bytes.HasPrefix(line, []byte(`{"type":"system","subtype":"status","status":"requesting"`)) {
			requests++
		}
		line = append(bytes.ReplaceAll(line, []byte(r.dir), []byte("/home/user/a-program-of-mine")), '\n')
		if requests == 3 {
			step = append(step, line)
		}
		if bytes.HasPrefix(line, []byte(mirrorBegin)) {
			frames = append(frames, line)
		}
	}}
	r.opts.Store = sunk(t.TempDir())
	s, err := claude.Connect(ctx, r.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := prompted(ctx, s, "Read it again and again"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return step, entriesAbout(t, step, frames)
}

// entriesAbout returns the entries of frames that are about the messages of a step.
func entriesAbout(t *testing.T, step, frames [][]byte) (entries [][]byte) {
	t.Helper()
	var ids [][]byte
	for _, line := range step {
		var m struct {
			Type string
			UUID string
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "assistant" || m.Type == "user" {
			ids = append(ids, []byte(`,"uuid":"`+m.UUID+`"`))
		}
	}
	for _, line := range frames {
		var m struct{ Entries []json.RawMessage }
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatal(err)
		}
		for _, e := range m.Entries {
			if slices.ContainsFunc(ids, func(id []byte) bool { return bytes.Contains(e, id) }) {
				entries = append(entries, e)
			}
		}
	}
	return entries
}
