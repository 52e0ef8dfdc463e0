package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/tool"
)

// real is the real CLI with a scripted model behind it.
type real struct {
	t     *testing.T
	model *claudetest.Model
	opts  *claude.Options
}

func realCLI(t *testing.T, server claude.MCPServer, replies ...claudetest.Reply) *real {
	t.Helper()
	path := realcli.Need(t, realcli.Tested())
	model := claudetest.NewModel(replies...)
	url, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, _ := realcli.Env(t, url)
	return &real{t: t, model: model, opts: &claude.Options{
		CLIPath: path, Env: env, Cwd: t.TempDir(),
		MCPServers: claude.MCPServers{"x": server}, AllowedTools: []string{"mcp__x"},
	}}
}

func (r *real) connect() *claude.Session {
	r.t.Helper()
	s, err := claude.Connect(r.t.Context(), r.opts)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			r.t.Error(err)
		}
		if err := s.Wait(); err != nil {
			r.t.Errorf("Wait = %v", err)
		}
	})
	return s
}

// results returns what the model got back from its tools in its last call.
func (r *real) results() []claudetest.ToolResult {
	r.t.Helper()
	calls := r.model.Calls()
	if len(calls) == 0 {
		r.t.Fatal("the model was not called")
	}
	return calls[len(calls)-1].ToolResults
}

func TestRealTypedTool(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	var session *claude.Session
	var id string
	move := tool.New("move", "Move", func(ctx context.Context, in point) (point, error) {
		session, id = claude.SessionFrom(ctx), tool.UseID(ctx)
		if err := tool.ReportProgress(ctx, 1, 2, "half way"); err != nil {
			return point{}, err
		}
		return point{in.X + 1, in.Y + 1}, nil
	})
	r := realCLI(t, tool.NewServer(move),
		claudetest.UseTools(claudetest.ScriptedCall{ID: "toolu_1", Name: "mcp__x__move", Input: point{1, 2}}), claudetest.Say("moved"))
	s := r.connect()
	var transcript string
	for msg, err := range s.Run(t.Context(), "move") {
		if err != nil {
			t.Fatal(err)
		}
		if m, ok := msg.(*message.User); ok {
			transcript += string(m.ToolUseResult)
		}
	}
	if got := r.results(); len(got) != 1 || got[0].Text != `{"x":2,"y":3}` || got[0].IsError {
		t.Errorf("results %+v", got)
	}
	if realcli.Has("2.1.325") && !strings.Contains(transcript, `"structuredContent":{"x":2,"y":3}`) {
		t.Errorf("the transcript has %s", transcript)
	}
	if session != s || id != "toolu_1" {
		t.Errorf("session %p, want %p; id %q", session, s, id)
	}
}

func TestRealBadArguments(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	called := false
	r := realCLI(t, tool.NewServer(tool.New("move", "", func(context.Context, point) (string, error) {
		called = true
		return "", nil
	})), claudetest.UseTool("mcp__x__move", map[string]any{"x": "one"}), claudetest.Say("sorry"))
	if _, err := claude.Ask(t.Context(), "move", r.opts); err != nil {
		t.Fatal(err)
	}
	if got := r.results(); len(got) != 1 || !got[0].IsError || !strings.Contains(got[0].Text, "invalid arguments") || called {
		t.Errorf("results %+v, called %v", got, called)
	}
}

// Calls of a read-only tool run at the same time, and each gets its own answer
// in whatever order they come.
func TestRealParallelCallsInReverse(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	turn := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	arrived := make(chan int, 3)
	answered := make(chan int, 3)
	r := realCLI(t, tool.NewServer(tool.New("wait", "", func(ctx context.Context, in struct{ N int }) (string, error) {
		arrived <- in.N
		select {
		case <-turn[in.N]:
			return fmt.Sprint("answer ", in.N), nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}).ReadOnly()), claudetest.UseTools(
		claudetest.ScriptedCall{ID: "toolu_0", Name: "mcp__x__wait", Input: map[string]int{"N": 0}},
		claudetest.ScriptedCall{ID: "toolu_1", Name: "mcp__x__wait", Input: map[string]int{"N": 1}},
		claudetest.ScriptedCall{ID: "toolu_2", Name: "mcp__x__wait", Input: map[string]int{"N": 2}},
	), claudetest.Say("done"))
	go func() {
		for range 3 {
			<-arrived // all run before one is answered
		}
		close(turn[2])
	}()
	r.opts.Trace = &claude.Trace{FrameWritten: func(line []byte) {
		for n := range 3 {
			if strings.Contains(string(line), fmt.Sprint("answer ", n)) {
				answered <- n
				if n > 0 {
					close(turn[n-1]) // the next one when this one is on its way
				}
			}
		}
	}}
	if _, err := claude.Ask(t.Context(), "wait", r.opts); err != nil {
		t.Fatal(err)
	}
	got := r.results()
	if len(got) != 3 {
		t.Fatalf("results %+v", got)
	}
	for want := range 3 {
		if n := <-answered; n != 2-want {
			t.Errorf("answered %d instead of %d", n, 2-want)
		}
	}
	for _, one := range got { // in the order that the CLI likes
		if _, n, _ := strings.Cut(one.ToolUseID, "_"); one.Text != "answer "+n {
			t.Errorf("result of %s: %q", one.ToolUseID, one.Text)
		}
	}
}

func TestRealInterruptCancelsCall(t *testing.T) {
	realcli.Needs(t, "1.0.128", "an MCP server of this process")
	begun, ended := make(chan struct{}), make(chan error, 1)
	r := realCLI(t, tool.NewServer(tool.New("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		close(begun)
		<-ctx.Done()
		ended <- ctx.Err()
		return "late", nil
	})), claudetest.UseTool("mcp__x__wait", nil), claudetest.Say("next"))
	s := r.connect()
	go func() {
		<-begun
		if _, err := s.Interrupt(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	_, err := s.Ask(t.Context(), "wait")
	if failed, ok := errors.AsType[*claude.ResultError](err); !ok || realcli.Has("2.1.325") && failed.Result.TerminalReason != message.EndAbortedTools {
		t.Errorf("error = %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
}

func TestRealToolsChangeWhileRunning(t *testing.T) {
	realcli.Needs(t, "2.1.325", "a change of tools")
	named := func(name string) *tool.Tool {
		return tool.New(name, "", func(context.Context, struct{}) (string, error) { return name, nil })
	}
	server := tool.NewServer(named("one"))
	r := realCLI(t, server, claudetest.Say("1"), claudetest.Say("2"), claudetest.UseTool("mcp__x__two", nil), claudetest.Say("3"))
	s := r.connect()
	turn := func(want ...string) {
		t.Helper()
		var tools []string
		for msg, err := range s.Run(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := msg.(*message.Init); ok {
				tools = slices.DeleteFunc(slices.Clone(m.Tools), func(name string) bool { return !strings.HasPrefix(name, "mcp__") })
			}
		}
		if !slices.Equal(tools, want) {
			t.Errorf("tools %q, want %q", tools, want)
		}
	}
	// until waits for the CLI to have fetched the list: nothing announces it.
	until := func(want ...string) {
		t.Helper()
		var tools []string
		for range 200 {
			status, err := s.MCP().Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tools = nil
			for _, one := range status {
				for _, has := range one.Tools {
					tools = append(tools, has.Name)
				}
			}
			slices.Sort(tools)
			if slices.Equal(tools, want) {
				return
			}
		}
		t.Fatalf("tools %q, want %q", tools, want)
	}
	turn("mcp__x__one")
	if err := server.Add(named("two"), named("three")); err != nil {
		t.Fatal(err)
	}
	server.Remove("one")
	until("three", "two")
	turn("mcp__x__three", "mcp__x__two")
	turn("mcp__x__three", "mcp__x__two")
	if got := r.results(); len(got) != 1 || got[0].Text != "two" {
		t.Errorf("results %+v", got)
	}
}

// The result of a tool may be huge, broken or not a number, and the session
// continues.
func TestRealOddResults(t *testing.T) {
	realcli.Needs(t, "2.1.325", "long results in a file")
	r := realCLI(t, tool.NewServer(
		tool.New("huge", "", func(context.Context, struct{}) (string, error) { return strings.Repeat("abcdefgh\n", 20<<20/9), nil }),
		tool.New("broken", "", func(context.Context, struct{}) (string, error) { return "a\xff\xfeb", nil }),
		tool.New("nan", "", func(context.Context, struct{}) (map[string]float64, error) {
			return map[string]float64{"x": math.Inf(1)}, nil
		}),
		tool.New("number", "", func(context.Context, struct{}) (int, error) { return 42, nil }),
		tool.New("nothing", "", func(context.Context, struct{}) (any, error) { return nil, nil }),
		tool.New("panics", "", func(context.Context, struct{}) (any, error) { panic("boom") }),
		tool.New("raw", "", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"a":`), nil }),
	),
		claudetest.UseTool("mcp__x__huge", nil), claudetest.UseTool("mcp__x__broken", nil), claudetest.UseTool("mcp__x__nan", nil),
		claudetest.UseTool("mcp__x__number", nil), claudetest.UseTool("mcp__x__nothing", nil), claudetest.UseTool("mcp__x__panics", nil),
		claudetest.UseTool("mcp__x__raw", nil), claudetest.Say("done"), claudetest.Say("next"))
	s := r.connect()
	if res, err := s.Ask(t.Context(), "go"); err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	calls := r.model.Calls()
	for i, want := range []struct {
		text  string
		error bool
	}{
		{"", false}, {"a\ufffd\ufffdb", false}, {"cannot be encoded", true}, {"42", false}, {"", false}, {"the tool panicked: boom", true}, {"cannot be encoded", true},
	} {
		got := calls[i+1].ToolResults
		if len(got) != 1 || !strings.Contains(got[0].Text, want.text) || got[0].IsError != want.error {
			t.Errorf("result %d: %.200q, want %+v", i, got[0].Text, want)
		}
		if i == 0 {
			t.Logf("of 20 MB the model sees %d bytes: %.120q", len(got[0].Text), got[0].Text)
		}
	}
	if res, err := s.Ask(t.Context(), "again"); err != nil || res.Text != "next" {
		t.Errorf("next turn: %+v, %v", res, err)
	}
}
