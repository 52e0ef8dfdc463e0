package host_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/host"
)

// Whatever a client writes, Serve comes to its end and does not panic.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		`{"type":"control_request","request_id":"r","request":{"subtype":"initialize","hooks":{"Stop":[{"hookCallbackIds":["a"],"timeout":1}]},"sdkMcpServers":["s"]}}`,
		`{"type":"user","message":{"role":"user","content":"hi"},"uuid":"u"}`,
		`{"type":"user","content":[{"type":"text","text":"x"}]}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"req_0","response":{"behavior":"allow"}}}`,
		`{"type":"control_cancel_request","request_id":"r"}`,
		`{"type":"control_request","request_id":1,"request":{"subtype":"interrupt","cancel_queued":true}}`,
		`{"type":"control_request","request_id":"s","request":{"subtype":"mcp_message","server_name":"s","message":{"id":1,"method":"ping"}}}`,
		`null`, `[]`, `"x"`, `{`, "\xff",
	} {
		f.Add(seed + "\n" + seed)
		f.Add(`{"type":"user","message":{"role":"user","content":"hi"}}` + "\n" + seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			err := host.Serve(ctx, stream{strings.NewReader(input), io.Discard}, writer, &host.Options{PromptTool: true})
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("no end after an hour")
			}
		})
	})
}
