package claude_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// The handshake goes one way: a CLI that sends initialize itself is refused, and the
// session continues.
func TestInboundInitializeRefused(t *testing.T) {
	for _, request := range []string{`{"subtype":"initialize"}`, `{"subtype":"initialize","hooks":{"PreToolUse":[{"hookCallbackIds":["x"]}]},"sdkMcpServers":["s"]}`} {
		var answer string
		line := `{"type":"control_request","request_id":"u-1","request":` + request + `}`
		bubble(t, asking(line, &answer), func(t *testing.T, o *claude.Options) {
			s := connect(t, o)
			synctest.Wait()
			if want := `"subtype":"error","request_id":"u-1","error":"Unsupported control request subtype: initialize","error_code":"unsupported_request"`; !strings.Contains(answer, want) {
				t.Errorf("%s: answer %s, want %s", request, answer, want)
			}
			if s.State() != claude.StateRunning {
				t.Errorf("the session is %v", s.State())
			}
			finish(t, s)
		})
	}
}

// Every form of the CLI's complaint about an unknown flag becomes an error about
// its version that names the flag.
func TestComplaintsAboutFlags(t *testing.T) {
	for _, complaint := range []string{
		"error: unknown option '--session-id=x'",
		"error: unknown flag: --session-id",
		"claude: invalid option -- '--session-id'",
		"claude: invalid option: \"--session-id\"\nTry --help.",
	} {
		bubble(t, func(c *cli) { c.say("%s", complaint); c.code = 1 }, func(t *testing.T, o *claude.Options) {
			_, err := claude.Connect(t.Context(), o)
			if !errors.Is(err, claude.ErrUnsupportedVersion) || !strings.Contains(err.Error(), "does not know --session-id, 2.1.325 does") {
				t.Errorf("%q: error = %v", complaint, err)
			}
		})
	}
}

// A CLI that never names its version delays a start by seconds, not minutes. What is
// left of the bound is time for a slow machine.
func TestChildVersionProbeIsBounded(t *testing.T) {
	long.Test(t, "waits until the probe is given up")
	leak.Check(t)
	const bound = 20 * time.Second
	o := childCLI(t, "modest")
	o.Env = append(o.Env, "CLI_VERSION=slow") // it never ends
	o.Hooks = []hook.Hook{noHook()}
	o.Timeouts.Initialize = 10 * time.Minute
	book := keepLog(o)
	done := make(chan error, 1)
	go func() {
		s, err := claude.Connect(t.Context(), o)
		if err == nil {
			err = s.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, claude.ErrUnsupportedVersion) {
			t.Error(err)
		}
	case <-time.After(bound):
		t.Errorf("Connect still asks for the version after %v; log:\n%s", bound, book)
		<-done
	}
	if !strings.Contains(book.String(), "version check inconclusive") {
		t.Errorf("nothing asked for the version; log:\n%s", book)
	}
}

// An answer that comes after we have ended the input ourselves cannot be written, and
// that ends nothing: the CLI's remaining output is still delivered.
func TestWriteAfterOwnEndOfInput(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.result("hi", id)
		if f, ok := c.hear(); ok {
			c.t.Errorf("got %s, want the end of stdin", f.Line)
		}
		c.say("%s", bashRequest)
		<-time.After(time.Minute) // far longer than a session with a broken input lives
		c.text("late")
		c.result("something later")
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.CanUseTool = allowAll
		res, err := claude.Ask(t.Context(), "hello", o)
		if err != nil || res == nil || res.Text != "something later" {
			t.Errorf("Ask = %+v, %v, want the last result", res, err)
		}
	})
}
