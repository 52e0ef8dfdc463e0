package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
)

// operation is one method of a session, what it sends and what comes back.
type operation struct {
	sent, reply string
	call        func(ctx context.Context, s *claude.Session) (any, error)
	want        string
}

func operations() []operation {
	type c = context.Context
	type s = *claude.Session
	type m = map[string]any
	none := func(err error) (any, error) { return nil, err }
	return []operation{
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
		{`{"subtype":"get_settings"}`, `{"effective":{"a":1},"sources":[]}`, func(ctx c, s s) (any, error) { return s.Settings(ctx) }, `{"effective":{"a":1},"sources":[]}`},
		{`{"subtype":"apply_flag_settings","settings":{"model":null}}`, `null`, func(ctx c, s s) (any, error) { return none(s.SetSettings(ctx, m{"model": nil})) }, `null`},
		{`{"subtype":"update_settings","source":"localSettings","settings":{"a":1}}`, `{}`,
			func(ctx c, s s) (any, error) { return none(s.SaveSettings(ctx, claude.SettingSourceLocal, m{"a": 1})) }, `null`},
		{`{"subtype":"list_permission_rules"}`, `{"state":{"rules":[],"originalCwd":"/repo"}}`, func(ctx c, s s) (any, error) { r, err := s.PermissionRules(ctx); return r.OriginalCwd, err }, `"/repo"`},
		{`{"subtype":"get_hooks_listing"}`, `{"events":[],"hooks":[]}`, func(ctx c, s s) (any, error) { return s.Hooks(ctx) }, `{"events":[],"hooks":[]}`},
		{`{"subtype":"reload_plugins"}`, `{"error_count":2}`, func(ctx c, s s) (any, error) { r, err := s.ReloadPlugins(ctx); return r.ErrorCount, err }, `2`},
		{`{"subtype":"reload_plugins","add_plugins":[{"type":"local","path":"/p"}]}`, `{}`,
			func(ctx c, s s) (any, error) {
				r, err := s.ReloadPlugins(ctx, control.PluginConfig{Path: "/p"})
				return r.Held, err
			}, `false`},
		{`{"subtype":"reload_skills"}`, `{"skills":[{"name":"a"}]}`, func(ctx c, s s) (any, error) { return s.ReloadSkills(ctx) }, `[{"name":"a"}]`},
		{`{"subtype":"reload_output_styles"}`, `{"available_output_styles":["a"]}`, func(ctx c, s s) (any, error) { return s.ReloadOutputStyles(ctx) }, `["a"]`},
		{`{"subtype":"get_context_usage"}`, `{"totalTokens":7}`, func(ctx c, s s) (any, error) { r, err := s.ContextUsage(ctx); return r.TotalTokens, err }, `7`},
		{`{"subtype":"get_usage"}`, `{"session":{"total_cost_usd":0.5}}`, func(ctx c, s s) (any, error) { r, err := s.Usage(ctx); return r.Session.TotalCostUSD, err }, `0.5`},
		{`{"subtype":"get_session_cost"}`, `{"text":"free"}`, func(ctx c, s s) (any, error) { return s.Cost(ctx) }, `{"text":"free"}`},
		{`{"subtype":"list_models"}`, `{"models":[{"value":"opus"}]}`, func(ctx c, s s) (any, error) { return s.Models(ctx) }, `[{"value":"opus"}]`},
		{`{"subtype":"get_binary_version"}`, `{"version":"2"}`, func(ctx c, s s) (any, error) { return s.BinaryVersion(ctx) }, `{"version":"2"}`},
		{`{"subtype":"stop_task","task_id":"t"}`, `{}`, func(ctx c, s s) (any, error) { return none(s.StopTask(ctx, "t")) }, `null`},
		{`{"subtype":"background_tasks"}`, `{}`, func(ctx c, s s) (any, error) { return none(s.BackgroundTasks(ctx)) }, `null`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{"backgrounded":true}`, func(ctx c, s s) (any, error) { return s.BackgroundTask(ctx, "u") }, `true`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{}`, func(ctx c, s s) (any, error) { return s.BackgroundTask(ctx, "u") }, `false`},
		{`{"subtype":"background_tasks","tool_use_id":"u"}`, `{"backgrounded":false}`, func(ctx c, s s) (any, error) { return s.BackgroundTask(ctx, "u") }, `false`},
		{`{"subtype":"get_task_output","task_id":"t"}`, `{"output":"o","total_bytes":1,"truncated":false}`, func(ctx c, s s) (any, error) { return s.ReadTaskOutput(ctx, "t") }, `{"output":"o","total_bytes":1,"truncated":false}`},
		{`{"subtype":"rewind_files","user_message_id":"m","dry_run":true}`, `{"canRewind":true}`, func(ctx c, s s) (any, error) { return s.PreviewRewind(ctx, "m") }, `{"canRewind":true}`},
		{`{"subtype":"read_file","path":"a","max_bytes":9,"encoding":"base64"}`, `{"contents":"aGn/","absPath":"/a","encoding":"base64"}`,
			func(ctx c, s s) (any, error) {
				f, err := s.ReadFile(ctx, "a", 9)
				if err != nil {
					return nil, err
				}
				return f.Bytes()
			}, `"aGn/"`},
		{`{"subtype":"file_suggestions","query":"a"}`, `{"suggestions":[{"path":"a"}]}`, func(ctx c, s s) (any, error) { return s.SuggestFiles(ctx, "a") }, `{"suggestions":[{"path":"a"}]}`},
		{`{"subtype":"seed_read_state","path":"/a","mtime":1500}`, `null`, func(ctx c, s s) (any, error) { return none(s.SeedReadState(ctx, "/a", time.UnixMilli(1500))) }, `null`},
		{`{"subtype":"register_repo_root","directory":"d","reload_claude_md":true,"reload_plugins":true,"reload_skills":true}`, `{"directory":"/d"}`,
			func(ctx c, s s) (any, error) { return s.RegisterRepoRoot(ctx, "d") }, `"/d"`},
		{`{"subtype":"mcp_call","tool":"mcp__a__b","arguments":{"x":1}}`, `{"content":[]}`, func(ctx c, s s) (any, error) { return s.CallMCPTool(ctx, "mcp__a__b", m{"x": 1}) }, `{"content":[]}`},
		{`{"subtype":"mcp_read_resource","serverName":"a","uri":"ui://b"}`, `{"contents":[{"uri":"ui://b","text":"x"}]}`,
			func(ctx c, s s) (any, error) { return s.ReadMCPResource(ctx, "a", "ui://b") }, `[{"uri":"ui://b","text":"x"}]`},
		{`{"subtype":"set_mcp_permission_mode_override","serverName":"a","mode":"auto"}`, `{"warning":"w"}`, func(ctx c, s s) (any, error) { return s.SetMCPPermissionMode(ctx, "a", "auto") }, `"w"`},
		{`{"subtype":"set_mcp_permission_mode_override","serverName":"a","mode":null}`, `null`, func(ctx c, s s) (any, error) { return s.SetMCPPermissionMode(ctx, "a", "") }, `""`},
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
				c.t.Errorf("heard %s, want %s", f.Line, op.sent)
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

// TestUnknownRequests lets a program answer what this package does not know.
func TestUnknownRequests(t *testing.T) {
	var replies chan string // made inside the bubble, so that time goes on
	play := func(c *cli) {
		c.greet()
		for i, subtype := range []string{"new_thing", "no_thing", "bad_thing", "mad_thing", "slow_thing", "unheard_of"} {
			c.say(`{"type":"control_request","request_id":"u-%d","request":{"subtype":%q,"a":1}}`, i, subtype)
			f, _ := c.hear()
			replies <- string(f.Line)
		}
		close(replies)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		replies = make(chan string, 8)
		o.Requests = map[string]claude.RequestFunc{
			"new_thing": func(_ context.Context, request json.RawMessage) (any, error) {
				return map[string]string{"heard": string(request)}, nil
			},
			"no_thing":  func(context.Context, json.RawMessage) (any, error) { return nil, nil },
			"bad_thing": func(context.Context, json.RawMessage) (any, error) { return nil, fmt.Errorf("no way") },
			"mad_thing": func(context.Context, json.RawMessage) (any, error) { panic("mad") },
			"slow_thing": func(ctx context.Context, _ json.RawMessage) (any, error) {
				<-ctx.Done()
				return nil, nil
			},
		}
		s := connect(t, o)
		for _, want := range []string{
			`"response":{"heard":"{\"subtype\":\"new_thing\",\"a\":1}"}`, `"subtype":"success"`, `"error":"no way"`, `panicked: mad`, `timed out`, `unsupported_request`,
		} {
			if got := <-replies; !strings.Contains(got, want) {
				t.Errorf("replied %s, want %s", got, want)
			}
		}
		finish(t, s)
	})
	for subtype, f := range map[string]claude.RequestFunc{"x": nil, "can_use_tool": func(context.Context, json.RawMessage) (any, error) { return nil, nil }} {
		_, err := claude.Connect(t.Context(), &claude.Options{Transport: unstarted{t}, Requests: map[string]claude.RequestFunc{subtype: f}})
		if _, ok := errors.AsType[*claude.OptionError](err); !ok {
			t.Errorf("%s: error = %v", subtype, err)
		}
	}
}
