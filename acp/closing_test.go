package acp_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/store"
)

// slowly is a store that takes a second for each change.
type slowly struct{ store.Records }

func (s slowly) Change(ctx context.Context, f store.Fence, c ...store.RecordChange) ([]int64, error) {
	<-time.After(time.Second)
	return s.Records.Change(ctx, f, c...)
}

// A session that is closed right after a cancel has written that its question is over: else
// the question would be asked again.
func TestCloseWritesEndOfQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		questions := approval.NewQuestions(slowly{store.Memory()}, "p")
		asked := make(chan struct{})
		d := drive.Start(t, &acp.Local{
			Options:   &claude.Options{Transport: claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"})), Env: []string{"HOME=" + t.TempDir()}},
			Questions: questions,
		}, drive.Setup{Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			close(asked)
			<-ctx.Done()
			return ""
		}})
		id := d.New(t, "/")
		go d.Prompt(t.Context(), id, "Build it.")
		<-asked
		if err := d.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := d.Call(t.Context(), schema.MethodAgentSessionClose, schema.CloseSessionRequest{SessionID: id}, nil); err != nil {
			t.Fatal(err)
		}
		for q, err := range questions.List(t.Context(), approval.Filter{}) {
			if err != nil || q.State != approval.StateGone {
				t.Errorf("the question about %s is %s, %v", q.Tool, q.State, err)
			}
		}
	})
}
