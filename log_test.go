package claude_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/permission"
)

// TestLogLevels pins the level of each report: faults of the other side and ends
// at ERROR, problems that do not end the session at WARN, and ordinary events at
// DEBUG.
func TestLogLevels(t *testing.T) {
	answer := func(d permission.Decision, err error) func(*claude.Options) {
		return func(o *claude.Options) {
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) { return d, err }
		}
	}
	hooked := func(f func(context.Context) error) func(*claude.Options) {
		return func(o *claude.Options) {
			o.Hooks = []hook.Hook{hook.PreToolUse("", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
				return nil, f(ctx)
			})}
		}
	}
	ask := func(lines ...string) func(*cli) {
		return func(c *cli) {
			c.greet()
			for _, line := range lines {
				c.say("%s", line)
			}
			c.idle()
		}
	}
	tests := map[string]struct {
		play func(*cli)
		opts func(*claude.Options)
		do   func(context.Context, *claude.Session)
		want string
	}{
		"callback done":          {ask(bashRequest), answer(permission.Allow(), nil), nil, `level=DEBUG msg="callback done" subtype=can_use_tool name=Bash request_id=u-1 duration=`},
		"permission that failed": {ask(bashRequest), answer(permission.Pass(), errors.New("down")), nil, `level=WARN msg="callback failed" subtype=can_use_tool name=Bash request_id=u-1 error=down`},
		"hook done":              {ask(stopRequest), hooked(func(context.Context) error { return nil }), nil, `level=DEBUG msg="callback done" subtype=hook_callback name=PreToolUse request_id=u-1 duration=`},
		"hook that failed":       {ask(stopRequest), hooked(func(context.Context) error { return errors.New("down") }), nil, `level=WARN msg="callback failed" subtype=hook_callback name=PreToolUse request_id=u-1 error=down`},
		"hook that panicked":     {ask(stopRequest), hooked(func(context.Context) error { panic("boom") }), nil, `level=ERROR msg="panic in a callback" subtype=hook_callback name=PreToolUse panic=boom stack=`},
		"hook that took too long": {ask(stopRequest), hooked(func(ctx context.Context) error { <-ctx.Done(); return nil }), nil,
			`level=WARN msg="callback timed out" subtype=hook_callback name=PreToolUse request_id=u-1 timeout=1m0s`},
		"its late answer": {ask(stopRequest), hooked(func(ctx context.Context) error { <-ctx.Done(); <-time.After(time.Second); return nil }), nil,
			`level=DEBUG msg="answer of a callback came too late" request_id=u-1`},
		"hook that was withdrawn": {ask(stopRequest, `{"type":"control_cancel_request","request_id":"u-1"}`),
			hooked(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }), nil, `level=DEBUG msg="callback failed"`},
		"unknown hook":    {ask(strings.Replace(stopRequest, "hook_0", "hook_9", 1)), nil, nil, `level=WARN msg="callback failed" subtype=hook_callback`},
		"unknown request": {ask(`{"type":"control_request","request_id":"u-1","request":{"subtype":"new"}}`), nil, nil, `level=WARN msg="request of an unknown kind refused" subtype=new request_id=u-1`},
		"no JSON":         {ask("Hello there"), nil, nil, `level=ERROR msg="bad line from the CLI" error=`},
		"no field":        {ask(`{"type":"control_request","request_id":"u-1"}`), nil, nil, `level=ERROR msg="bad line from the CLI" error="Missing required field: request" count=1`},
		"operation refused": {func(c *cli) { c.greet(); c.refuse(c.request("set_model"), "no", ""); c.idle() }, nil,
			func(ctx context.Context, s *claude.Session) { s.SetModel(ctx, "x") }, `level=ERROR msg="control operation failed" op=set_model error=`},
		"operation that timed out": {func(c *cli) { c.greet(); c.request("set_model"); c.idle() }, nil,
			func(ctx context.Context, s *claude.Session) { s.SetModel(ctx, "x") }, `level=ERROR msg="control operation failed" op=set_model error=`},
		"operation given up": {func(c *cli) { c.greet(); c.request("set_model"); c.idle() }, nil, func(ctx context.Context, s *claude.Session) {
			ctx, cancel := context.WithTimeout(ctx, time.Second) // in a bubble
			defer cancel()
			s.SetModel(ctx, "x")
		}, `level=DEBUG msg="control operation failed" op=set_model error=`},
		"rewind without checkpoints": {ask(), nil, func(ctx context.Context, s *claude.Session) { s.Files().Rewind(ctx, "m") },
			`level=ERROR msg="control operation failed" op=rewind_files error=`},
		"preview without checkpoints": {ask(), nil, func(ctx context.Context, s *claude.Session) { s.Files().PreviewRewind(ctx, "m") },
			`level=ERROR msg="control operation failed" op=rewind_files error=`},
		"background of nothing": {ask(), nil, func(ctx context.Context, s *claude.Session) { s.Tasks().Background(ctx, "") },
			`level=ERROR msg="control operation failed" op=background_tasks error=`},
		"servers that cannot be used": {ask(), nil, func(ctx context.Context, s *claude.Session) {
			s.MCP().Set(ctx, claude.MCPServers{"": nil})
		}, `level=ERROR msg="control operation failed" op=mcp_set_servers error=`},
		"payload that cannot be sent": {ask(), nil, func(ctx context.Context, s *claude.Session) { s.Control(ctx, "x", 7, nil) },
			`level=ERROR msg="control operation failed" op=x error=`},
		"operation of a newer CLI": {func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"1.0.63","capabilities":[]}`)
			c.idle()
		}, nil, func(ctx context.Context, s *claude.Session) { s.SetModel(ctx, "x") }, `level=ERROR msg="control operation failed" op=set_model error=`},
		"operation after the end": {ask(), nil, func(ctx context.Context, s *claude.Session) { s.Close(); s.SetModel(ctx, "x") },
			`level=DEBUG msg="control operation failed" op=set_model error=`},
		"reply of another shape": {func(c *cli) { c.greet(); c.succeed(c.request("cancel_async_message"), `"ok"`); c.idle() }, nil,
			func(ctx context.Context, s *claude.Session) { s.CancelPrompt(ctx, "m") }, `level=WARN msg="the reply has another shape" op=cancel_async_message error=`},
		"partial messages that are dropped": {func(c *cli) {
			c.greet()
			for range 100 {
				c.say(`{"type":"stream_event","event":{"type":"ping","pad":%q}}`, strings.Repeat("x", 1000))
			}
			c.idle()
		}, func(o *claude.Options) { o.Limits.Unread = 10_000 }, nil, `level=WARN msg="messages are not read: partial ones are dropped" dropped=`},
		"messages that end the session": {func(c *cli) {
			c.greet()
			for range 100 {
				c.text(strings.Repeat("x", 1000))
			}
			c.idle()
		}, func(o *claude.Options) { o.Limits.Unread = 10_000 }, nil, `level=WARN msg="messages are not read: the session ends" dropped=`},
		"line without an end": {func(c *cli) {
			c.greet()
			for range 3 << 10 {
				io.WriteString(c.stdout, strings.Repeat(" ", 1<<10))
			}
			c.idle()
		}, nil, nil, `level=WARN msg="a line has no end yet" bytes=`},
		"abandoned turn": {func(c *cli) { c.greet(); c.begin(c.prompt()); c.refuse(c.request("interrupt"), "no", ""); c.idle() }, nil,
			func(ctx context.Context, s *claude.Session) {
				for range s.Run(ctx, "work") {
					break
				}
			}, `level=WARN msg="ending an abandoned turn" op=interrupt error=`},
		"hooks that are not registered": {func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"2.1.325","capabilities":[],"hooks_applied":false}`)
			c.idle()
		}, hooked(func(context.Context) error { return nil }), nil, `level=WARN msg="the CLI did not register the hooks"`},
		"prompt that is not empty": {func(c *cli) {
			c.succeed(c.request("initialize"), `{"claude_code_version":"1.0.85","capabilities":[]}`)
			c.idle()
		}, nil, nil, `level=WARN msg="this CLI uses the prompt of Claude Code, although SystemPrompt is empty" version=1.0.85`},
		"panic of a Trace": {ask(), func(o *claude.Options) {
			o.Trace = &claude.Trace{RequestDone: func(claude.TraceRequest) { panic("boom") }}
		}, nil, `level=ERROR msg="panic in a Trace function" panic=boom stack=`},
		"states":             {ask(), nil, nil, `level=DEBUG msg="session state" from=initializing to=running`},
		"failed session":     {func(c *cli) { c.greet(); c.code = 3 }, nil, func(_ context.Context, s *claude.Session) { s.Wait() }, `level=ERROR msg="session failed" error=`},
		"aborted session":    {ask(), nil, func(_ context.Context, s *claude.Session) { s.Abort(errors.New("deleted")) }, `level=INFO msg="session aborted" cause=deleted`},
		"output that closed": {func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped }, nil, func(_ context.Context, s *claude.Session) { s.Wait() }, `level=WARN msg="the CLI is not read any more but still runs"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, tt.play, func(t *testing.T, o *claude.Options) {
				book := keepLog(o)
				if tt.opts != nil {
					tt.opts(o)
				}
				s := connect(t, o)
				if tt.do != nil {
					tt.do(t.Context(), s)
				}
				pass(2 * time.Minute)
				s.Close()
				s.Wait()
				synctest.Wait()
				if got := book.String(); strings.Count(got, tt.want) != 1 {
					t.Errorf("log:\n%swant once: %s", got, tt.want)
				}
			})
		})
	}
}

// TestLogLevelsOfClose is TestLogLevels for the faults that Close meets.
func TestLogLevelsOfClose(t *testing.T) {
	tmp := t.TempDir()
	now := filepath.Join(tmp, "now")
	leak.TempFolder(t, now)
	for name, tt := range map[string]struct {
		transport func(*testing.T) claude.Transport
		opts      func(*claude.Options)
		before    func(*testing.T, *claude.Session)
		want      string
	}{
		"stdin that does not close": {
			func(t *testing.T) claude.Transport {
				return &unruly{double: double{t: t, play: func(c *cli) { c.greet(); c.idle() }}, closeWriteErr: errors.New("no")}
			}, nil, nil, `level=DEBUG msg="closing stdin" error=no`},
		"result of a turn that was cut off": {
			func(t *testing.T) claude.Transport {
				l := &lastWord{stopping: make(chan struct{}), said: make(chan struct{})}
				l.double = double{t: t, play: func(c *cli) {
					c.greet()
					id := c.prompt()
					c.begin(id)
					<-l.stopping
					c.result("all went well", id)
					close(l.said)
				}}
				return l
			}, nil, func(t *testing.T, s *claude.Session) {
				if _, err := s.Send(t.Context(), "work"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}, `level=DEBUG msg="result of a turn that was cut off dropped"`},
		"files that stay": {
			func(t *testing.T) claude.Transport {
				return &double{t: t, play: func(c *cli) { c.greet(); c.idle() }}
			}, func(o *claude.Options) {
				o.MCPServers = claude.MCPServers{"files": claude.StdioServer{Command: "mcp-files"}}
			}, func(t *testing.T, _ *claude.Session) {
				// There is a file where the folder was, so nothing in it can be removed.
				if err := errors.Join(os.Rename(now, filepath.Join(tmp, "then")), os.WriteFile(now, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}, `level=WARN msg="temporary files could not be removed" error=`},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "files that stay" {
				need.UnixPaths.Test(t)
			}
			if err := errors.Join(os.RemoveAll(now), os.Mkdir(now, 0o700)); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				o := &claude.Options{Transport: tt.transport(t)}
				book := keepLog(o)
				if tt.opts != nil {
					tt.opts(o)
				}
				s := connect(t, o)
				if tt.before != nil {
					tt.before(t, s)
				}
				s.Close()
				s.Wait()
				synctest.Wait()
				if got := book.String(); strings.Count(got, tt.want) != 1 {
					t.Errorf("log:\n%swant once: %s", got, tt.want)
				}
			})
		})
	}
}

// TestLogLevelsOfTheEnd is TestLogLevels for a Conn that breaks its promises.
func TestLogLevelsOfTheEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		conn *unruly
		play func(*cli)
		want string
	}{
		"output that stays": {&unruly{readForever: true}, func(c *cli) { c.greet(); c.code = 1 }, `level=WARN msg="the CLI has ended but its output has not"`},
		"stop that fails": {&unruly{stopErr: errors.New("no")}, func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped },
			`level=ERROR msg="the CLI could not be stopped" error=no`},
		"stop that lasts": {&unruly{stopForever: true}, func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped },
			`level=ERROR msg="the CLI could not be stopped in time"`},
	} {
		t.Run(name, func(t *testing.T) {
			unrulyBubble(t, tt.conn, tt.play, func(t *testing.T, o *claude.Options) {
				book := keepLog(o)
				s := connect(t, o)
				s.Wait()
				synctest.Wait() // the one that stops the CLI reports last
				if got := book.String(); !strings.Contains(got, tt.want) {
					t.Errorf("log:\n%swant %s", got, tt.want)
				}
			})
		})
	}
}

// A message that lacks a required part is reported by the path of that part, and
// delivered anyway.
func TestMessagesThatLackAField(t *testing.T) {
	lines := map[string]string{
		`{"type":"assistant","uuid":"a"}`:                "message: assistant: message is missing",
		`{"type":"user","message":{"role":"user"}}`:      "message: user: message.content is missing",
		`{"type":"stream_event","event":{"index":1}}`:    "message: stream_event: event.type is missing",
		`{"type":"system"}`:                              "message: system: subtype is missing",
		`{"uuid":"a"}`:                                   "message: line: type is missing",
		`{"subtype":"success","type":7,"is_error":true}`: "",
	}
	for line, want := range lines {
		bubble(t, func(c *cli) { c.greet(); c.say("%s", line) }, func(t *testing.T, o *claude.Options) {
			var told []string
			o.Trace = &claude.Trace{Diagnostic: func(d claude.Diagnostic) { told = append(told, d.Err.Error()) }}
			book := keepLog(o)
			s := connect(t, o)
			n := 0
			for m, err := range s.Messages(t.Context()) {
				if err != nil || string(m.Head().Raw) != line {
					t.Errorf("%s: got %v, %v", line, m, err)
				}
				n++
			}
			s.Wait()
			if n != 1 || len(told) != 1 || want != "" && told[0] != want {
				t.Errorf("%s: %d messages, told %q, want %q", line, n, told, want)
			}
			if !strings.Contains(book.String(), `level=ERROR msg="bad line from the CLI" error="message: `) {
				t.Errorf("log:\n%s", book)
			}
		})
	}
}

// A line that is not JSON is logged by its head, which is short and holds no
// secret: none of the environment, none known by its form, and none that is cut
// off by the end of the line or of the head.
func TestBadLinesAreLoggedSafely(t *testing.T) {
	const (
		token = "correct-horse-battery-staple"
		key   = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"
	)
	tests := map[string]struct{ line, want string }{
		"short":           {"Hello there", `head="Hello there"`},
		"long":            {strings.Repeat("x", 100_000), `bytes=100000 head=` + strings.Repeat("x", 200) + "…"},
		"of the session":  {"token is " + token + " ok", `head="token is [redacted] ok"`},
		"by its form":     {"key is " + key + " ok", `head="key is [redacted] ok"`},
		"by its name":     {`{"password":"hunter2hunter2"`, `password\":\"[redacted]\"`},
		"cut line":        {`{"password":"hunter2hunter2`, `password\":\"[redacted]`},
		"across the head": {strings.Repeat("x", 190) + token, strings.Repeat("x", 190) + "[redacted]"},
		"key at the head": {strings.Repeat("x ", 95) + key, "x [redacted]"},
		"two types":       {`{"type":"a","Type":"` + token + `"}`, `[redacted]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(c *cli) { c.greet(); c.say("%s", tt.line); c.idle() }, func(t *testing.T, o *claude.Options) {
				book := keepLog(o)
				o.Env = []string{"PATH=/bin", "DEPLOY_TOKEN=" + token}
				s := connect(t, o)
				synctest.Wait()
				finish(t, s)
				got := book.String()
				if strings.Count(got, tt.want) != 1 {
					t.Errorf("log:\n%.2000s\nwant once %s", got, tt.want)
				}
				for _, part := range []string{token[:8], key[14:22], "hunter2"} {
					if strings.Contains(got, part) {
						t.Errorf("%s is in the log:\n%.2000s", part, got)
					}
				}
				if len(got) > 4000 {
					t.Errorf("the log has %d bytes", len(got))
				}
			})
		})
	}
}
