package tool_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/tool"
)

// FuzzHandle lets the CLI send anything to a server of tools, before and after
// the handshake. Nothing panics or hangs, an answer is JSON with the id of its
// request, and the arguments that a tool gets fit its type.
func FuzzHandle(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		call(2, "point", `{"x":1}`),
		call(3, "point", `{"x":"1"}`),
		call(4, "point", `{"X":1,"x":2}`),
		call(5, "point", `{"x":1,"x":2}`),
		call(6, "point", `{"x":1e400}`),
		call(7, "missing", `null`),
		`{"jsonrpc":"2.0","id":1.5,"method":"tools/call","params":{"name":"point","arguments":[]}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":8,"result":{}}`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		`[{"jsonrpc":"2.0","id":9,"method":"ping"}]`, `null`, `{`, "\xff",
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	point := tool.New("point", "A point", func(_ context.Context, in point) (point, error) { return in, nil })
	f.Fuzz(func(t *testing.T, message []byte, greet bool) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			server := tool.NewServer(point)
			l := &line{t: t}
			conn, err := server.OpenMCP(ctx, "x", func(context.Context, json.RawMessage) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if l.conn = conn; greet {
				l.shake()
			}
			reply, err := conn.Handle(ctx, message)
			if ctx.Err() != nil {
				t.Errorf("%q took an hour: %v", message, err)
			}
			if reply == nil {
				return
			}
			if !jsonx.Valid(reply) {
				t.Errorf("%q is answered %q", message, reply)
			}
			var asked, answered struct {
				ID any `json:"id"`
			}
			if json.Unmarshal(message, &asked) == nil && json.Unmarshal(reply, &answered) == nil && asked.ID != answered.ID {
				t.Errorf("%q is answered to %v: %s", message, answered.ID, reply)
			}
		})
	})
}
