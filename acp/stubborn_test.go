package acp_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// TestStubbornCLI has CLIs that ignore the end of their input and SIGTERM, whether they
// speak or not. They are killed in time for nothing to be left 5 s after their editor is
// gone, and not before they had their chance.
func TestStubbornCLI(t *testing.T) {
	for _, speaks := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			local := &acp.Local{Options: &claude.Options{
				Transport: claudetest.NewCLI(&claudetest.Script{IgnoreEOF: true, IgnoreTerm: true, Replies: []claudetest.Reply{
					claudetest.Say(strings.Repeat("word ", 1000)).Chunks(5, time.Second),
				}}),
				Env: []string{"HOME=" + t.TempDir()},
			}}
			ours, theirs := net.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- acp.Serve(t.Context(), theirs, local) }()
			said := make(chan struct{}, 1000)
			d := drive.Connect(ours, drive.Setup{OnUpdate: func(_ schema.SessionID, up schema.SessionUpdate) {
				if up.AgentMessageChunk != nil {
					said <- struct{}{}
				}
			}})
			if err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: 1}, nil); err != nil {
				t.Fatal(err)
			}
			id := d.New(t, "/")
			if speaks {
				go d.Prompt(context.Background(), id, "Go.")
				<-said
			}
			begin := time.Now()
			d.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(begin); took < 3*time.Second || took >= 5*time.Second {
				t.Errorf("ended after %v, want 3 s of patience and less than 5 s in all", took)
			}
		})
	}
}
