package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// real is the real CLI behind a scripted model.
type real struct {
	model *claudetest.Model
	local *acp.Local
	dir   string
}

func newReal(t *testing.T) *real {
	t.Helper()
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	dir := filepath.Join(home, "project")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return &real{model, &acp.Local{Options: &claude.Options{CLIPath: cli, Env: env}}, dir}
}

// capable is an editor that can show everything.
func capable() schema.ClientCapabilities {
	return schema.ClientCapabilities{
		Meta: map[string]any{"terminal_output": true}, Elicitation: &schema.ElicitationCapabilities{Form: new(schema.ElicitationFormCapabilities)},
		Session: &schema.ClientSessionCapabilities{ConfigOptions: &schema.SessionConfigOptionsCapabilities{Boolean: new(schema.BooleanConfigOptionCapabilities)}},
	}
}

// kinds names updates in a word or two each; pieces of a text count once.
func kinds(updates []schema.SessionUpdate) (names []string) {
	for _, up := range updates {
		data, err := json.Marshal(up)
		if err != nil {
			return append(names, err.Error())
		}
		var u struct{ SessionUpdate, ToolCallID, Status, Title string }
		json.Unmarshal(data, &u)
		name := strings.TrimSpace(u.SessionUpdate + " " + u.Status)
		if strings.HasSuffix(name, "_chunk") && len(names) > 0 && names[len(names)-1] == name {
			continue
		}
		if name != "available_commands_update" && name != "session_info_update" {
			names = append(names, name)
		}
	}
	return names
}

// TestReal drives a session on the real CLI: tools with and without permission,
// diffs, a plan, modes and options, then lists, loads and deletes it.
func TestReal(t *testing.T) {
	r := newReal(t)
	path := filepath.Join(r.dir, "a.txt")
	if err := os.WriteFile(path, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var asked []*schema.RequestPermissionRequest
	answer := schema.PermissionOptionID("allow-once")
	d := drive.Start(t, r.local, drive.Setup{Capabilities: capable(), Permission: func(_ context.Context, req *schema.RequestPermissionRequest) schema.PermissionOptionID {
		asked = append(asked, req)
		return answer
	}})
	id := d.New(t, r.dir)
	turn := func(t *testing.T, text string, replies ...claudetest.Reply) (*schema.PromptResponse, []schema.SessionUpdate) {
		t.Helper()
		r.model.Add(replies...)
		before := len(d.Updates(id))
		resp, err := d.Prompt(t.Context(), id, text)
		if err != nil {
			t.Fatal(err)
		}
		ups := d.Updates(id)[before:]
		t.Logf("%s: %q", resp.StopReason, kinds(ups))
		return resp, ups
	}
	want := func(t *testing.T, ups []schema.SessionUpdate, names ...string) {
		t.Helper()
		if got := kinds(ups); !slices.Equal(got, names) {
			t.Errorf("updates %q\nwant    %q", got, names)
		}
	}
	t.Run("command", func(t *testing.T) {
		resp, ups := turn(t, "Run it.", claudetest.Say("I will.").With(claudetest.UseTool("Bash", map[string]string{"command": "mkdir -p zz && echo hello"})), claudetest.Say("done"))
		want(t, ups, "agent_message_chunk", "tool_call pending", "tool_call_update", "tool_call_update", "tool_call_update", "tool_call_update completed", "agent_message_chunk", "usage_update")
		if resp.StopReason != schema.StopReasonEndTurn || len(asked) != 1 || *asked[0].ToolCall.Title != "mkdir -p zz && echo hello" {
			t.Errorf("ended %s, asked %+v", resp.StopReason, asked)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "zz")); err != nil {
			t.Error(err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		answer = "reject"
		defer func() { answer = "allow-once" }()
		_, ups := turn(t, "Again.", claudetest.UseTool("Bash", map[string]string{"command": "mkdir yy"}), claudetest.Say("ok, not"))
		want(t, ups, "usage_update", "tool_call pending", "tool_call_update", "tool_call_update", "tool_call_update failed", "agent_message_chunk", "usage_update")
		if _, err := os.Stat(filepath.Join(r.dir, "yy")); err == nil {
			t.Error("a refused command ran")
		}
	})
	t.Run("edit", func(t *testing.T) {
		_, ups := turn(t, "Edit.", claudetest.UseTool("Read", map[string]string{"file_path": path}),
			claudetest.UseTool("Edit", map[string]string{"file_path": path, "old_string": "two", "new_string": "zwei"}),
			claudetest.UseTool("Write", map[string]string{"file_path": filepath.Join(r.dir, "b.txt"), "content": "new\n"}), claudetest.Say("edited"))
		want(t, ups, "usage_update", "tool_call pending", "tool_call_update", "tool_call_update", "tool_call_update completed",
			"tool_call pending", "tool_call_update", "tool_call_update", "tool_call_update completed",
			"tool_call pending", "tool_call_update", "tool_call_update", "tool_call_update completed", "agent_message_chunk", "usage_update")
		var diffs []string
		for _, up := range ups {
			if up.ToolCallUpdate != nil {
				for _, c := range up.ToolCallUpdate.Content {
					if c.Diff != nil && c.Diff.OldText != nil {
						diffs = append(diffs, *c.Diff.OldText+" > "+c.Diff.NewText)
					}
				}
			}
		}
		if !slices.Equal(diffs, []string{"two > zwei", "one\ntwo\nthree > one\nzwei\nthree"}) {
			t.Errorf("diffs %q", diffs)
		}
		if last := asked[len(asked)-1]; len(last.Options) != 3 || last.Options[1].Kind != schema.PermissionOptionKindAllowAlways {
			t.Errorf("options %+v, want one for always", last.Options)
		}
	})
	t.Run("options", func(t *testing.T) {
		var resp schema.SetSessionConfigOptionResponse
		for option, value := range map[schema.SessionConfigID]string{"model": `"sonnet"`, "thinking": "false", "mode": `"plan"`} {
			if err := d.Call(t.Context(), schema.MethodAgentSessionSetConfigOption, schema.SetSessionConfigOptionRequest{SessionID: id, ConfigID: option, Value: json.RawMessage(value)}, &resp); err != nil {
				t.Errorf("%s: %v", option, err)
			}
		}
		if err := d.Call(t.Context(), schema.MethodAgentSessionSetConfigOption, schema.SetSessionConfigOptionRequest{SessionID: id, ConfigID: "effort", Value: json.RawMessage(`"high"`)}, &resp); err != nil {
			t.Errorf("effort: %v", err)
		}
		for _, o := range resp.ConfigOptions {
			t.Logf("%s = %s", o.ID, o.CurrentValue)
		}
		answer = "exit-plan-default"
		defer func() { answer = "allow-once" }()
		_, ups := turn(t, "Plan.", claudetest.UseTool("ExitPlanMode", map[string]string{"plan": "# Plan"}), claudetest.Say("after"))
		if !slices.ContainsFunc(ups, func(up schema.SessionUpdate) bool {
			return up.CurrentModeUpdate != nil && up.CurrentModeUpdate.CurrentModeID == "default"
		}) {
			t.Errorf("updates %q, want the mode changed back", kinds(ups))
		}
		err := d.Call(t.Context(), schema.MethodAgentSessionSetMode, schema.SetSessionModeRequest{SessionID: id, ModeID: "bypassPermissions"}, nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInvalidParams {
			t.Errorf("bypass: %v, want it refused", err)
		}
	})
	t.Run("load", func(t *testing.T) {
		var list schema.ListSessionsResponse
		if err := d.Call(t.Context(), schema.MethodAgentSessionList, schema.ListSessionsRequest{Cwd: &r.dir}, &list); err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionID != id {
			t.Fatalf("list %+v, %v, want the session", list, err)
		}
		before := len(d.Updates(id))
		if err := d.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: r.dir}, nil); err != nil {
			t.Fatal(err)
		}
		ups := kinds(d.Updates(id)[before:])
		t.Logf("replayed: %q", ups)
		begin := []string{"user_message_chunk", "agent_message_chunk", "tool_call pending", "tool_call_update", "tool_call_update completed", "agent_message_chunk", "user_message_chunk", "tool_call pending", "tool_call_update", "tool_call_update failed", "agent_message_chunk"}
		if len(ups) < len(begin) || !slices.Equal(ups[:len(begin)], begin) {
			t.Errorf("replayed %q, want it to begin with %q", ups, begin)
		}
		turn(t, "More.", claudetest.Say("more"))
		if !strings.HasSuffix(d.Text(id), "more") {
			t.Errorf("text %q, want the answer after the load", d.Text(id))
		}
		for _, method := range []string{schema.MethodAgentSessionClose, schema.MethodAgentSessionDelete} {
			if err := d.Call(t.Context(), method, map[string]any{"sessionId": id}, nil); err != nil {
				t.Errorf("%s: %v", method, err)
			}
		}
		err := d.Call(t.Context(), schema.MethodAgentSessionResume, schema.ResumeSessionRequest{SessionID: id, Cwd: r.dir}, nil)
		if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
			t.Errorf("resume of a deleted session: %v, want not found", err)
		}
	})
}

// TestRealCancel cancels while the model answers and while a question is open.
func TestRealCancel(t *testing.T) {
	r := newReal(t)
	asked, withdrawn := make(chan struct{}), make(chan struct{})
	said := make(chan struct{}, 1)
	d := drive.Start(t, r.local, drive.Setup{Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
		close(asked)
		<-ctx.Done()
		close(withdrawn)
		return ""
	}, OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
		if up.AgentMessageChunk != nil {
			select {
			case said <- struct{}{}:
			default:
			}
		}
	}})
	id := d.New(t, r.dir)
	cancelled := func(wait <-chan struct{}, replies ...claudetest.Reply) {
		t.Helper()
		r.model.Add(replies...)
		done := make(chan *schema.PromptResponse, 1)
		go func() {
			resp, err := d.Prompt(t.Context(), id, "Go.")
			if err != nil {
				t.Errorf("prompt: %v", err)
			}
			done <- resp
		}()
		<-wait
		if _, err := d.Prompt(t.Context(), id, "Now."); err == nil || !strings.Contains(err.Error(), "session/cancel") {
			t.Errorf("a second prompt: %v, want it refused", err)
		}
		begin := time.Now()
		d.Cancel(t.Context(), id)
		d.Cancel(t.Context(), id)
		if resp := <-done; resp.StopReason != schema.StopReasonCancelled {
			t.Errorf("ended %s, want cancelled", resp.StopReason)
		}
		t.Logf("cancelled in %v", time.Since(begin))
	}
	cancelled(said, claudetest.Say(strings.Repeat("word ", 200)).Chunks(5, 50*time.Millisecond))
	cancelled(asked, claudetest.UseTool("Bash", map[string]string{"command": "mkdir pp"}))
	<-withdrawn
	r.model.Add(claudetest.Say("still here"))
	if resp, err := d.Prompt(t.Context(), id, "And?"); err != nil || resp.StopReason != schema.StopReasonEndTurn || !strings.HasSuffix(d.Text(id), "still here") {
		t.Errorf("afterwards %+v, %v, %q", resp, err, d.Text(id))
	}
}

// TestRealError reports an error of the API as that of the prompt.
func TestRealError(t *testing.T) {
	r := newReal(t)
	r.model.Add(claudetest.Fail(400, "invalid_request_error", "bad thing").Forever())
	d := drive.Start(t, r.local, drive.Setup{})
	id := d.New(t, r.dir)
	_, err := d.Prompt(t.Context(), id, "Fail.")
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeInternalError || !strings.Contains(e.Message, "bad thing") || !strings.Contains(string(e.Data), "errorKind") {
		t.Errorf("error %v, want that of the API", err)
	}
	if got := kinds(d.Updates(id)); !slices.Equal(got, []string{"agent_message_chunk"}) {
		t.Errorf("updates %q, want the error as text", got)
	}
}

// TestRealLoadTold loads a session in which slash commands ran: it shows what they have
// printed for people and that the context was compacted, as it was shown live.
func TestRealLoadTold(t *testing.T) {
	r := newReal(t)
	d := drive.Start(t, r.local, drive.Setup{Capabilities: capable()})
	id := d.New(t, r.dir)
	r.model.Add(claudetest.Say("Hello."), claudetest.Say("<summary>They said hello.</summary>"), claudetest.Say("More."))
	for _, prompt := range []string{"Say hello.", "/compact", "More.", "/context"} {
		if _, err := d.Prompt(t.Context(), id, prompt); err != nil {
			t.Fatal(err)
		}
	}
	live := toldOf(d.Updates(id))
	d.Close()
	two := drive.Start(t, r.local, drive.Setup{Capabilities: capable()})
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: r.dir}, nil); err != nil {
		t.Fatal(err)
	}
	loaded := toldOf(two.Updates(id))
	count := func(told []string, what string) (n int) {
		for _, s := range told {
			if strings.Contains(s, what) {
				n++
			}
		}
		return n
	}
	for _, what := range []string{"## Context Usage", "call in_progress Compact conversation", "update completed ", `"trigger":"manual"`} {
		if count(live, what) != 1 || count(loaded, what) != 1 {
			t.Errorf("%q was shown %d times live and %d times when loaded, want once", what, count(live, what), count(loaded, what))
		}
	}
	if text := two.Text(id); strings.Count(text, "Hello.") != 1 || strings.Count(text, "More.") != 1 || strings.Index(text, "Hello.") > strings.Index(text, "More.") {
		t.Errorf("loaded, the answers are %q, want each once, that before the compaction first", text)
	}
	if count(loaded, "local-command") > 0 || count(loaded, "They said hello") != count(live, "They said hello") {
		t.Errorf("loaded %q, live %q", loaded, live)
	}
}

// TestRealCompactionSummary compacts a session of the real CLI in an editor that shows
// compactions: it sees what was left of the conversation, live and when the session is
// loaded, without what the CLI adds for the model.
func TestRealCompactionSummary(t *testing.T) {
	r := newReal(t)
	can := capable()
	can.Session.Compaction = new(schema.CompactionCapabilities)
	d := drive.Start(t, r.local, drive.Setup{Capabilities: can})
	id := d.New(t, r.dir)
	r.model.Add(claudetest.Say("Hello."), claudetest.Say("<analysis>Hm.</analysis>\n<summary>\n1. They said hello.\n\n2. Nothing is left to do.\n</summary>"), claudetest.Say("More."))
	for _, prompt := range []string{"Say hello.", "/compact", "More."} {
		if _, err := d.Prompt(t.Context(), id, prompt); err != nil {
			t.Fatal(err)
		}
	}
	compactions := func(d *drive.Driver) (got []string) {
		for _, told := range toldOf(d.Updates(id)) {
			if strings.HasPrefix(told, "compaction ") {
				got = append(got, told)
			}
		}
		return got
	}
	want := []string{"compaction in_progress", "compaction completed", "compaction completed: 1. They said hello.\n\n2. Nothing is left to do."}
	if got := compactions(d); !slices.Equal(got, want) {
		t.Errorf("shown %q, want %q", got, want)
	}
	if text := d.Text(id); text != "Hello.More." {
		t.Errorf("said %q", text)
	}
	d.Close()
	two := drive.Start(t, r.local, drive.Setup{Capabilities: can})
	if err := two.Call(t.Context(), schema.MethodAgentSessionLoad, schema.LoadSessionRequest{SessionID: id, Cwd: r.dir}, nil); err != nil {
		t.Fatal(err)
	}
	if got := compactions(two); !slices.Equal(got, want) {
		t.Errorf("loaded, shown %q, want %q", got, want)
	}
}

// TestRealCompactionGivenUp lets a hook block the compactions that the CLI begins by itself.
// The CLI reports no result of them. The editor sees each end before the answer comes.
func TestRealCompactionGivenUp(t *testing.T) {
	r := newReal(t)
	r.local.Options.Env = append(r.local.Options.Env, "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=5")
	r.local.Options.Hooks = []hook.Hook{hook.PreCompact("", func(context.Context, *hook.PreCompactInput) (*hook.GateOutput, error) {
		return &hook.GateOutput{Common: hook.Common{Block: true, Reason: "not now"}}, nil
	})}
	release := make(chan struct{})
	gaveUp := make(chan string, 10)
	d := drive.Start(t, r.local, drive.Setup{Capabilities: capable(), OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
		if up.ToolCallUpdate != nil {
			gaveUp <- string(up.ToolCallUpdate.Status)
		}
	}})
	id := d.New(t, r.dir)
	full := claudetest.ReplyUsage{InputTokens: 185_000, OutputTokens: 5}
	r.model.Add(claudetest.Say("One.").Usage(full), claudetest.Say("Two.").Hold(release))
	for i, prompt := range []string{"one", "two"} {
		ended := make(chan error, 1)
		go func() {
			_, err := d.Prompt(context.WithoutCancel(t.Context()), id, prompt)
			ended <- err
		}()
		if i == 1 {
			select {
			case got := <-gaveUp:
				if got != "failed" {
					t.Errorf("the compaction is shown as %s", got)
				}
			case err := <-ended:
				t.Fatalf("the turn has ended without an end of the compaction: %v", err)
			}
			close(release)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}
