package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

var update = flag.Bool("update", false, "write testdata/step.ndjson")

// census is what is in a step, but for the deltas: how many lines and bytes of each
// kind, and how many entries of transcripts.
type census struct {
	lines, bytes map[string]int
	entries      int
}

func take(t *testing.T, lines [][]byte) census {
	t.Helper()
	c := census{make(map[string]int), make(map[string]int), 0}
	for _, line := range lines {
		var m struct {
			Type, Subtype string
			Event         struct{ Type string }
			Entries       []json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%.100q: %v", line, err)
		}
		kind := strings.TrimRight(m.Type+" "+m.Subtype+m.Event.Type, " ")
		c.lines[kind]++
		c.bytes[kind] += len(line)
		c.entries += len(m.Entries)
	}
	return c
}

// What is measured with mirrors is what the real CLI writes: kind by kind as many
// lines, and about as many bytes.
func TestStepIsTheCLIs(t *testing.T) {
	realcli.Need(t, realcli.Version)
	lines := playedStep(t)
	if *update {
		if err := os.WriteFile("testdata/step.ndjson", bytes.Join(lines, nil), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := take(t, lines), take(t, newStep(true).lines)
	if got.entries != want.entries {
		t.Errorf("%d entries of transcripts, the CLI has %d", got.entries, want.entries)
	}
	for kind, n := range want.lines {
		if got.lines[kind] != n && kind != "transcript_mirror" { // a slow machine has them in two frames
			t.Errorf("%d lines of kind %q, the CLI has %d", got.lines[kind], kind, n)
		}
		if size := want.bytes[kind]; got.bytes[kind] < size-size/10 || got.bytes[kind] > size+size/10 {
			t.Errorf("%d bytes of kind %q, the CLI has %d", got.bytes[kind], kind, size)
		}
	}
	for kind := range got.lines {
		if want.lines[kind] == 0 {
			t.Errorf("there are lines of kind %q, which the CLI does not write", kind)
		}
	}
	plain, mirrored := newStep(false), newStep(true)
	if plain.messages != mirrored.messages || len(plain.lines) != len(mirrored.lines)-got.lines["transcript_mirror"] {
		t.Error("the two sides of the comparison differ in more than the frames of the mirror")
	}
}

// playedStep lets the real CLI go through some steps, and returns what it wrote from
// the request for the third to the request for the fourth. The frame among them is
// about the second: the CLI mirrors with a delay.
func playedStep(t *testing.T) (step [][]byte) {
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
	r.opts.Trace = &claude.Trace{FrameRead: func(line []byte) {
		if bytes.HasPrefix(line, []byte(`{"type":"system","subtype":"status","status":"requesting"`)) {
			requests++
		}
		if requests == 3 {
			line = bytes.ReplaceAll(line, []byte(r.dir), []byte("/home/user/a-program-of-mine"))
			step = append(step, append(line, '\n'))
		}
	}}
	r.opts.Store = &claude.StoreOptions{Store: sink{}, Project: "bench", Journal: t.TempDir()}
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
	return step
}
