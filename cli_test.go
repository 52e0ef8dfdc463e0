package claude_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/wire"
)

// double is a Transport without a process: a function of the test plays the
// CLI, line by line.
type double struct {
	t      *testing.T
	play   func(*cli)
	launch *claude.Launch
}

// cli is the CLI's end of a double, in the hands of the test.
type cli struct {
	t       *testing.T
	stdin   *ndjson.Reader
	stdout  io.WriteCloser
	stopped chan struct{} // closed when the SDK called Stop
	code    int           // exit code, when play returns
}

// conn is the SDK's end.
type conn struct {
	claude.NoProcess
	io.Reader
	io.WriteCloser
	cli  *cli
	stop sync.Once
	done chan struct{}
}

type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
func (c exitCode) ExitCode() int { return int(c) }

func (d *double) Start(_ context.Context, launch *claude.Launch) (claude.Conn, error) {
	d.launch = launch
	fromSDK, toCLI := io.Pipe()
	fromCLI, toSDK := io.Pipe()
	c := &cli{t: d.t, stdin: ndjson.NewReader(fromSDK), stdout: toSDK, stopped: make(chan struct{})}
	conn := &conn{Reader: fromCLI, WriteCloser: toCLI, cli: c, done: make(chan struct{})}
	go func() {
		defer close(conn.done)
		defer fromSDK.Close()
		defer toSDK.Close()
		d.play(c)
	}()
	go func() { // a signal ends a CLI whatever it does
		select {
		case <-c.stopped:
			fromSDK.Close()
			toSDK.Close()
		case <-conn.done:
		}
	}()
	return conn, nil
}

func (c *conn) CloseWrite() error { return c.WriteCloser.Close() }

func (c *conn) Stop() error {
	c.stop.Do(func() { close(c.cli.stopped) })
	<-c.done
	return nil
}

func (c *conn) Kill() error { return c.Stop() }

func (c *conn) Wait() error {
	<-c.done
	if c.cli.code != 0 {
		return exitCode(c.cli.code)
	}
	return nil
}

// bubble runs a test with a played CLI in a bubble of fake time.
func bubble(t *testing.T, play func(*cli), test func(t *testing.T, o *claude.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &claude.Options{
			Transport: &double{t: t, play: play},
			Logger:    harness.Logger(t),
			SessionID: "00000000-0000-4000-8000-000000000001",
		})
	})
}

// pass lets time go by in a bubble, and everything happen that it brings.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// hear returns the next line of the SDK, false when stdin has ended.
func (c *cli) hear() (wire.Frame, bool) {
	line, err := c.stdin.Next()
	if err != nil {
		return wire.Frame{}, false
	}
	f, err := wire.Parse(line)
	if err != nil {
		c.t.Errorf("the SDK wrote %q: %v", line, err)
	}
	return f, true
}

// request hears a control request and checks its subtype.
func (c *cli) request(subtype string) wire.Request {
	f, ok := c.hear()
	if !ok {
		c.t.Errorf("stdin ended, want a %s request", subtype)
		return wire.Request{}
	}
	r, err := f.Request()
	if err != nil || r.Subtype != subtype {
		c.t.Errorf("got %s, want a %s request", f.Line, subtype)
	}
	return r
}

// prompt hears a user message and returns its id.
func (c *cli) prompt() string {
	f, ok := c.hear()
	if !ok {
		c.t.Error("stdin ended, want a prompt")
	} else if f.Type != "user" {
		c.t.Errorf("got %s, want a prompt", f.Line)
	}
	return f.Text("uuid")
}

func (c *cli) say(format string, args ...any) {
	io.WriteString(c.stdout, fmt.Sprintf(format, args...)+"\n") // fails when the SDK has gone
}

func (c *cli) succeed(r wire.Request, payload string) {
	c.say(`{"type":"control_response","response":{"subtype":"success","request_id":%s,"response":%s}}`, string(r.ID), payload)
}

func (c *cli) refuse(r wire.Request, text, code string) {
	c.say(`{"type":"control_response","response":{"subtype":"error","request_id":%s,"error":%q,"error_code":%q}}`, string(r.ID), text, code)
}

// greet answers the handshake.
func (c *cli) greet() {
	c.succeed(c.request("initialize"), `{"claude_code_version":"2.1.325","hook_on_failure_supported":true,"capabilities":["interrupt_receipt_v1"],"models":[{"value":"default"}]}`)
}

func (c *cli) begin(ids ...string) {
	c.say(`{"type":"system","subtype":"init","session_id":"s-1"%s}`, named(ids))
}

func (c *cli) text(s string) {
	c.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":%q}]}}`, s)
}

func (c *cli) result(text string, ids ...string) {
	c.say(`{"subtype":"success","is_error":false,"result":%q%s,"type":"result"}`, text, named(ids))
}

func (c *cli) life(id, state string) {
	c.say(`{"type":"command_lifecycle","command_uuid":%q,"state":%q}`, id, state)
}

func named(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return `,"user_message_uuids":["` + strings.Join(ids, `","`) + `"]`
}

// answer plays one whole turn.
func (c *cli) answer(text string) (id string) {
	id = c.prompt()
	if id != "" {
		c.begin(id)
		c.text(text)
		c.result(text, id)
	}
	return id
}

// idle plays a CLI that waits for the end of its input.
func (c *cli) idle() {
	for {
		f, ok := c.hear()
		if !ok {
			return
		}
		if r, err := f.Request(); err == nil && f.Type == wire.TypeRequest {
			c.succeed(r, "{}")
		}
	}
}

// connect starts a session in a bubble and ends it with the test's function.
func connect(t *testing.T, o *claude.Options) *claude.Session {
	t.Helper()
	s, err := claude.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// finish closes a session and wants it to have ended in good order.
func finish(t *testing.T, s *claude.Session) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close = %v", err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("Wait = %v", err)
	}
	if s.State() != claude.StateStopped {
		t.Errorf("state %v after Close", s.State())
	}
}
