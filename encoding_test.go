package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/message"
)

// The user's own types follow encoding/json wherever they meet the protocol:
// names match in any case, a nil slice is null, a time.Duration is a number.
func TestTypesOfTheUser(t *testing.T) {
	type args struct {
		Wait time.Duration
		List []string
	}
	const encoded = `{"Wait":1000000000,"List":null}`
	play := func(c *cli) {
		c.greet()
		hear := func(subtype, rest, reply string) {
			r := c.request(subtype)
			if want := `{"subtype":"` + subtype + `",` + rest + `}`; string(r.Body) != want {
				c.t.Errorf("got %s, want %s", r.Body, want)
			}
			c.succeed(r, reply)
		}
		hear("anything", encoded[1:len(encoded)-1], `{"text":"free","wait":2,"list":["a"],"more":1}`)
		hear("mcp_call", `"tool":"mcp__a__b","arguments":`+encoded, `{}`)
		hear("apply_flag_settings", `"settings":{"a":`+encoded+`}`, `null`)
		hear("update_settings", `"source":"userSettings","settings":{"a":`+encoded+`}`, `null`)
		c.succeed(c.request("other"), `{"text":7}`)
		last := c.request("nothing")
		c.say(`{"type":"control_request","request_id":"u-1","request":{"subtype":"question"}}`)
		if f, _ := c.hear(); !strings.Contains(string(f.Line), `"response":`+encoded) {
			c.t.Errorf("got %s", f.Line)
		}
		c.succeed(last, `null`)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		in := args{Wait: time.Second}
		o.Requests = map[string]claude.RequestFunc{
			"question": func(context.Context, json.RawMessage) (any, error) { return in, nil },
		}
		s := connect(t, o)
		var out struct {
			Text string
			args
		}
		if err := s.Control(t.Context(), "anything", in, &out); err != nil || out.Text != "free" || out.Wait != 2 || len(out.List) != 1 {
			t.Errorf("Control = %+v, %v", out, err)
		}
		if _, err := s.MCP().Call(t.Context(), "mcp__a__b", in); err != nil {
			t.Error(err)
		}
		if err := s.Settings().Set(t.Context(), map[string]any{"a": in}); err != nil {
			t.Error(err)
		}
		if err := s.Settings().Save(t.Context(), claude.SettingSourceUser, map[string]any{"a": in}); err != nil {
			t.Error(err)
		}
		err := s.Control(t.Context(), "other", nil, &out)
		if bad, ok := errors.AsType[*claude.ControlError](err); !ok || bad.Op != "other" || !strings.Contains(strings.ToLower(err.Error()), "text: is a number, want a string") {
			t.Errorf("a reply that does not fit: %v", err)
		}
		if err := s.Control(t.Context(), "nothing", map[string]any(nil), &out); err != nil || out.Text != "free" {
			t.Errorf("a reply without payload: %+v, %v", out, err)
		}
		finish(t, s)
	})
}

// A value that cannot be JSON is refused with a reason before anything is sent.
func TestUserTypesThatAreNotJSON(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		bad := map[string]any{"a": make(chan int)}
		for name, err := range map[string]error{
			"Control":      s.Control(t.Context(), "x", bad, nil),
			"CallMCPTool":  second(s.MCP().Call(t.Context(), "x", bad)),
			"SetSettings":  s.Settings().Set(t.Context(), bad),
			"SaveSettings": s.Settings().Save(t.Context(), claude.SettingSourceUser, bad),
		} {
			if failed, ok := errors.AsType[*claude.ControlError](err); !ok || failed.RequestID != "" || !strings.Contains(err.Error(), "unsupported type: chan int") {
				t.Errorf("%s: %v", name, err)
			}
		}
		finish(t, s)
	})
}

// self is a number that describes itself as a text.
type self int

func (self) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"string"}`) }

// Errors speak of JSON, not of Go's reflection.
func TestErrorsSpeakOfJSON(t *testing.T) {
	_, err := claude.Decode[struct{ People self }](&message.Result{StructuredOutput: json.RawMessage(`{"People":"many"}`)})
	if !errors.Is(err, claude.ErrOutputMismatch) || !strings.HasSuffix(err.Error(), "People: is a string, want a number") {
		t.Errorf("answer: %v", err)
	}
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
		t.Errorf("%v hides its cause", err)
	}
	for raw, want := range map[string]string{`[]`: "is an array", `{"properties":[]}`: "is an array", `7`: "is a number"} {
		_, err := claude.Connect(t.Context(), &claude.Options{OutputSchema: json.RawMessage(raw), Transport: noStart{}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("schema %s: %v", raw, err)
		}
	}
}
