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
	"github.com/claude-agent-go/claude/permission"
)

const bashRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command": "ls \u003c\ud83d"},"tool_use_id":"toolu_1"}}`

const stopRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{}},"tool_use_id":"toolu_1"}}`

// ask plays a CLI that sends one request and hears the answer.
func asking(request string, answer *string) func(*cli) {
	return func(c *cli) {
		c.greet()
		c.say("%s", request)
		if f, ok := c.hear(); ok {
			*answer = string(f.Line)
		}
		c.idle()
	}
}

func reply(id, payload string) string {
	return `{"type":"control_response","response":{"subtype":"success","request_id":"` + id + `","response":` + payload + `}}`
}

func TestCallbackCapacity(t *testing.T) {
	var answers []string
	play := func(c *cli) {
		c.greet()
		for _, id := range []string{"u-1", "u-2"} {
			c.say("%s", strings.ReplaceAll(bashRequest, "u-1", id))
		}
		c.say("%s", strings.ReplaceAll(stopRequest, "u-1", "u-3"))
		for range 2 {
			if f, ok := c.hear(); ok {
				answers = append(answers, string(f.Line))
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Callbacks = 1
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Pass(), context.Cause(ctx)
		}
		s := connect(t, o)
		pass(time.Hour)
		all := strings.Join(answers, "\n")
		if !strings.Contains(all, "too many callbacks") || !strings.Contains(all, `"request_id":"u-3","response":{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"`) {
			t.Errorf("answers\n%s", all)
		}
		finish(t, s)
	})
}

func TestCallbackCancelled(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		synctest.Wait()
		c.say(`{"type":"control_cancel_request","request_id":"u-1"}`)
		if f, ok := c.hear(); ok {
			c.t.Errorf("got %s after the cancel", f.Line)
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		ended := make(chan context.Context, 1)
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			ended <- ctx
			return permission.Allow(), nil
		}
		s := connect(t, o)
		if ctx := <-ended; !errors.Is(ctx.Err(), context.Canceled) || !errors.Is(context.Cause(ctx), claude.ErrWithdrawn) {
			t.Error(ctx.Err(), context.Cause(ctx))
		}
		synctest.Wait()
		finish(t, s)
	})
}

func TestRequestsWithoutHandler(t *testing.T) {
	for request, want := range map[string]string{
		`{"subtype":"brand_new"}`:                                       `"subtype":"error","request_id":"u-1","error":"Unsupported control request subtype: brand_new","error_code":"unsupported_request"`,
		`{"subtype":"elicitation","message":"?"}`:                       `"response":{"action":"decline"}`,
		`{"subtype":"request_user_dialog","dialog_kind":"x"}`:           `"response":{"behavior":"cancelled"}`,
		`{"subtype":"hook_callback","callback_id":"hook_7","input":{}}`: `"response":{"continue":true}`,
		`{"subtype":"can_use_tool","tool_name":"Bash","input":{}}`:      `"behavior":"deny"`,
	} {
		var answer string
		line := `{"type":"control_request","request_id":"u-1","request":` + request + `}`
		bubble(t, asking(line, &answer), func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			synctest.Wait()
			if !strings.Contains(answer, want) || !json.Valid([]byte(answer)) {
				t.Errorf("%s: answer %s, want %s", request, answer, want)
			}
			finish(t, s)
		})
	}
}

func TestCallbackTimeoutWhileNothingIsRead(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		ended := make(chan time.Duration, 1)
		begin := time.Now()
		o.Timeouts.Callback = time.Minute
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			ended <- time.Since(begin)
			return permission.Allow(), nil
		}
		s := connect(t, o)
		if took := <-ended; took != time.Minute {
			t.Errorf("the callback's context ended after %v", took)
		}
		s.Close()
	})
}

// TestUnknownRequests lets a program answer what this package does not know.
func TestUnknownRequests(t *testing.T) {
	var replies chan string // made inside the bubble, so that time passes
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
