package claude_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/wire"
	"github.com/claude-agent-go/claude/permission"
)

// hostile is a CLI that writes arbitrary bytes, after the handshake or instead
// of it, and then stays or exits. It keeps everything it is sent.
type hostile struct {
	says  []byte
	greet bool
	stay  bool

	mu    sync.Mutex
	heard [][]byte
}

func (h *hostile) play(c *cli) {
	if h.greet {
		c.greet()
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			line, err := c.stdin.Next()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.heard = append(h.heard, line)
			h.mu.Unlock()
		}
	})
	c.stdout.Write(h.says) // fails when the SDK has had enough
	if h.stay {
		wg.Wait() // for the end of its input
	}
}

// guarded are options with every kind of callback, none of which allows
// anything.
func guarded(h *hostile) *claude.Options {
	return &claude.Options{
		Transport: &double{play: h.play},
		Logger:    slog.New(slog.DiscardHandler),
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Deny("no"), nil
		},
		Hooks: []hook.Hook{hook.Guard("", func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Deny("no"), nil
		}), noHook()},
		OnElicitation: func(context.Context, *control.Elicitation) (control.ElicitationAnswer, error) {
			return control.Decline(), nil
		},
		OnUserDialog: func(context.Context, *control.Dialog) (control.DialogAnswer, error) {
			return control.CancelDialog(), nil
		},
		DialogKinds: []string{"any"},
		Requests: map[string]claude.RequestFunc{"own": func(_ context.Context, r json.RawMessage) (any, error) {
			return nil, errors.New("no")
		}},
		MCPServers: claude.MCPServers{"calc": &harness.MCPServer{Answer: func(_ context.Context, _ string, m json.RawMessage) (json.RawMessage, error) {
			return harness.AnswerTo(m, "{}"), nil
		}}},
		Limits: claude.Limits{Line: 1 << 16, Unread: 1 << 18, Callbacks: 4},
	}
}

// FuzzSession lets a hostile CLI write anything. Nothing panics or hangs, Close
// returns, and everything sent to the CLI is sound: lines of JSON, at most one
// answer to a request, and never a permission.
func FuzzSession(f *testing.F) {
	f.Add([]byte(`{"type":"control_request","request_id":"u","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{}}}`+"\n"), true, true)
	f.Add([]byte(mcpRequest("m", "calc", `{"id":abc,"method":"x"}`)+"\n"), true, true)
	f.Add([]byte(mcpRequest("m", "calc", `{"id":{"behavior":"allow"},"method":"x"}`)+"\n"), true, true)
	f.Add([]byte(`{"type":"control_request","request_id":{"behavior":"allow"},"request":{"subtype":"x"}}`+"\n"), true, false)
	f.Add([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":"req_0","error":"no"}}`+"\n"), false, true)
	f.Add([]byte("\n\n{\"type\":\"result\"}\n\xff{"), false, false)
	f.Fuzz(func(t *testing.T, says []byte, greet, stay bool) {
		h := &hostile{says: says, greet: greet, stay: stay}
		synctest.Test(t, func(t *testing.T) {
			o := guarded(h)
			o.Transport.(*double).t = t
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			s, err := claude.Connect(ctx, o)
			if err != nil {
				return
			}
			go s.SetModel(ctx, "x")
			for range s.Run(ctx, "hello") {
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
			s.Wait()
			if err := s.Close(); err != nil {
				t.Errorf("second Close = %v", err)
			}
		})
		h.check(t)
	})
}

// check examines everything sent to the CLI.
func (h *hostile) check(t *testing.T) {
	asked := make(map[wire.ID]int)
	for line := range bytes.Lines(h.says) {
		if f, err := wire.Parse(bytes.TrimSuffix(bytes.TrimPrefix(bytes.TrimRight(line, "\r\n"), []byte("\xef\xbb\xbf")), []byte("\r"))); err == nil {
			r, _ := f.Request()
			asked[r.ID]++
		}
	}
	for _, line := range h.heard {
		f, err := wire.Parse(line)
		if err != nil || !jsonx.Valid(line) {
			t.Errorf("the CLI is told %q: %v", line, err)
		}
		if f.Type != wire.TypeResponse {
			continue
		}
		r, err := f.Response()
		if asked[r.ID]--; err != nil || asked[r.ID] < 0 {
			t.Errorf("an answer too many: %s, %v", line, err)
		}
		var reply struct {
			Behavior string `json:"behavior"`
		}
		if json.Unmarshal(r.Payload, &reply); reply.Behavior == "allow" {
			t.Errorf("allowed: %s", line)
		}
	}
}
