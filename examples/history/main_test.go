package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/history"
)

// A session as the CLI writes it: a line for each message, which names the one
// before it.
const session = `
{"type":"user","uuid":"u1","parentUuid":null,"cwd":"/work","gitBranch":"main","timestamp":"2026-01-01T10:00:00.000Z","message":{"role":"user","content":"How do I sort a slice?"}}
{"type":"assistant","uuid":"a1","parentUuid":"u1","timestamp":"2026-01-01T10:00:01.000Z","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"With slices.Sort."}]}}
{"type":"user","uuid":"u2","parentUuid":"a1","timestamp":"2026-01-01T10:01:00.000Z","message":{"role":"user","content":"And by length?"}}
{"type":"assistant","uuid":"a2","parentUuid":"u2","timestamp":"2026-01-01T10:01:01.000Z","message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"With slices.SortFunc."}]}}
{"type":"custom-title","customTitle":"Sorting"}
`

func Example() {
	config, err := os.MkdirTemp("", "history-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(config)
	project := filepath.Join(config, "projects", "-work")
	if err := os.MkdirAll(project, 0o700); err != nil {
		fmt.Println(err)
		return
	}
	file := filepath.Join(project, "00000000-0000-4000-8000-000000000001.jsonl")
	if err := os.WriteFile(file, []byte(strings.TrimPrefix(session, "\n")), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	if err := run(context.Background(), os.Stdout, history.Disk(config), "/work"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Sorting (main)
	// > How do I sort a slice?
	// With slices.Sort.
	// > And by length?
	// With slices.SortFunc.
	// Another way begins with "How do I sort a slice?"
}
