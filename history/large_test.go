package history_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/message"
)

// Files far larger than any the CLI writes are read in memory bounded by their
// content, not by its encoding.
func TestLargeFiles(t *testing.T) {
	const longLine = 100 << 10
	for name, tt := range map[string]struct {
		lines, every int // one line in every is part of the conversation
		text         string
		most         uint64 // bytes that are allocated to read it
	}{
		"25 MB":           {250, 1, strings.Repeat("x", longLine), 16 << 20},
		"100 MB":          {1000, 1, strings.Repeat("x", longLine), 16 << 20},
		"a million lines": {1_000_000, 20, "x", 32 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "25 MB" {
				long.Test(t, "reads a large file")
			}
			config := configWith(t, map[string]string{sid(1) + ".jsonl": "x"})
			size := writeLines(t, filepath.Join(config, "projects", "-work", sid(1)+".jsonl"), tt.lines, tt.every, tt.text)
			h := history.Disk(config)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tr, err := h.Read(t.Context(), sid(1))
			if err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			// The total allocation is an upper bound of the memory in use at any
			// time.
			if got := after.TotalAlloc - before.TotalAlloc; got > tt.most {
				t.Errorf("%d bytes were allocated for a file of %d", got, size)
			}
			entries := tt.lines / tt.every
			if tr.Len() != entries || tr.Skipped != 0 {
				t.Errorf("%d messages, %d lines skipped; want %d, 0", tr.Len(), tr.Skipped, entries)
			}
			n := 0
			for m, err := range tr.Messages(t.Context(), history.Page{Offset: entries - 2}) {
				if u, ok := m.Message.(*message.User); err != nil || !ok || u.Text() != tt.text {
					t.Fatalf("message %d: %v", n, err)
				}
				n++
			}
			if n != 2 {
				t.Errorf("the last page has %d messages", n)
			}
			if info, err := h.Info(t.Context(), sid(1)); err != nil || info.Size != size || info.Title != "the last" {
				t.Errorf("Info = %+v, %v", info, err)
			}
		})
	}
}

// writeLines writes a transcript and returns its size. Most of its lines may be
// beside the conversation.
func writeLines(t *testing.T, path string, lines, every int, text string) int64 {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := bufio.NewWriterSize(f, 1<<20)
	parent := "null"
	for i := range lines {
		if i%every != 0 {
			out.WriteString(`{"type":"note"}` + "\n")
			continue
		}
		id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", i+1)
		fmt.Fprintf(out, `{"parentUuid":%s,"type":"user","uuid":"%s","message":{"role":"user","content":"`, parent, id)
		out.WriteString(text)
		out.WriteString(`"}}` + "\n")
		parent = `"` + id + `"`
	}
	out.WriteString(`{"type":"last-prompt","lastPrompt":"the last"}` + "\n")
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}
