package main

import (
	"context"
	"errors"
	"testing"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// A call that the user interrupted while the question was open does not count as
// denied, although the CLI reports it so.
func TestVerdicts(t *testing.T) {
	result := func(id string, failed bool) *message.ToolResultBlock {
		return &message.ToolResultBlock{ToolUseID: id, IsError: failed}
	}
	v := newVerdicts()
	for id, decide := range map[string]permission.Func{
		"allowed": func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		"denied": func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Deny("no"), nil
		},
		"left": func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Decision{}, errors.New("interrupted")
		},
		"withdrew": func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Decision{}, context.Canceled
		},
	} {
		_, _ = v.watch(decide)(t.Context(), &permission.Request{ToolUseID: id}) // the same that decide returns
	}
	// While the question is still on the screen.
	waiting, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = v.watch(func(context.Context, *permission.Request) (permission.Decision, error) {
			close(waiting)
			<-release
			return permission.Decision{}, context.Canceled
		})(t.Context(), &permission.Request{ToolUseID: "open"})
	}()
	<-waiting
	for _, id := range []string{"left", "withdrew", "open"} {
		v.add(&message.User{ToolResultMeta: []message.ToolResultMeta{{ID: id, NonExecutionKind: "user-rejected"}}})
	}
	for _, tt := range []struct {
		id     string
		failed bool
		want   string
	}{{"allowed", false, "ok"}, {"allowed", true, "failed"}, {"denied", true, "denied"}, {"left", true, "interrupted"}, {"withdrew", true, "interrupted"}, {"open", true, "interrupted"}, {"never asked", false, "ok"}} {
		if got, _ := v.of(result(tt.id, tt.failed)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.id, got, tt.want)
		}
	}
	close(release)
	<-done
	// The CLI calls a tool that an interrupt stopped rejected, and corrects that in the text.
	v.add(&message.User{ToolResultMeta: []message.ToolResultMeta{{ID: "allowed", NonExecutionKind: "user-rejected"}}})
	stopped := &message.ToolResultBlock{ToolUseID: "allowed", IsError: true, Content: message.Content{message.Text("The user doesn't want to proceed with this tool use. Correction to the text above: this call was stopped while running, not refused before it ran.")}}
	if got, _ := v.of(stopped); got != "interrupted" {
		t.Errorf("stopped while running: %s, want interrupted", got)
	}
}
