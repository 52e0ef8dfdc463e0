package host_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/host"
)

// spoken is a client that has said all it has to say.
type spoken struct {
	io.Reader
	bytes.Buffer
}

func (s *spoken) Read(b []byte) (int, error) { return s.Reader.Read(b) }

// A last line that lacks nothing but its line feed counts; a broken one does
// not.
func TestLastLineOfTheClient(t *testing.T) {
	agent := host.AgentFunc(func(ctx context.Context, t *host.Turn) error { return t.Say(ctx, "heard "+t.Text()) })
	const prompt = `{"type":"user","message":{"role":"user","content":"you"}}`
	const request = `{"type":"control_request","request_id":"r","request":{"subtype":"get_binary_version"}}`
	for name, tt := range map[string]struct{ input, said string }{
		"prompt":        {prompt, "heard you"},
		"request":       {request, `"request_id":"r"`},
		"after another": {prompt + "\n" + request, `"request_id":"r"`},
		"cut off":       {prompt[:len(prompt)-1], ""},
		"not an object": {"123", ""},
	} {
		client := &spoken{Reader: strings.NewReader(tt.input)}
		err := host.Serve(t.Context(), client, agent, nil)
		if tt.said == "" && err == nil || tt.said != "" && err != nil || !strings.Contains(client.String(), tt.said) {
			t.Errorf("%s: Serve = %v, said %s", name, err, client.String())
		}
		if errors.Is(err, host.ErrFailed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
