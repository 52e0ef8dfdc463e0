package acp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

var more = []schema.ContentBlock{{Text: &schema.TextContent{Text: "More."}}}

// promptAside runs a turn beside the test.
func promptAside(ctx context.Context, s *localSession) <-chan string {
	ended := make(chan string, 1)
	go func() {
		resp, err := s.Prompt(ctx, hello())
		if err != nil {
			ended <- err.Error()
			return
		}
		ended <- string(resp.StopReason)
	}()
	return ended
}

// endsWith fails unless a turn ends within a minute.
func endsWith(t *testing.T, ended <-chan string, want schema.StopReason) {
	t.Helper()
	select {
	case got := <-ended:
		if got != string(want) {
			t.Errorf("the turn ended with %s, want %s", got, want)
		}
	case <-time.After(time.Minute):
		t.Error("the turn hangs")
	}
}

// given are the messages that a turn has still to answer.
func (s *localSession) given() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.steering.left))
}

// rewired changes the lines that go to a CLI and come from it.
type rewired struct {
	claude.Transport
	write func(line []byte, stopped <-chan struct{}) // before a line is written
	read  func(line []byte) []byte
}

func (r rewired) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := r.Transport.Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	stopped := make(chan struct{})
	return &rewiredConn{Conn: conn, rewired: r, lines: bufio.NewReader(conn), stopped: stopped, stop: sync.OnceFunc(func() { close(stopped) })}, nil
}

type rewiredConn struct {
	claude.Conn
	rewired rewired
	lines   *bufio.Reader
	rest    []byte
	stopped chan struct{}
	stop    func()
}

func (c *rewiredConn) Write(line []byte) (int, error) {
	if c.rewired.write != nil {
		c.rewired.write(line, c.stopped)
	}
	return c.Conn.Write(line)
}

func (c *rewiredConn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		line, err := c.lines.ReadBytes('\n')
		if err != nil {
			return 0, err
		}
		if c.rest = line; c.rewired.read != nil {
			c.rest = c.rewired.read(line)
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *rewiredConn) Stop() error {
	c.stop()
	return c.Conn.Stop()
}

func (c *rewiredConn) Kill() error { return c.Stop() }

// unnamed makes a CLI one whose results name no prompts, and that does not follow them
// through its queue.
func unnamed(line []byte) []byte {
	var m map[string]any
	if jsonx.Unmarshal(line, &m) != nil || m["type"] != "result" {
		if bytes.Contains(line, []byte(`"command_lifecycle"`)) {
			return nil
		}
		return line
	}
	delete(m, "user_message_uuids")
	delete(m, "user_message_uuid")
	out, _ := jsonx.Marshal(m)
	return append(out, '\n')
}

// TestSteerUnnamed steers a turn of a CLI whose results do not name what they answer.
func TestSteerUnnamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := begin(t, rewired{Transport: claudetest.New(claudetest.Say("hello").Hold(release), claudetest.Say("more")), read: unnamed})
		defer s.Close()
		ended := promptAside(t.Context(), s)
		synctest.Wait()
		if err := s.Steer(t.Context(), more); err != nil {
			t.Fatal(err)
		}
		close(release)
		endsWith(t, ended, schema.StopReasonEndTurn)
	})
}

// TestSteerWithdrawn withdraws a message from the queue of the CLI: it gets no result.
func TestSteerWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := begin(t, claudetest.New(claudetest.Say("hello").Hold(release)))
		defer s.Close()
		ended := promptAside(t.Context(), s)
		synctest.Wait()
		if err := s.Steer(t.Context(), more); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if ok, err := s.cli.CancelPrompt(t.Context(), s.given()[0]); err != nil || !ok {
			t.Fatalf("withdrawn: %t, %v", ok, err)
		}
		close(release)
		endsWith(t, ended, schema.StopReasonEndTurn)
	})
}

// TestSteerNotRead steers a CLI that stops reading: when the message is given up, its
// turn has ended.
func TestSteerNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := begin(t, rewired{Transport: claudetest.New(claudetest.Say("hello").Hold(release)), write: func(line []byte, stopped <-chan struct{}) {
			if bytes.Contains(line, []byte("More.")) {
				<-stopped
			}
		}})
		defer s.Close()
		ended := promptAside(t.Context(), s)
		synctest.Wait()
		steered := make(chan error, 1)
		go func() { steered <- s.Steer(t.Context(), more) }()
		synctest.Wait()
		close(release)
		synctest.Wait()
		select {
		case got := <-ended:
			t.Errorf("the turn ended with %s before its message", got)
		default:
		}
		endsWith(t, ended, schema.StopReasonEndTurn)
		if err := <-steered; err == nil {
			t.Error("a message that was not read counts as given")
		}
	})
}

// TestSteerBeforePrompt gives a message to a turn that is about to begin: it must not
// overtake the prompt.
func TestSteerBeforePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan struct{})
		cli := claudetest.New(claudetest.Say("hello").After(time.Second), claudetest.Say("more"))
		s := begin(t, rewired{Transport: cli, write: func(line []byte, stopped <-chan struct{}) {
			if bytes.Contains(line, []byte("Hello.")) {
				<-written
			}
		}})
		defer s.Close()
		steered := make(chan error, 1)
		go func() { steered <- s.Steer(t.Context(), more) }()
		synctest.Wait()
		ended := promptAside(t.Context(), s)
		synctest.Wait()
		if left := s.given(); len(left) > 0 {
			t.Error("given before the prompt is written")
		}
		close(written)
		endsWith(t, ended, schema.StopReasonEndTurn)
		if err := <-steered; err != nil {
			t.Error(err)
		}
		var order []string
		for _, e := range cli.Recording().Entries() {
			for _, text := range []string{"Hello.", "More."} {
				if bytes.Contains(e.Msg, []byte(`"type":"user"`)) && bytes.Contains(e.Msg, []byte(text)) {
					order = append(order, text)
				}
			}
		}
		if len(order) < 2 || order[0] != "Hello." {
			t.Errorf("the CLI read %q", order)
		}
	})
}

// TestSteerCancelled cancels a turn whose prompt is answered, while a message that
// steered it is not. What comes after the cancel steers nothing.
func TestSteerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := begin(t, claudetest.New(claudetest.Say("hello").Hold(release), claudetest.Say("on and on").After(time.Hour)))
		defer s.Close()
		ctx, cancel := context.WithCancel(t.Context())
		ended := promptAside(ctx, s)
		synctest.Wait()
		if err := s.Steer(ctx, more); err != nil {
			t.Fatal(err)
		}
		close(release)
		synctest.Wait()
		start := time.Now()
		cancel()
		if err := s.Steer(ctx, more); !errors.Is(err, errNoTurn) {
			t.Errorf("after the cancel: %v", err)
		}
		endsWith(t, ended, schema.StopReasonCancelled)
		if took := time.Since(start); took > time.Second {
			t.Errorf("the turn ended after %v", took)
		}
	})
}

// TestSteerCutOff cancels a turn in the moment in which its prompt is answered: it counts
// as cancelled, because the message that steered it was not answered.
func TestSteerCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		s := begin(t, rewired{Transport: claudetest.New(claudetest.Say("hello").Hold(release), claudetest.Say("on and on").After(time.Hour)), read: func(line []byte) []byte {
			if bytes.Contains(line, []byte(`"type":"result"`)) {
				cancel()
			}
			return unnamed(line) // so that only the first result is awaited
		}})
		defer s.Close()
		ended := promptAside(ctx, s)
		synctest.Wait()
		if err := s.Steer(ctx, more); err != nil {
			t.Fatal(err)
		}
		close(release)
		endsWith(t, ended, schema.StopReasonCancelled)
	})
}
