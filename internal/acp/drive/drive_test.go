package drive_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/drive"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/serve/api"
)

func local(t *testing.T, cli claude.Transport) *acp.Local {
	return &acp.Local{Options: &claude.Options{Transport: cli, Env: []string{"HOME=" + t.TempDir()}}}
}

// An editor that a test does not describe cancels every question, and the turn ends with it.
func TestZeroSetup(t *testing.T) {
	cli := claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}), claudetest.Say("no"))
	d := drive.Start(t, local(t, cli), drive.Setup{})
	if resp, err := d.Prompt(t.Context(), d.New(t, t.TempDir()), "Build it."); err != nil || resp.StopReason != schema.StopReasonCancelled {
		t.Errorf("%+v, %v, want the turn cancelled", resp, err)
	}
	cli.Recording().WantDenied(t, "Bash", "stopped")
}

// A question ends for its person when the turn is cancelled.
func TestQuestionWithdrawn(t *testing.T) {
	asked, withdrawn := make(chan struct{}), make(chan struct{})
	d := drive.Start(t, local(t, claudetest.New(claudetest.UseTool("Bash", map[string]string{"command": "make"}))), drive.Setup{
		Permission: func(ctx context.Context, _ *schema.RequestPermissionRequest) schema.PermissionOptionID {
			close(asked)
			<-ctx.Done()
			close(withdrawn)
			return "allow-once"
		},
	})
	id := d.New(t, t.TempDir())
	ended := make(chan schema.StopReason, 1)
	go func() {
		resp, err := d.Prompt(t.Context(), id, "Build it.")
		if err != nil {
			t.Error(err)
		}
		ended <- resp.StopReason
	}()
	<-asked
	if err := d.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	<-withdrawn
	if got := <-ended; got != schema.StopReasonCancelled {
		t.Errorf("ended %s", got)
	}
}

// Updates are seen as they come and kept in that order, for each session.
func TestUpdates(t *testing.T) {
	var seen []string // by one reader
	text := func(up schema.SessionUpdate) string {
		if up.AgentMessageChunk == nil {
			return ""
		}
		return up.AgentMessageChunk.Content.Text.Text
	}
	d := drive.Start(t, local(t, claudetest.New(claudetest.Say("one two three").Chunks(4, 0), claudetest.Say("other"))), drive.Setup{
		OnUpdate: func(id schema.SessionID, up schema.SessionUpdate) {
			if said := text(up); said != "" {
				seen = append(seen, said)
			}
		},
	})
	first, second := d.New(t, t.TempDir()), d.New(t, t.TempDir())
	for _, id := range []schema.SessionID{first, second, second} { // each has a CLI with the same script
		if _, err := d.Prompt(t.Context(), id, "Talk."); err != nil {
			t.Fatal(err)
		}
	}
	if d.Text(first) != "one two three" || d.Text(second) != "one two threeother" {
		t.Errorf("said %q and %q", d.Text(first), d.Text(second))
	}
	var kept []string
	for _, up := range slices.Concat(d.Updates(first), d.Updates(second)) {
		if said := text(up); said != "" {
			kept = append(kept, said)
		}
	}
	if !slices.Equal(seen, kept) || len(kept) < 3 {
		t.Errorf("seen %q, kept %q", seen, kept)
	}
}

// An editor that is asked for anything else refuses and stays.
func TestUnknownMethod(t *testing.T) {
	ours, theirs := net.Pipe()
	d := drive.Connect(ours, drive.Setup{})
	defer d.Close()
	agent := rpc.New(t.Context(), theirs, nil, rpc.Limits{}, slog.New(slog.DiscardHandler))
	go agent.Serve(t.Context())
	for range 2 {
		if err := agent.Call(t.Context(), "_curious/ask", nil, nil); err == nil || !strings.Contains(err.Error(), "_curious/ask") {
			t.Errorf("the agent heard %v", err)
		}
	}
}

// reporter keeps what a driver complains about.
type reporter struct {
	*testing.T
	fatal string
}

func (r *reporter) Fatalf(format string, args ...any) {
	r.fatal = fmt.Sprintf(format, args...)
	panic(r)
}

// rude refuses its editor.
type rude struct{ acp.RemoteServer }

func (rude) Info(context.Context) (api.ServerInfo, error) {
	return api.ServerInfo{}, errors.New("not today")
}

// A driver whose agent does not want it fails its test with the reason.
func TestRefused(t *testing.T) {
	r := &reporter{T: t}
	defer func() {
		if recover() != r || !strings.Contains(r.fatal, "not today") {
			t.Errorf("the test failed with %q", r.fatal)
		}
	}()
	drive.Start(r, &acp.Remote{Server: rude{}}, drive.Setup{})
}
