//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestACPPolicy is an editor whose program has a policy. What is denied or leaves the
// folder is refused and what is allowed runs, all without a question; the editor decides
// the rest. Deny rules win over the folder, and both over allow rules.
func TestACPPolicy(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "a.txt")
	write(t, inside, "text", 0o600)
	calls := []struct {
		tool, input string
		end         string // of the call
		asked       bool
	}{
		{"Bash", `{"command":"git push origin"}`, "failed", false},                       // denied and allowed
		{"Bash", `{"command":"git status"}`, "completed", false},                         // allowed
		{"Read", `{"file_path":"/etc/hosts"}`, "failed", false},                          // outside and allowed
		{"Read", fmt.Sprintf(`{"file_path":%q}`, inside), "completed", false},            // allowed
		{"Write", `{"file_path":"/etc/new","content":"x"}`, "failed", false},             // outside
		{"Bash", `{"command":"make"}`, "completed", true},                                // not mentioned
		{"Write", fmt.Sprintf(`{"file_path":%q,"content":"x"}`, inside), "failed", true}, // not mentioned, and refused there
	}
	var script []any
	for _, c := range calls {
		script = append(script, map[string]any{"use": []any{map[string]any{"name": c.tool, "input": json.RawMessage(c.input)}}}, "done")
	}
	replies, err := json.Marshal(script)
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	file, policy, cli := filepath.Join(home, "script.json"), filepath.Join(home, "policy.json"), filepath.Join(home, "claude")
	write(t, file, string(replies), 0o600)
	write(t, policy, `{"deny":["Bash(git push:*)"],"allow":["Bash(git:*)","Read"],"confine":true}`, 0o600)
	write(t, cli, fmt.Sprintf("#!/bin/sh\nexec '%s' fake '%s' \"$@\"\n", os.Args[0], file), 0o700)
	in, toProgram := io.Pipe()
	fromProgram, out := io.Pipe()
	var complaints bytes.Buffer
	ended := make(chan int, 1)
	go func() {
		ended <- run(context.Background(), []string{"acp", "--cli", cli, "--policy", policy}, in, out, &complaints, []string{"PATH=/bin:/usr/bin", "HOME=" + home, asProgram + "=1"})
		out.Close()
	}()
	var asked []string
	d := drive.Connect(struct {
		io.Reader
		io.WriteCloser
	}{fromProgram, toProgram}, drive.Setup{Permission: func(_ context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
		asked = append(asked, *req.ToolCall.Name)
		if *req.ToolCall.Name == "Write" {
			return "reject"
		}
		return "allow-once"
	}})
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	id := d.New(t, dir)
	var want []string
	for _, c := range calls {
		before := len(d.Updates(id))
		if resp, err := d.Prompt(t.Context(), id, "Continue."); err != nil || resp.StopReason != schema.StopReasonEndTurn {
			t.Fatalf("%s %s: %+v, %v", c.tool, c.input, resp, err)
		}
		end := ""
		for _, up := range d.Updates(id)[before:] {
			if up.ToolCallUpdate != nil && up.ToolCallUpdate.Status != "" {
				end = string(up.ToolCallUpdate.Status)
			}
		}
		if end != c.end {
			t.Errorf("%s %s: %s, want %s", c.tool, c.input, end, c.end)
		}
		if c.asked {
			want = append(want, c.tool)
		}
	}
	if !slices.Equal(asked, want) {
		t.Errorf("the editor was asked about %q, want %q", asked, want)
	}
	d.Close()
	if code := <-ended; code != 0 {
		t.Errorf("exit %d: %s", code, complaints.String())
	}
}
