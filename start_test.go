package claude_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// logbook is a log that a test reads.
type logbook struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// keepLog makes a session log into a book.
func keepLog(o *claude.Options) *logbook {
	book := new(logbook)
	o.Logger = slog.New(slog.NewTextHandler(book, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return book
}

// warnings returns the lines of a log from WARN on.
func (l *logbook) warnings() (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			lines = append(lines, line)
		}
	}
	return lines
}

// duringHandshake calls f in a callback that runs before the handshake is
// done. The callback confirms nothing.
func duringHandshake(o *claude.Options, f func(ctx context.Context, s *claude.Session)) {
	o.OnElicitation = func(ctx context.Context, _ *control.Elicitation) (control.ElicitationAnswer, error) {
		f(ctx, claude.SessionFrom(ctx))
		return control.Decline(), nil
	}
}

const elicitation = `{"type":"control_request","request_id":"u-0","request":{"subtype":"elicitation","message":"?"}}`

// Whatever ends the handshake, operations that waited for it fail with
// ErrNotInitialized and the cause.
func TestQueuedOperationsOfAFailedHandshake(t *testing.T) {
	crash := func(code int) func(*cli) { return func(c *cli) { c.code = code } }
	tests := map[string]struct {
		end    func(*cli) // after something waits
		change func(*claude.Options)
		is     func(error) bool
	}{
		"refused": {func(c *cli) {
			c.say(`{"type":"control_response","response":{"subtype":"error","request_id":"req_0","error":"no"}}`)
			c.idle()
		}, nil, is(claude.ErrInitializeRefused)},
		"timeout":       {func(c *cli) { <-c.stopped }, nil, is(claude.ErrInitializeTimeout)},
		"exit 0":        {crash(0), nil, exits(0)},
		"exit 9":        {crash(9), nil, exits(9)},
		"context":       {func(c *cli) { <-c.stopped }, func(o *claude.Options) { o.Timeouts.Initialize = time.Hour }, is(context.DeadlineExceeded)},
		"output closed": {func(c *cli) { c.stdout.Close(); <-c.stopped; c.code = 9 }, nil, exits(9)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.request("initialize")
				c.say(elicitation)
				synctest.Wait()
				tt.end(c)
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				if tt.change != nil {
					tt.change(o)
				}
				failed := make(chan error, 2)
				duringHandshake(o, func(_ context.Context, s *claude.Session) {
					// With a context of its own: the callback's ends with the session.
					go func() { failed <- s.SetModel(context.Background(), "sonnet") }()
					_, err := s.Send(context.Background(), "hello")
					failed <- err
				})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				if _, err := claude.Connect(ctx, o); err == nil {
					t.Fatal("connected")
				}
				for range 2 {
					err := <-failed
					if !errors.Is(err, claude.ErrNotInitialized) || !tt.is(err) {
						t.Errorf("error = %v", err)
					}
					if n := strings.Count(err.Error(), "not initialized"); n != 1 {
						t.Errorf("said %d times: %v", n, err)
					}
				}
			})
		})
	}
}

func exits(code int) func(error) bool {
	return func(err error) bool {
		exit, ok := errors.AsType[*claude.ProcessError](err)
		return ok && exit.ExitCode == code
	}
}

// An operation that waited for the handshake has its whole time afterwards.
func TestQueuedOperationTimesFromTheFlush(t *testing.T) {
	play := func(c *cli) {
		init := c.request("initialize")
		c.say(elicitation)
		<-time.After(50 * time.Second) // ten times what an operation may take
		c.succeed(init, `{"claude_code_version":"2.1.325","capabilities":[]}`)
		op := c.request("set_model")
		<-time.After(4 * time.Second)
		c.succeed(op, "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		done := make(chan error, 1)
		duringHandshake(o, func(ctx context.Context, s *claude.Session) { done <- s.SetModel(ctx, "sonnet") })
		s := connect(t, o)
		if err := <-done; err != nil {
			t.Error(err)
		}
		finish(t, s)
	})
}

// Exactly one warning reports that a reply left the capabilities unknown.
func TestHandshakeWarnsOfMissingCapabilities(t *testing.T) {
	for reply, why := range map[string]string{
		`{"capabilities":["a"]}`:                "",
		`{"capabilities":[]}`:                   "",
		`{"capabilities":{"hooks":true}}`:       "",
		`{}`:                                    "names none",
		`{"commands":[],"models":[]}`:           "names none",
		`{"capabilities":null}`:                 "names none",
		`{"capabilities":"all"}`:                "another form",
		`{"capabilities":[7]}`:                  "another form",
		`{"capabilities":true,"models":"many"}`: "another form",
		`"ok"`:                                  "not an object",
		`["ok"]`:                                "not an object",
		`7`:                                     "not an object",
		`null`:                                  "empty",
		`{"capabilities":["a"],"capabilities":["b"]}`: "",
	} {
		bubble(t, func(c *cli) { c.succeed(c.request("initialize"), reply); c.idle() }, func(t *testing.T, o *claude.Options) {
			book := keepLog(o)
			finish(t, connect(t, o))
			got := book.warnings()
			if why == "" {
				if len(got) > 0 {
					t.Errorf("%s: warned %q", reply, got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], "level=WARN") || !strings.Contains(got[0], "capabilities of the CLI are unknown") || !strings.Contains(got[0], why) {
				t.Errorf("%s: warned %q, want %q once", reply, got, why)
			}
		})
	}
}

// Each of these requests proves that the CLI took the handshake, and nothing
// else does.
func TestWhatConfirmsTheHandshake(t *testing.T) {
	request := func(body string) string {
		return `{"type":"control_request","request_id":"u-1","request":` + body + `}`
	}
	for line, confirms := range map[string]bool{
		request(`{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}`):                true,
		request(`{"subtype":"hook_callback","callback_id":"hook_99","input":{}}`):                                       true,
		request(`{"subtype":"can_use_tool","tool_name":"Bash","input":{}}`):                                             true,
		request(`{"subtype":"mcp_message","server_name":"s","message":{"jsonrpc":"2.0","id":0,"method":"initialize"}}`): true,
		request(`{"subtype":"elicitation","message":"?"}`):                                                              false,
		request(`{"subtype":"request_user_dialog","dialog_kind":"x"}`):                                                  false,
		request(`{"subtype":"unheard_of"}`):                                                                             false,
		request(`{"subtype":"initialize"}`):                                                                             false,
		request(`{}`):                                                                                                   false,
		`{"type":"system","subtype":"init","session_id":"s-1"}`:                                                         false,
		`{"type":"assistant","message":{"role":"assistant","content":[]}}`:                                              false,
		`{"type":"user","message":{"role":"user","content":"x"}}`:                                                       false,
		`{"type":"result","subtype":"success","is_error":false,"result":"x"}`:                                           false,
		`{"type":"stream_event","event":{"type":"message_stop"}}`:                                                       false,
		`{"type":"keep_alive"}`:                                                                                         false,
		`{"type":"control_cancel_request","request_id":"u-1"}`:                                                          false,
		`{"type":"control_response","response":{"subtype":"success","request_id":"req_7"}}`:                             false,
		`Welcome!`: false,
	} {
		play := func(c *cli) {
			c.request("initialize")
			c.say("%s", line)
			c.idle()
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			book := keepLog(o)
			s, err := claude.Connect(t.Context(), o)
			if !confirms {
				if !errors.Is(err, claude.ErrInitializeTimeout) {
					t.Errorf("%s: error = %v", line, err)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if got := book.String(); !strings.Contains(got, `level=DEBUG msg="handshake confirmed by a request"`) ||
				strings.Count(got, "capabilities of the CLI are unknown") != 1 {
				t.Errorf("%s: log:\n%s", line, got)
			}
			if err := s.SetModel(t.Context(), "sonnet"); err != nil {
				t.Errorf("%s: %v", line, err)
			}
			finish(t, s)
		})
	}
}

// Output of a CLI that is not JSON is in the error of its start, bounded and
// without secrets.
func TestStartErrorsShowOutput(t *testing.T) {
	const key = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"
	tests := map[string]struct {
		play func(*cli)
		want []string
	}{
		"exit": {func(c *cli) {
			c.say("Please log in first: key %s", key)
			c.say("  at https://example.com")
			c.code = 1
		}, []string{"exited with code 1", "Please log in first: key [redacted]", "at https://example.com"}},
		"exit 0":         {func(c *cli) { c.say("Bye") }, []string{"Bye"}},
		"cut":            {func(c *cli) { fmt.Fprint(c.stdout, "Segmentation fault"); c.code = 1 }, []string{"Segmentation fault"}},
		"timeout":        {func(c *cli) { c.say("Choose a theme: "); <-c.stopped }, []string{"no reply within 1m0s", "Choose a theme:"}},
		"refused":        {func(c *cli) { c.say("warning: old"); c.refuse(c.request("initialize"), "no", ""); c.idle() }, []string{"warning: old"}},
		"beside frames":  {func(c *cli) { c.text("hi"); c.say("Oh no"); c.text("hi"); c.code = 1 }, []string{"Oh no"}},
		"broken JSON":    {func(c *cli) { c.say(`{"error":"half`); c.code = 1 }, []string{`{"error":"half`}},
		"a secret alone": {func(c *cli) { c.say(`{"password":"hunter2hunter2`); c.code = 1 }, []string{`{"password":"[redacted]`}},
		"a result": {func(c *cli) {
			c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["The disk is full"]}`)
			c.code = 1
		}, []string{"The disk is full"}},
		"an unknown flag": {func(c *cli) { c.say("error: unknown option '--session-id=x'"); c.code = 1 },
			[]string{"unsupported CLI version", "the CLI found does not know --session-id, 2.1.325 does"}},
		"much": {func(c *cli) {
			for i := range 1000 {
				c.say("%d %s", i, strings.Repeat("x", 5000))
			}
			c.say("the last line")
			c.code = 1
		}, []string{"the last line"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.t = t
				tt.play(c)
			}
			for call, start := range map[string]func(*testing.T, *claude.Options) error{
				"Connect": func(t *testing.T, o *claude.Options) error { _, err := claude.Connect(t.Context(), o); return err },
				"Ask":     func(t *testing.T, o *claude.Options) error { _, err := claude.Ask(t.Context(), "hi", o); return err },
			} {
				if call == "Ask" && (name == "timeout" || name == "refused" || name == "beside frames") {
					continue // there is no handshake
				}
				bubble(t, play, func(t *testing.T, o *claude.Options) {
					err := start(t, o)
					if err == nil {
						t.Fatal("no error")
					}
					for _, want := range tt.want {
						if n := strings.Count(err.Error(), want); n != 1 {
							t.Errorf("%s: %q is in the error %d times, want once:\n%v", call, want, n, err)
						}
					}
					if strings.Contains(err.Error(), "0123456789abc") || strings.Contains(err.Error(), "hunter2") {
						t.Errorf("%s: a secret is in %v", call, err)
					}
					if size := len(err.Error()); size > 8<<10 {
						t.Errorf("%s: the error has %d bytes", call, size)
					}
				})
			}
		})
	}
}

// TestChildVersionFallbacks looks for the version of a CLI that does not name
// it: an unknown version is not held against the CLI where no gate depends on
// it, and its behaviour outranks its version number.
func TestChildVersionFallbacks(t *testing.T) {
	stop := hook.Stop(func(context.Context, *hook.StopInput) (*hook.StopOutput, error) { return nil, nil })
	type fallback struct {
		role, version string
		initialize    time.Duration
		want          error
		log           string
	}
	tests := map[string]fallback{
		"unparsable":      {"modest", "nightly", 0, nil, `level=WARN msg="version check inconclusive"`},
		"failing":         {"modest", "failing", 0, nil, `level=WARN msg="version check inconclusive"`},
		"new enough":      {"modest", "1.0.85", 0, nil, ""},
		"too old":         {"modest", "1.0.84", 0, claude.ErrUnsupportedVersion, ""},
		"silent, too old": {"silent", "1.0.62", time.Minute, claude.ErrUnsupportedVersion, ""},
	}
	waiting := make(map[string]fallback)
	if long.Enabled() { // these wait for a limit, which is long enough for a busy machine
		const limit = 15 * time.Second
		waiting["slow"] = fallback{"modest", "slow", 0, nil, `level=WARN msg="version check inconclusive"`}
		waiting["silent, unparsable"] = fallback{"silent", "nightly", limit, claude.ErrInitializeTimeout, `level=WARN msg="version check inconclusive"`}
		waiting["confirmed, too old by its number"] = fallback{"busy", "1.0.62", limit, nil, "handshake confirmed"}
		waiting["confirmed, unknown"] = fallback{"busy", "nightly", limit, nil, "handshake confirmed"}
	}
	leak.Check(t)
	connect := func(name string, tt fallback) {
		o := childCLI(t, tt.role)
		o.Env = append(o.Env, "CLI_VERSION="+tt.version)
		if tt.role != "busy" {
			o.Hooks = []hook.Hook{stop}
		}
		o.Timeouts.Initialize = tt.initialize
		book := keepLog(o)
		s, err := claude.Connect(t.Context(), o)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: error = %v, want %v", name, err, tt.want)
		}
		if tt.want == claude.ErrUnsupportedVersion && (!strings.Contains(err.Error(), "version "+tt.version) || !strings.Contains(err.Error(), "1.0.")) {
			t.Errorf("%s: the error does not name the versions: %v", name, err)
		}
		if err == nil {
			s.Close()
		}
		if !strings.Contains(book.String(), tt.log) {
			t.Errorf("%s: log:\n%s", name, book)
		}
	}
	for name, tt := range tests { // one at a time: the version must be known within five seconds
		connect(name, tt)
	}
	var all sync.WaitGroup
	for name, tt := range waiting {
		all.Go(func() { connect(name, tt) })
	}
	all.Wait()
}

// The error result of a CLI before it gives up becomes the output of its start
// error.
func TestStartErrorHasTheEarlyResult(t *testing.T) {
	bubble(t, func(c *cli) {
		c.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["The disk is full"]}`)
		c.code = 1
	}, func(t *testing.T, o *claude.Options) {
		_, err := claude.Connect(t.Context(), o)
		if start, ok := errors.AsType[*claude.StartError](err); !ok || start.Output != "The disk is full" {
			t.Errorf("error = %#v", err)
		}
	})
}
