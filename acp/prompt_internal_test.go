package acp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/rpc"
	"github.com/claude-agent-go/claude/internal/acp/schema"
)

// deaf is an editor that takes everything and never answers.
func deaf(t *testing.T) *editor {
	stream := struct {
		io.Reader
		io.Writer
		io.Closer
	}{bytes.NewReader(nil), io.Discard, io.NopCloser(nil)}
	return &editor{conn: rpc.New(t.Context(), stream, nil, rpc.Limits{}, slog.New(slog.DiscardHandler))}
}

// begin returns a session whose CLI is reached by transport. Nothing reads it
// yet.
func begin(t *testing.T, transport claude.Transport) *localSession {
	t.Helper()
	local := &Local{Options: &claude.Options{Transport: transport, Env: []string{"HOME=" + t.TempDir()}}}
	s, err := localAgent{local}.New(t.Context(), deaf(t), &schema.NewSessionRequest{Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return s.(*localSession)
}

func hello() *schema.PromptRequest {
	return &schema.PromptRequest{Prompt: []schema.ContentBlock{{Text: &schema.TextContent{Text: "Hello."}}}}
}

// TestPromptBeforeOpened prompts before the session reads between prompts: the
// idle reader must wait for the end of the turn.
func TestPromptBeforeOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := begin(t, claudetest.New(claudetest.Say("hello").Hold(release)))
		defer s.Close()
		ended := make(chan error, 1)
		go func() {
			_, err := s.Prompt(t.Context(), hello())
			ended <- err
		}()
		synctest.Wait()
		s.Opened(t.Context())
		s.mu.Lock()
		if s.stopIdle != nil {
			t.Error("an idle reader runs beside the turn")
		}
		s.mu.Unlock()
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		if s.stopIdle == nil {
			t.Error("nothing reads after the turn")
		}
		s.mu.Unlock()
	})
}

// TestCancelledBeforeSent sends nothing for a prompt that is cancelled already.
func TestCancelledBeforeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.New(claudetest.Say("never"))
		s := begin(t, cli)
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		resp, err := s.Prompt(ctx, hello())
		if err != nil || resp.StopReason != schema.StopReasonCancelled {
			t.Errorf("%+v, %v, want it cancelled", resp, err)
		}
		for _, e := range cli.Recording().Entries() {
			if bytes.Contains(e.Msg, []byte(`"Hello."`)) {
				t.Errorf("sent %s", e.Msg)
			}
		}
	})
}

// overtaken hands the first prompt to the CLI behind the line that follows it.
type overtaken struct {
	claude.Transport
	held chan struct{} // closed when the prompt is held back
}

func (o overtaken) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := o.Transport.Start(ctx, launch)
	return &overtakenConn{Conn: conn, held: o.held}, err
}

type overtakenConn struct {
	claude.Conn
	held   chan struct{}
	prompt []byte
	done   bool
}

func (c *overtakenConn) Write(line []byte) (int, error) {
	if !c.done && c.prompt == nil && bytes.Contains(line, []byte(`"Hello."`)) {
		c.prompt = bytes.Clone(line)
		close(c.held)
		return len(line), nil
	}
	n, err := c.Conn.Write(line)
	if c.prompt != nil && err == nil {
		_, err = c.Conn.Write(c.prompt)
		c.prompt, c.done = nil, true
	}
	return n, err
}

// TestCancelOvertakesPrompt cancels a turn whose interrupt reaches the CLI before
// the prompt: it is repeated until the turn has ended.
func TestCancelOvertakesPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		held := make(chan struct{})
		s := begin(t, overtaken{claudetest.New(claudetest.Say("on and on").After(time.Hour)), held})
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-held
			cancel()
		}()
		start := time.Now()
		resp, err := s.Prompt(ctx, hello())
		if err != nil || resp.StopReason != schema.StopReasonCancelled {
			t.Errorf("%+v, %v, want it cancelled", resp, err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("the turn ended after %v, want it interrupted within a second", took)
		}
	})
}
