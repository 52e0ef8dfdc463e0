package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/permission"
)

const elicitRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"elicitation","mcp_server_name":"eli","message":"Your name?","mode":"form","requested_schema":{"type":"object"},"property_order":["name"]}}`

func TestElicitation(t *testing.T) {
	tests := map[string]struct {
		call control.ElicitationFunc
		want string
	}{
		"nobody": {nil, `{"action":"decline"}`},
		"accept": {func(_ context.Context, e *control.Elicitation) (control.ElicitationAnswer, error) {
			if e.RequestID != "u-1" || e.ServerName != "eli" || e.Message != "Your name?" || e.Mode != "form" || len(e.PropertyOrder) != 1 {
				return control.Decline(), errors.New("another question")
			}
			return control.Accept(map[string]string{"name": "Ada"}), nil
		}, `{"action":"accept","content":{"name":"Ada"}}`},
		"cancel": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Cancel(), nil
		},
			`{"action":"cancel"}`},
		"zero": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.ElicitationAnswer{}, nil
		}, `{"action":"decline"}`},
		"error": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Accept("x"), errors.New("no")
		}, `{"action":"decline"}`},
		"panic": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) { panic("boom") }, `{"action":"decline"}`},
		"Goexit": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			runtime.Goexit()
			return control.Accept(nil), nil
		}, `{"action":"decline"}`},
		"not encodable": {func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Accept(func() {}), nil
		}, `{"action":"decline"}`},
		"timeout": {func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
			<-ctx.Done()
			return control.Accept("late"), nil
		}, `{"action":"decline"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(elicitRequest, &answer), func(t *testing.T, o *claude.Options) {
				o.OnElicitation = tt.call
				o.Timeouts.Callback = time.Minute
				s := connect(t, o)
				pass(2 * time.Minute)
				if want := reply("u-1", tt.want); answer != want {
					t.Errorf("answer %s, want %s", answer, want)
				}
				finish(t, s)
			})
		})
	}
}

const dialogRequest = `{"type":"control_request","request_id":"u-1","request":{"subtype":"request_user_dialog","dialog_kind":"color","payload":{"choices":["red"]},"tool_use_id":"toolu_1"}}`

func TestUserDialog(t *testing.T) {
	tests := map[string]struct {
		call control.DialogFunc
		want string
	}{
		"nobody": {nil, `{"behavior":"cancelled"}`},
		"completed": {func(_ context.Context, d *control.Dialog) (control.DialogAnswer, error) {
			if d.RequestID != "u-1" || d.Kind != "color" || string(d.Payload) != `{"choices":["red"]}` || d.ToolUseID != "toolu_1" {
				return control.CancelDialog(), errors.New("another dialog")
			}
			return control.CompleteDialog("red"), nil
		}, `{"behavior":"completed","result":"red"}`},
		"zero": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.DialogAnswer{}, nil
		}, `{"behavior":"cancelled"}`},
		"error": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.CompleteDialog(1), errors.New("no")
		}, `{"behavior":"cancelled"}`},
		"panic": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) { panic("boom") }, `{"behavior":"cancelled"}`},
		"not encodable": {func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.CompleteDialog(func() {}), nil
		}, `{"behavior":"cancelled"}`},
		"timeout": {func(ctx context.Context, _ *control.Dialog) (control.DialogAnswer, error) {
			<-ctx.Done()
			return control.CompleteDialog("late"), nil
		}, `{"behavior":"cancelled"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var answer string
			bubble(t, asking(dialogRequest, &answer), func(t *testing.T, o *claude.Options) {
				if o.OnUserDialog = tt.call; tt.call != nil {
					o.DialogKinds = []string{"color"}
				}
				o.Timeouts.Callback = time.Minute
				s := connect(t, o)
				pass(2 * time.Minute)
				if want := reply("u-1", tt.want); answer != want {
					t.Errorf("answer %s, want %s", answer, want)
				}
				finish(t, s)
			})
		})
	}
}

// deep is an object in an object in an object.
func deep(levels int) string {
	return strings.Repeat(`{"a":`, levels) + "1" + strings.Repeat("}", levels)
}

// A person may take as long as it takes; a hook may not.
func TestPeopleHaveNoTimeLimit(t *testing.T) {
	const day = 24 * time.Hour
	think := func(ctx context.Context) error {
		select {
		case <-time.After(day):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	for name, tt := range map[string]struct {
		request string
		want    string // part of the answer
		after   time.Duration
	}{
		"permission":  {bashRequest, `"behavior":"allow"`, day},
		"elicitation": {elicitRequest, `"action":"accept"`, day},
		"dialog":      {dialogRequest, `"behavior":"completed"`, day},
		"hook":        {stopRequest, `"continue":true`, time.Minute},
		"request":     {`{"type":"control_request","request_id":"u-1","request":{"subtype":"other"}}`, `timed out after 1m0s`, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var answer string
			var when time.Time
			play := func(c *cli) {
				c.greet()
				c.say("%s", tt.request)
				if f, ok := c.hear(); ok {
					answer, when = string(f.Line), time.Now()
				}
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
					return permission.Allow(), think(ctx)
				}
				o.OnElicitation = func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
					return control.Accept(map[string]string{}), think(ctx)
				}
				o.OnUserDialog = func(ctx context.Context, _ *control.Dialog) (control.DialogAnswer, error) {
					return control.CompleteDialog("red"), think(ctx)
				}
				o.DialogKinds = []string{"color"}
				o.Hooks = []hook.Hook{hook.Stop(func(ctx context.Context, _ *hook.StopInput) (*hook.StopOutput, error) {
					return hook.KeepGoing("more"), think(ctx)
				})}
				o.Requests = map[string]claude.RequestFunc{"other": func(ctx context.Context, _ json.RawMessage) (any, error) {
					return nil, think(ctx)
				}}
				begin := time.Now()
				s := connect(t, o)
				pass(tt.after + time.Second)
				if took := when.Sub(begin); !strings.Contains(answer, tt.want) || took < tt.after-time.Second {
					t.Errorf("answer %s after %v, want %s after %v", answer, took, tt.want, tt.after)
				}
				finish(t, s)
			})
		})
	}
}
