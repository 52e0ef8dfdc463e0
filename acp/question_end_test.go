package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
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

// A question whose call was denied because it took too long ends: later answers must
// not count.
func TestTimeoutWithdraws(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive(t, func(o *claude.Options) { o.Timeouts.Callback = time.Minute })
		<-l.ended
		l.Close()
		synctest.Wait()
		if q := l.question(t); q.State != approval.StateGone || q.Outcome != approval.OutcomeWithdrawn {
			t.Errorf("the question is %s (%s), want it withdrawn", q.State, q.Outcome)
		}
	})
}

// The questions of a session are erased with it, even if its transcript is gone.
func TestDeleteErases(t *testing.T) {
	const secret = "sk-ant-secret"
	in := approval.NewQuestions(store.Memory(), "p")
	q, err := in.Ask(t.Context(), approval.Question{Conversation: cutSession, Tool: "Bash", ToolUseID: cutCall, Input: json.RawMessage(`{"command":"` + secret + `"}`)}, store.Fence{})
	if err != nil {
		t.Fatal(err)
	}
	local := &acp.Local{Options: &claude.Options{Env: []string{"HOME=" + t.TempDir()}}, Questions: in}
	err = acp.ContractOf(local).Delete(t.Context(), cutSession)
	if e, ok := errors.AsType[*schema.Error](err); !ok || e.Code != schema.ErrorCodeResourceNotFound {
		t.Errorf("deleted: %v, want that there is no such session", err)
	}
	if q, err = in.Get(t.Context(), q.ID); err != nil || q.Outcome != approval.OutcomeDeleted || strings.Contains(string(q.Input), secret) {
		t.Errorf("the question is %s with %s, %v", q.Outcome, q.Input, err)
	}
}

// Old questions are forgotten once their session is gone, and not before: they keep a
// call from running a second time.
func TestTidyKeepsQuestionsOfSessions(t *testing.T) {
	dir := cutOff(t)
	synctest.Test(t, func(t *testing.T) {
		in := approval.NewQuestions(store.Memory(), "p")
		ids := make(map[string]string)
		for _, session := range []string{cutSession, "00000000-0000-4000-8000-0000000000bb"} {
			q, err := in.Ask(t.Context(), approval.Question{Conversation: session, Tool: "Bash", ToolUseID: cutCall, Input: json.RawMessage(`{}`)}, store.Fence{})
			if err == nil {
				err = in.Withdraw(t.Context(), q.ID, approval.OutcomeWithdrawn, "", store.Fence{})
			}
			if err != nil {
				t.Fatal(err)
			}
			ids[session] = q.ID
		}
		<-time.After(61 * 24 * time.Hour)
		d := drive.Start(t, &acp.Local{Options: &claude.Options{Transport: claudetest.New(), Env: []string{"CLAUDE_CONFIG_DIR=" + dir}}, Questions: in}, drive.Setup{})
		d.New(t, "/")
		for session, id := range ids {
			if _, err := in.Get(t.Context(), id); (err == nil) != (session == cutSession) {
				t.Errorf("the question of %s: %v", session, err)
			}
		}
	})
}

// unready is an agent that cannot be reached at first.
type unready struct {
	acp.Contract
	failures int
}

func (u *unready) Initialize(ctx context.Context, e *acp.Editor) (*schema.InitializeResponse, error) {
	if u.failures--; u.failures >= 0 {
		return nil, errors.New("the server cannot be reached")
	}
	return u.Contract.Initialize(ctx, e)
}

// An editor whose first introduction has failed may introduce itself again, once.
func TestInitializeAgain(t *testing.T) {
	local, _ := scripted(t)
	ours, theirs := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), theirs, acp.Custom(&unready{Contract: acp.ContractOf(local), failures: 1}))
	}()
	d := drive.Connect(ours, drive.Setup{})
	for i, want := range []bool{false, true, false} {
		err := d.Call(t.Context(), schema.MethodAgentInitialize, schema.InitializeRequest{ProtocolVersion: schema.Version}, nil)
		if (err == nil) != want {
			t.Errorf("attempt %d: %v", i, err)
		}
	}
	d.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
