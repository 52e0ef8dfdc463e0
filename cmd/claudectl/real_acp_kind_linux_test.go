package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/acpscenes"
)

// TestRealACPErrorKind ends turns of the real CLI in many ways, on this machine and on a
// server. An editor is told the same about each: the kind, the words, and the names of
// what was used.
func TestRealACPErrorKind(t *testing.T) {
	cases := []struct {
		name  string
		reply claudetest.Reply
		want  string // part of what the editor is told
	}{
		{"answered", claudetest.Say("Hello."), "end_turn"},
		{"too long", claudetest.Say("Hello.").StopReason("max_tokens"), ""},
		{"refused", claudetest.Say("I will not.").StopReason("refusal"), ""},
		{"bad request", claudetest.Fail(400, "invalid_request_error", "no good").Forever(), `"errorKind"`},
		{"signed out", claudetest.Fail(401, "authentication_error", "no good").Forever(), "authentication_failed"},
		{"no credit", claudetest.Fail(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.").Forever(), "billing_error"},
		{"forbidden", claudetest.Fail(403, "permission_error", "no good").Forever(), "authentication_failed"},
		{"no model", claudetest.Fail(404, "not_found_error", "model: no such").Forever(), "model_not_found"},
		{"rate limit", claudetest.Fail(429, "rate_limit_error", "no good").Forever(), "rate_limit"},
		{"overloaded", claudetest.Fail(529, "overloaded_error", "no good").Forever(), "server_error"},
		{"server", claudetest.Fail(500, "api_error", "no good").Forever(), "server_error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			alone := newStage(t, acpscenes.Scene{Name: c.name})
			alone.model.Add(c.reply)
			server := newServerStage(t, acpscenes.Scene{Name: c.name}, "CLAUDE_CODE_MAX_RETRIES=0")
			server.model.Add(c.reply)
			server.args = []string{"acp", "--connect", server.url}
			alone.env = append(alone.env, "CLAUDE_CODE_MAX_RETRIES=0")
			local, remote := alone.endOf(t), server.endOf(t)
			if local != remote || !strings.Contains(local, c.want) {
				t.Errorf("on this machine\n%s\non a server\n%s\nwant %s", local, remote, c.want)
			}
			t.Log(local)
		})
	}
}

// modelAddress is where the scripted model listens, which some errors name.
var modelAddress = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// endOf is how a prompt ends for an editor, in a line: with the names of what was used, and
// without its numbers.
func (st *stage) endOf(t *testing.T) string {
	t.Helper()
	d, wait := st.driver(t)
	defer wait()
	id := d.New(t, st.dir)
	var resp map[string]json.RawMessage
	err := d.Call(t.Context(), schema.MethodAgentSessionPrompt, schema.PromptRequest{SessionID: id, Prompt: []schema.ContentBlock{{Text: &schema.TextContent{Text: "Hello."}}}}, &resp)
	if e, ok := errors.AsType[*schema.Error](err); ok {
		return fmt.Sprintf("%d %s %s", e.Code, modelAddress.ReplaceAllString(e.Message, "the model"), e.Data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %q %q", resp["stopReason"], namesIn(t, resp["usage"]), namesIn(t, resp["_meta"]))
}

func namesIn(t *testing.T, object json.RawMessage) (names []string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// bothWays is the output and the input of a program.
type bothWays struct {
	io.Reader
	io.WriteCloser
}

// driver is an editor that has started the program. wait ends both.
func (st *stage) driver(t *testing.T) (d *drive.Driver, wait func()) {
	t.Helper()
	cmd := st.agent(t)(t.Context())
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	d = drive.Connect(bothWays{stdout, stdin}, drive.Setup{})
	if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
		t.Fatal(err)
	}
	return d, func() {
		d.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the program: %v", err)
		}
	}
}
