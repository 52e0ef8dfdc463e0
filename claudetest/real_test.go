package claudetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// line holds the members of a line of the CLI that these tests read.
type line struct {
	Type      string
	Subtype   string
	Result    string
	IsError   bool   `json:"is_error"`
	Terminal  string `json:"terminal_reason"`
	APIStatus int    `json:"api_error_status"`
	Message   struct {
		Content json.RawMessage
	}
	Event struct {
		Type string
	}
	Response struct {
		Subtype  string
		Response json.RawMessage
	}
}

// command prepares the real CLI against a model, in a folder of its own.
func command(ctx context.Context, t *testing.T, m *claudetest.Model, args ...string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	env, _ := realcli.Env(t, start(t, m))
	stderr = new(bytes.Buffer)
	cmd = exec.CommandContext(ctx, path, append([]string{
		"--input-format=stream-json", "--output-format=stream-json", "--verbose"}, args...)...)
	cmd.Env, cmd.Dir, cmd.Stderr = env, t.TempDir(), stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd, stderr
}

// run plays the input lines to the CLI and returns what it writes.
func run(t *testing.T, m *claudetest.Model, cmd *exec.Cmd, stderr *bytes.Buffer, input ...string) (lines []line) {
	t.Helper()
	cmd.Stdin = strings.NewReader(strings.Join(input, "\n") + "\n")
	out, err := cmd.Output()
	for text := range bytes.Lines(out) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			t.Fatalf("line %s: %v", text, err)
		}
		lines = append(lines, l)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("exit: %v\nstdout: %s\nstderr: %s\nstray: %q", err, out, stderr, m.OtherRequests())
		}
	})
	return lines
}

func userLine(prompt string) string {
	text, _ := json.Marshal(prompt)
	return `{"type":"user","message":{"role":"user","content":` + string(text) + `},"parent_tool_use_id":null,"session_id":""}`
}

// result returns the last line, which must be a result.
func result(t *testing.T, lines []line) line {
	t.Helper()
	if len(lines) == 0 || lines[len(lines)-1].Type != "result" {
		t.Fatalf("got %d lines, want a result at the end", len(lines))
	}
	return lines[len(lines)-1]
}

func TestRealText(t *testing.T) {
	m := claudetest.NewModel(claudetest.Think("They greet me.", "Hello, Gopher!"))
	cmd, stderr := command(t.Context(), t, m)
	lines := run(t, m, cmd, stderr, userLine("hi"))
	if got := result(t, lines); got.IsError || got.Result != "Hello, Gopher!" {
		t.Errorf("result = %+v", got)
	}
	calls := slices.DeleteFunc(m.Calls(), func(c *claudetest.ModelCall) bool { return c.Side }) // old CLIs have more of them
	if len(calls) != 1 || calls[0].Prompt != "hi" || calls[0].Number != 1 || !calls[0].Stream || len(calls[0].Tools) == 0 {
		t.Errorf("%d calls, the first %+v; want one streaming call with the prompt", len(calls), calls)
	}
	if !bytes.Contains(flatten(lines), []byte(`"thinking":"They greet me."`)) {
		t.Error("the thinking did not come through")
	}
}

// flatten joins the contents of all messages.
func flatten(lines []line) (all []byte) {
	for _, l := range lines {
		all = append(all, l.Message.Content...)
	}
	return all
}

func TestRealTools(t *testing.T) {
	m := claudetest.NewModel()
	cmd, stderr := command(t.Context(), t, m, "--permission-mode=bypassPermissions")
	file := filepath.Join(cmd.Dir, "note.txt")
	if err := os.WriteFile(file, []byte("the word is swordfish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Add(
		claudetest.Say("I look.").With(claudetest.UseTools(
			claudetest.ScriptedCall{ID: "toolu_read", Name: "Read", Input: map[string]string{"file_path": file}},
			claudetest.ScriptedCall{ID: "toolu_bash", Name: "Bash", Input: map[string]string{"command": "echo $((6*7)); exit 3"}},
		)),
		claudetest.Say("It is swordfish."),
	)
	lines := run(t, m, cmd, stderr, userLine("read it"))
	if got := result(t, lines); got.IsError || got.Result != "It is swordfish." {
		t.Errorf("result = %+v", got)
	}
	calls := slices.DeleteFunc(m.Calls(), func(c *claudetest.ModelCall) bool { return c.Side }) // old CLIs have more of them
	if len(calls) != 2 || len(calls[1].ToolResults) != 2 || calls[1].Prompt != "read it" {
		t.Fatalf("%d calls, want 2, the second with 2 tool results and the same prompt", len(calls))
	}
	for _, r := range calls[1].ToolResults {
		want, failed := "swordfish", false
		if r.ToolUseID == "toolu_bash" {
			want, failed = "42", true
		}
		if !strings.Contains(r.Text, want) || r.IsError != failed {
			t.Errorf("tool result %s = %q, error %v; want %q, %v", r.ToolUseID, r.Text, r.IsError, want, failed)
		}
	}
}

func TestRealWithoutTools(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a conversation that is known without tools")
	m := claudetest.NewModel(claudetest.Say("plain"))
	cmd, stderr := command(t.Context(), t, m, "--tools=", "--model=haiku")
	if got := result(t, run(t, m, cmd, stderr, userLine("hi"))); got.Result != "plain" {
		t.Errorf("result = %+v, want the scripted reply even without tools on a small model", got)
	}
}

func TestRealAPIError(t *testing.T) {
	realcli.Needs(t, "2.1.325", "the status of the API in a result")
	m := claudetest.NewModel(
		claudetest.Say("first turn"),
		claudetest.Fail(400, "invalid_request_error", "that was wrong").Forever(),
		claudetest.Say("not reached"))
	cmd, stderr := command(t.Context(), t, m)
	got := result(t, run(t, m, cmd, stderr, userLine("hi"), userLine("and again")))
	if !got.IsError || got.APIStatus != 400 || !strings.Contains(got.Result, "that was wrong") {
		t.Errorf("result = %+v, want the error of the API", got)
	}
	if m.Unused() != 1 {
		t.Errorf("%d replies unused, want the last one", m.Unused())
	}
}

func TestRealRecovers(t *testing.T) {
	tests := []struct {
		name  string
		first claudetest.Reply
	}{
		{"overloaded", claudetest.Fail(529, "overloaded_error", "Overloaded").Header("retry-after", "0")},
		{"cut", claudetest.Say("this is never finished").Cut()},
		{"error event", claudetest.Say("this is never finished").CutWith("overloaded_error", "Overloaded")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := claudetest.NewModel(tt.first, claudetest.Say("second try"))
			cmd, stderr := command(t.Context(), t, m)
			got := result(t, run(t, m, cmd, stderr, userLine("hi")))
			if got.IsError || got.Result != "second try" || m.Unused() != 0 {
				t.Errorf("result = %+v, %d replies unused", got, m.Unused())
			}
		})
	}
}

func TestRealSideCall(t *testing.T) {
	realcli.Needs(t, "2.1.325", "the request for a title")
	m := claudetest.NewModel(claudetest.Say("from the script"))
	m.HandleSide(func(c *claudetest.ModelCall) claudetest.Reply { return claudetest.Say(`{"title":"A short name"}`) })
	cmd, stderr := command(t.Context(), t, m)
	lines := run(t, m, cmd, stderr,
		`{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}`,
		`{"type":"control_request","request_id":"2","request":{"subtype":"generate_session_title","description":"make a thing","persist":false}}`,
		userLine("hi"))
	var title string
	var said bool
	for _, l := range lines {
		var r struct{ Title string }
		if l.Type == "control_response" && json.Unmarshal(l.Response.Response, &r) == nil && r.Title != "" {
			title = r.Title
		}
		said = said || l.Type == "result" && l.Result == "from the script"
	}
	if title != "A short name" || !said {
		t.Errorf("title = %q, scripted reply given: %v", title, said)
	}
}

// TestRealHold interrupts a turn at a known moment: while the model is held in
// the middle of its reply.
func TestRealHold(t *testing.T) {
	realcli.Needs(t, "2.1.325", "the reason for the end of a turn")
	m := claudetest.NewModel(claudetest.Say("a long story that never ends, as far as we know").Hold(make(chan struct{})))
	cmd, stderr := command(t.Context(), t, m, "--include-partial-messages")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write := func(s string) {
		if _, err := io.WriteString(stdin, s+"\n"); err != nil {
			t.Error(err)
		}
	}
	write(`{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}`)
	write(userLine("tell me a story"))
	var last line
	deltas := 0
	for dec := json.NewDecoder(stdout); ; {
		var l line
		if err := dec.Decode(&l); err != nil {
			break
		}
		if l.Event.Type == "content_block_delta" {
			if deltas++; deltas == 1 {
				write(`{"type":"control_request","request_id":"2","request":{"subtype":"interrupt"}}`)
			}
		}
		if l.Type == "result" {
			last = l
			stdin.Close()
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Logf("exit: %v, stderr: %s", err, stderr)
	}
	if deltas == 0 || last.Type != "result" || last.Terminal != "aborted_streaming" {
		t.Errorf("%d deltas, result %+v; want a turn aborted while streaming", deltas, last)
	}
}

// TestRealInterruptBeforeTurn interrupts before the turn of a prompt has begun.
// The CLI ends that turn, although it may name the prompt as still queued, and
// the scripted CLI must do so too (TestInterruptAtOnce of package host). An
// interrupt that comes before the prompt does nothing.
func TestRealInterruptBeforeTurn(t *testing.T) {
	realcli.Needs(t, "2.1.325", "the reason for the end of a turn")
	const (
		initialize = `{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}` + "\n"
		prompt     = `{"type":"user","uuid":"11111111-1111-4111-8111-111111111111","message":{"role":"user","content":"tell me a story"},"parent_tool_use_id":null}` + "\n"
		interrupt  = `{"type":"control_request","request_id":"2","request":{"subtype":"interrupt"}}` + "\n"
	)
	for _, test := range []struct {
		name  string
		first string // is written before the CLI has read anything
		on    string // the state of the prompt at which it is interrupted
		lost  bool
	}{
		{"right behind the prompt", initialize + prompt + interrupt, "", false},
		{"queued", initialize + prompt, "queued", false},
		{"started", initialize + prompt, "started", false},
		{"before the prompt", initialize + interrupt + prompt, "", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := claudetest.NewModel(claudetest.Say("a long story that never ends, as far as we know").Hold(make(chan struct{})))
			cmd, stderr := command(ctx, t, m, "--include-partial-messages")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			write := func(s string) {
				if _, err := io.WriteString(stdin, s); err != nil {
					t.Error(err)
				}
			}
			write(test.first)
			var result line
			streams := false // the model is heard: the turn continues
			for dec := json.NewDecoder(stdout); result.Type == "" && !streams; {
				var l struct {
					line
					State string
				}
				if err := dec.Decode(&l); err != nil {
					t.Fatalf("%v, stderr: %s", err, stderr)
				}
				if l.Type == "command_lifecycle" && l.State == test.on {
					write(interrupt)
				}
				if l.Type == "result" {
					result = l.line
				}
				streams = l.Event.Type == "content_block_delta" && test.lost
			}
			cancel()
			_ = cmd.Wait() // it was stopped
			if streams != test.lost || !test.lost && result.Terminal != "aborted_streaming" {
				t.Errorf("the turn continues: %v, want %v; result %+v", streams, test.lost, result)
			}
		})
	}
}

func TestRealBigText(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a long line before the exit")
	const word, count = "0123456789abcde ", 20 << 20 / 16
	m := claudetest.NewModel(claudetest.Say(strings.Repeat(word, count) + "."))
	cmd, stderr := command(t.Context(), t, m)
	cmd.Stdin = strings.NewReader(userLine("hi") + "\n")
	out, err := cmd.Output()
	// Once in the assistant message and once in the result.
	if got, want := bytes.Count(out, []byte(word)), 2*count; got != want || err != nil {
		t.Errorf("%d words in %d bytes, want %d; exit %v, stderr %s", got, len(out), want, err, stderr)
	}
}
