package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/permission"
)

func TestOperations(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.succeed(c.request("interrupt"), `{"still_queued":["a"]}`)
		for _, want := range []string{`{"subtype":"set_model","model":"opus"}`, `{"subtype":"set_model","model":null}`} {
			r := c.request("set_model")
			if string(r.Body) != want {
				c.t.Errorf("got %s, want %s", r.Body, want)
			}
			c.succeed(r, "null")
		}
		r := c.request("set_permission_mode")
		if string(r.Body) != `{"subtype":"set_permission_mode","mode":"plan"}` {
			c.t.Errorf("got %s", r.Body)
		}
		c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s}}`, string(r.ID))
		r = c.request("rewind_files")
		if string(r.Body) != `{"subtype":"rewind_files","user_message_id":"m-1"}` {
			c.t.Errorf("got %s", r.Body)
		}
		c.succeed(r, `{"canRewind":true,"filesChanged":["a.txt"]}`)
		c.succeed(c.request("get_session_cost"), `{"text":"free"}`)
		c.refuse(c.request("set_permission_mode"), "not launched so", "bypass_not_launched")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		done := 0
		o.Trace = &claude.Trace{RequestDone: func(claude.TraceRequest) { done++ }}
		s := connect(t, o)
		if got, err := s.Interrupt(t.Context()); err != nil || len(got.StillQueued) != 1 {
			t.Errorf("Interrupt = %+v, %v", got, err)
		}
		for _, model := range []string{"opus", ""} {
			if err := s.SetModel(t.Context(), model); err != nil {
				t.Error(err)
			}
		}
		if err := s.SetPermissionMode(t.Context(), permission.ModePlan); err != nil {
			t.Error(err)
		}
		if got, err := s.Files().Rewind(t.Context(), "m-1"); err != nil || !got.CanRewind {
			t.Errorf("RewindFiles = %+v, %v", got, err)
		}
		var cost struct{ Text string }
		if err := s.Control(t.Context(), "get_session_cost", nil, &cost); err != nil {
			t.Error(err)
		}
		err := s.SetPermissionMode(t.Context(), permission.ModeBypassPermissions)
		if refused, ok := errors.AsType[*claude.ControlError](err); !ok || refused.Code != "bypass_not_launched" || refused.Message != "not launched so" || refused.Op != "set_permission_mode" {
			t.Errorf("error = %v", err)
		}
		finish(t, s)
		if done != 8 { // the handshake counts
			t.Errorf("%d operations traced, want 8", done)
		}
	})
}

func TestOperationTimeouts(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for {
			if _, ok := c.hear(); !ok {
				return
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		s := connect(t, o)
		for op, tt := range map[string]struct {
			call func() error
			took time.Duration
		}{
			"interrupt":           {func() error { _, err := s.Interrupt(t.Context()); return err }, 5 * time.Second},
			"set_model":           {func() error { return s.SetModel(t.Context(), "x") }, 5 * time.Second},
			"set_permission_mode": {func() error { return s.SetPermissionMode(t.Context(), permission.ModePlan) }, 5 * time.Second},
			"rewind_files":        {func() error { _, err := s.Files().Rewind(t.Context(), "m"); return err }, 30 * time.Second},
		} {
			begin := time.Now()
			err := tt.call()
			failed, ok := errors.AsType[*claude.ControlError](err)
			if !ok || !errors.Is(err, claude.ErrTimeout) || failed.Op != op || !strings.HasPrefix(failed.RequestID, "req_") ||
				!strings.Contains(err.Error(), op) || !strings.Contains(err.Error(), failed.RequestID) {
				t.Errorf("%s: error = %v", op, err)
			}
			if took := time.Since(begin); took != tt.took {
				t.Errorf("%s took %v, want %v", op, took, tt.took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.SetModel(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, claude.ErrTimeout) {
			t.Errorf("with the caller's deadline: %v", err)
		}
		finish(t, s)
	})
}

// TestOwnTimeouts asks a CLI that never answers, and lets it wait for a callback
// that never returns.
func TestOwnTimeouts(t *testing.T) {
	answered := make(chan time.Time, 1)
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		for {
			f, ok := c.hear()
			if !ok {
				return
			}
			if strings.Contains(string(f.Line), `"behavior":"deny"`) {
				answered <- time.Now()
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		answered = make(chan time.Time, 1)
		o.FileCheckpointing = true
		o.Timeouts = claude.Timeouts{Control: time.Second, Rewind: 2 * time.Second, MCP: 3 * time.Second, Callback: 4 * time.Second}
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Allow(), nil
		}
		start := time.Now()
		s := connect(t, o)
		if took := (<-answered).Sub(start); took != 4*time.Second {
			t.Errorf("the callback had %v", took)
		}
		for want, call := range map[time.Duration]func() error{
			time.Second:     func() error { return s.SetModel(t.Context(), "x") },
			2 * time.Second: func() error { return second(s.Files().Rewind(t.Context(), "m")) },
			3 * time.Second: func() error { return s.MCP().Reconnect(t.Context(), "x") },
		} {
			begin := time.Now()
			if err := call(); !errors.Is(err, claude.ErrTimeout) || time.Since(begin) != want {
				t.Errorf("%v after %v, want a timeout after %v", err, time.Since(begin), want)
			}
		}
		finish(t, s)
	})
}

// TestQueueLimit performs two operations before the handshake is done, where
// there is room for one.
func TestQueueLimit(t *testing.T) {
	play := func(c *cli) {
		init := c.request("initialize")
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"elicitation","message":"?"}}`)
		c.hear() // answered
		c.succeed(init, "{}")
		c.succeed(c.request("set_model"), "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Queued = 1
		first := make(chan error, 1)
		o.OnElicitation = func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
			s := claude.SessionFrom(ctx)
			go func() { first <- s.SetModel(t.Context(), "a") }()
			synctest.Wait()
			if err := s.SetModel(ctx, "b"); !errors.Is(err, claude.ErrQueueFull) {
				t.Errorf("the second operation: %v", err)
			}
			return control.Decline(), nil
		}
		s := connect(t, o)
		if err := <-first; err != nil {
			t.Errorf("the first operation: %v", err)
		}
		finish(t, s)
	})
}

func TestTooManyPendingOperations(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for {
			if _, ok := c.hear(); !ok {
				return
			}
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Pending = 3
		s := connect(t, o)
		failed := make(chan error, 3)
		for range 3 {
			go func() { failed <- s.Control(t.Context(), "slow", nil, nil) }()
		}
		synctest.Wait()
		if err := s.SetModel(t.Context(), "x"); !errors.Is(err, claude.ErrTooManyPending) || !strings.Contains(err.Error(), "max 3") {
			t.Errorf("error = %v", err)
		}
		s.Close()
		for range 3 {
			if err := <-failed; !errors.Is(err, claude.ErrClosed) {
				t.Errorf("pending operation: %v", err)
			}
		}
	})
}

func TestRewindNeedsCheckpoints(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if _, err := s.Files().Rewind(t.Context(), "m-1"); !errors.Is(err, claude.ErrNoCheckpoints) {
			t.Errorf("error = %v", err)
		}
		finish(t, s)
	})
}

func TestFailedOperationNamesItsRequest(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.hear(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed, ok := errors.AsType[*claude.ControlError](s.Control(ctx, "slow", nil, nil))
		if !ok || failed.RequestID != "req_1" || !errors.Is(failed, context.DeadlineExceeded) {
			t.Errorf("error = %v", failed)
		}
		finish(t, s)
	})
}

// methodCase is one method of a session, what it sends and what comes back.
type methodCase struct {
	sent, reply string
	call        func(ctx context.Context, s *claude.Session) (any, error)
	want        string
}

func operations() []methodCase {
	type c = context.Context
	type s = *claude.Session
	type m = map[string]any
	none := func(err error) (any, error) { return nil, err }
	return []methodCase{
		{`{"subtype":"interrupt","cancel_queued":true}`, `{"still_queued":[],"cancelled":["a"]}`,
			func(ctx c, s s) (any, error) { return s.InterruptAll(ctx) }, `{"still_queued":[],"cancelled":["a"]}`},
		{`{"subtype":"cancel_async_message","message_uuid":"m"}`, `{"cancelled":true}`, func(ctx c, s s) (any, error) { return s.CancelPrompt(ctx, "m") }, `true`},
		{`{"subtype":"side_question","question":"q"}`, `{"response":"r"}`, func(ctx c, s s) (any, error) { return s.AskSideQuestion(ctx, "q") }, `{"response":"r"}`},
		{`{"subtype":"rename_session","title":"t","source":"host"}`, `null`, func(ctx c, s s) (any, error) { return none(s.Rename(ctx, "t")) }, `null`},
		{`{"subtype":"generate_session_title","description":"d","persist":true}`, `{"title":"t"}`, func(ctx c, s s) (any, error) { return s.GenerateTitle(ctx, "d", true) }, `"t"`},
		{`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":0}`, `null`, func(ctx c, s s) (any, error) {
			return none(s.SetThinking(ctx, claude.Thinking{Mode: claude.ThinkingDisabled}))
		}, `null`},
		{`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":9,"thinking_display":"omitted"}`, `null`,
			func(ctx c, s s) (any, error) {
				return none(s.SetThinking(ctx, claude.Thinking{Mode: claude.ThinkingEnabled, Budget: 9, Display: claude.ThinkingOmitted}))
			}, `null`},
		{`{"subtype":"set_max_thinking_tokens","max_thinking_tokens":null}`, `null`, func(ctx c, s s) (any, error) { return none(s.SetThinking(ctx, claude.Thinking{})) }, `null`},
		{`{"subtype":"get_settings"}`, `{"effective":{"a":1},"sources":[]}`, func(ctx c, s s) (any, error) { return s.Settings().Get(ctx) }, `{"effective":{"a":1},"sources":[]}`},
		{`{"subtype":"apply_flag_settings","settings":{"model":null}}`, `null`, func(ctx c, s s) (any, error) { return none(s.Settings().Set(ctx, m{"model": nil})) }, `null`},
		{`{"subtype":"update_settings","source":"localSettings","settings":{"a":1}}`, `{}`,
			func(ctx c, s s) (any, error) {
				return none(s.Settings().Save(ctx, claude.SettingSourceLocal, m{"a": 1}))
			}, `null`},
		{`{"subtype":"list_permission_rules"}`, `{"state":{"rules":[],"originalCwd":"/repo"}}`, func(ctx c, s s) (any, error) { r, err := s.Settings().PermissionRules(ctx); return r.OriginalCwd, err }, `"/repo"`},
		{`{"subtype":"get_hooks_listing"}`, `{"events":[],"hooks":[]}`, func(ctx c, s s) (any, error) { return s.Settings().Hooks(ctx) }, `{"events":[],"hooks":[]}`},
		{`{"subtype":"reload_plugins"}`, `{"error_count":2}`, func(ctx c, s s) (any, error) { r, err := s.Settings().ReloadPlugins(ctx); return r.ErrorCount, err }, `2`},
		{`{"subtype":"reload_plugins","add_plugins":[{"type":"local","path":"/p"}]}`, `{}`,
			func(ctx c, s s) (any, error) {
				r, err := s.Settings().ReloadPlugins(ctx, control.PluginConfig{Path: "/p"})
				return r.Held, err
			}, `false`},
		{`{"subtype":"reload_skills"}`, `{"skills":[{"name":"a"}]}`, func(ctx c, s s) (any, error) { return s.Settings().ReloadSkills(ctx) }, `[{"name":"a"}]`},
		{`{"subtype":"reload_output_styles"}`, `{"available_output_styles":["a"]}`, func(ctx c, s s) (any, error) { return s.Settings().ReloadOutputStyles(ctx) }, `["a"]`},
		{`{"subtype":"get_context_usage"}`, `{"totalTokens":7}`, func(ctx c, s s) (any, error) { r, err := s.ContextUsage(ctx); return r.TotalTokens, err }, `7`},
		{`{"subtype":"get_usage"}`, `{"session":{"total_cost_usd":0.5}}`, func(ctx c, s s) (any, error) { r, err := s.Usage(ctx); return r.Session.TotalCostUSD, err }, `0.5`},
		{`{"subtype":"get_session_cost"}`, `{"text":"free"}`, func(ctx c, s s) (any, error) { return s.Cost(ctx) }, `{"text":"free"}`},
		{`{"subtype":"list_models"}`, `{"models":[{"value":"opus"}]}`, func(ctx c, s s) (any, error) { return s.Models(ctx) }, `[{"value":"opus"}]`},
		{`{"subtype":"get_binary_version"}`, `{"version":"2"}`, func(ctx c, s s) (any, error) { return s.BinaryVersion(ctx) }, `{"version":"2"}`},
		{`{"subtype":"stop_task","task_id":"t"}`, `{}`, func(ctx c, s s) (any, error) { return none(s.Tasks().Stop(ctx, "t")) }, `null`},
		{`{"subtype":"background_tasks"}`, `{}`, func(ctx c, s s) (any, error) { return none(s.Tasks().BackgroundAll(ctx)) }, `null`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{"backgrounded":true}`, func(ctx c, s s) (any, error) { return s.Tasks().Background(ctx, "u") }, `true`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{}`, func(ctx c, s s) (any, error) { return s.Tasks().Background(ctx, "u") }, `false`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{"backgrounded":false}`, func(ctx c, s s) (any, error) { return s.Tasks().Background(ctx, "u") }, `false`},
		{`{"subtype":"get_task_output","task_id":"t"}`, `{"output":"o","total_bytes":1,"truncated":false}`, func(ctx c, s s) (any, error) { return s.Tasks().Output(ctx, "t") }, `{"output":"o","total_bytes":1,"truncated":false}`},
		{`{"subtype":"rewind_files","user_message_id":"m","dry_run":true}`, `{"canRewind":true}`, func(ctx c, s s) (any, error) { return s.Files().PreviewRewind(ctx, "m") }, `{"canRewind":true}`},
		{`{"subtype":"read_file","path":"a","max_bytes":9,"encoding":"base64"}`, `{"contents":"aGn/","absPath":"/a","encoding":"base64"}`,
			func(ctx c, s s) (any, error) {
				f, err := s.Files().Read(ctx, "a", 9)
				if err != nil {
					return nil, err
				}
				return f.Bytes()
			}, `"aGn/"`},
		{`{"subtype":"file_suggestions","query":"a"}`, `{"suggestions":[{"path":"a"}]}`, func(ctx c, s s) (any, error) { return s.Files().Suggest(ctx, "a") }, `{"suggestions":[{"path":"a"}]}`},
		{`{"subtype":"seed_read_state","path":"/a","mtime":1500}`, `null`, func(ctx c, s s) (any, error) { return none(s.Files().SeedReadState(ctx, "/a", time.UnixMilli(1500))) }, `null`},
		{`{"subtype":"register_repo_root","directory":"d","reload_claude_md":true,"reload_plugins":true,"reload_skills":true}`, `{"directory":"/d"}`,
			func(ctx c, s s) (any, error) { return s.Files().RegisterRepoRoot(ctx, "d") }, `"/d"`},
		{`{"subtype":"mcp_call","tool":"mcp__a__b","arguments":{"x":1}}`, `{"content":[]}`, func(ctx c, s s) (any, error) { return s.MCP().Call(ctx, "mcp__a__b", m{"x": 1}) }, `{"content":[]}`},
		{`{"subtype":"mcp_read_resource","serverName":"a","uri":"ui://b"}`, `{"contents":[{"uri":"ui://b","text":"x"}]}`,
			func(ctx c, s s) (any, error) { return s.MCP().ReadResource(ctx, "a", "ui://b") }, `[{"uri":"ui://b","text":"x"}]`},
		{`{"subtype":"set_mcp_permission_mode_override","serverName":"a","mode":"auto"}`, `{"warning":"w"}`, func(ctx c, s s) (any, error) { return s.MCP().SetPermissionMode(ctx, "a", "auto") }, `"w"`},
		{`{"subtype":"set_mcp_permission_mode_override","serverName":"a","mode":null}`, `null`, func(ctx c, s s) (any, error) { return s.MCP().SetPermissionMode(ctx, "a", "") }, `""`},
		{`{"subtype":"end_session","reason":"r"}`, `null`, func(ctx c, s s) (any, error) { return none(s.End(ctx, "r")) }, `null`},
	}
}

func TestOperationPayloads(t *testing.T) {
	all := operations()
	play := func(c *cli) {
		c.greet()
		for _, op := range all {
			f, _ := c.hear()
			r, err := f.Request()
			if err != nil || string(r.Body) != op.sent {
				c.t.Errorf("got %s, want %s", f.Line, op.sent)
			}
			c.succeed(r, op.reply)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		s := connect(t, o)
		for _, op := range all {
			got, err := op.call(t.Context(), s)
			if err != nil {
				t.Errorf("%s: %v", op.sent, err)
			}
			if text, err := json.Marshal(got); err != nil || string(text) != op.want {
				t.Errorf("%s: got %s, %v, want %s", op.sent, text, err, op.want)
			}
		}
		finish(t, s)
	})
}

// TestOperationsRefused wants the CLI's own words from every operation.
func TestOperationsRefused(t *testing.T) {
	all := operations()
	play := func(c *cli) {
		c.greet()
		for range all {
			f, _ := c.hear()
			r, _ := f.Request()
			c.refuse(r, "not today", "closed")
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.FileCheckpointing = true
		s := connect(t, o)
		for _, op := range all {
			_, err := op.call(t.Context(), s)
			if refused, ok := errors.AsType[*claude.ControlError](err); !ok || refused.Code != "closed" || refused.Message != "not today" {
				t.Errorf("%s: error = %v", op.sent, err)
			}
		}
		finish(t, s)
	})
}

func TestCommandsChange(t *testing.T) {
	play := func(c *cli) {
		c.succeed(c.request("initialize"), `{"commands":[{"name":"one"}]}`)
		c.request("get_session_cost")
		c.say(`{"type":"system","subtype":"commands_changed","commands":[{"name":"two"},{"name":"three"}]}`)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if got := s.Commands(); len(got) != 1 || got[0].Name != "one" {
			t.Errorf("commands %+v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Cost(ctx)
		synctest.Wait()
		if got := s.Commands(); len(got) != 2 || got[1].Name != "three" {
			t.Errorf("commands %+v", got)
		}
		finish(t, s)
	})
}

// To the CLI no id means all tasks, so a program that has lost the id is told.
func TestBackgroundTaskNeedsAnID(t *testing.T) {
	bubble(t, func(c *cli) {
		c.greet()
		if _, asked := c.hear(); asked {
			c.t.Error("the CLI was asked")
		}
	}, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		_, err := s.Tasks().Background(t.Context(), "")
		if e, ok := errors.AsType[*claude.ControlError](err); !ok || e.Op != "background_tasks" {
			t.Errorf("error = %v", err)
		}
		finish(t, s)
	})
}
