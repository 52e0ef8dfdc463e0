package takeover

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
)

// The effect of a tool is a line in a file: the number of the call.

// noted is the answer of a tool that has had its effect.
const noted = "noted"

// writeScript makes the program that Bash calls.
func writeScript(dir, effects string) error {
	text := fmt.Sprintf("#!/bin/sh\necho \"$1\" >> '%s'\nsleep \"$2\"\necho %s \"$1\"\n", effects, noted)
	return os.WriteFile(filepath.Join(dir, "note"), []byte(text), 0o700)
}

// addNote is the effect.
func addNote(effects, n string) error {
	f, err := os.OpenFile(effects, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, n)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// readNotes returns the numbers of the calls that had their effect, in order.
func readNotes(effects string) (all []int, err error) {
	text, err := os.ReadFile(effects)
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, field := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, err
}

// noteServer answers the messages of an MCP server with the tool note.
func noteServer(effects string) func(ctx context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, method string, m json.RawMessage) (json.RawMessage, error) {
		switch method {
		case "initialize":
			return harness.AnswerTo(m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"notes","version":"1"}}`), nil
		case "tools/list":
			return harness.AnswerTo(m, `{"tools":[{"name":"note","description":"Make a note","inputSchema":{"type":"object"}}]}`), nil
		case "tools/call":
			input := jsonx.Member(jsonx.Member(m, "params"), "arguments")
			n := jsonx.Text(jsonx.Member(input, "n"))
			if err := addNote(effects, n); err != nil {
				return nil, err
			}
			if jsonx.Text(jsonx.Member(input, "rest")) != "0" {
				select {
				case <-time.After(time.Second):
				case <-ctx.Done():
				}
			}
			return harness.AnswerTo(m, fmt.Sprintf(`{"content":[{"type":"text","text":"%s %s"}]}`, noted, n)), nil
		}
		if jsonx.Member(m, "id") != nil {
			return harness.AnswerTo(m, `{}`), nil
		}
		return nil, nil
	}
}

// serveNotes is the program of an MCP server on its standard streams.
func serveNotes(effects string) error {
	answer := noteServer(effects)
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		reply, err := answer(context.Background(), jsonx.Text(jsonx.Member(in.Bytes(), "method")), in.Bytes())
		if err != nil {
			return err
		}
		if reply != nil {
			fmt.Printf("%s\n", reply)
		}
	}
	return in.Err()
}
