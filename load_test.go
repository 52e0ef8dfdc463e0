package claude_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

func TestFloodOfGarbage(t *testing.T) {
	const lines = 5000
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		for i := range lines {
			c.say("[debug] request %d sent", i)
		}
		c.text("hi")
		c.result("hi", id)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Logger = nil
		diagnosed := 0
		o.Trace = &claude.Trace{Diagnostic: func(d claude.Diagnostic) { diagnosed = d.Count }}
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text != "hi" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
		if diagnosed != lines {
			t.Errorf("%d lines diagnosed, want %d", diagnosed, lines)
		}
	})
}

// Text glued to a reply costs that reply: the operation ends by its timeout,
// and the session continues.
func TestGluedReply(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		r := c.request("set_model")
		fmt.Fprint(c.stdout, "npm WARN ")
		c.succeed(r, "{}")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := s.SetModel(t.Context(), "opus"); !errors.Is(err, claude.ErrTimeout) {
			t.Errorf("SetModel = %v, want %v", err, claude.ErrTimeout)
		}
		if err := s.SetModel(t.Context(), "opus"); err != nil {
			t.Errorf("the next operation: %v", err)
		}
		finish(t, s)
	})
}

func TestHugeLines(t *testing.T) {
	sizes := []int{1 << 20, 16 << 20}
	play := func(c *cli) {
		c.greet()
		for _, n := range sizes {
			fmt.Fprint(c.stdout, `{"type":"assistant","message":{"content":"`, strings.Repeat("x", n), "\"}}\n")
		}
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		var got []int
		for m, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(m.(*message.Assistant).Text()))
		}
		if !slices.Equal(got, sizes) {
			t.Errorf("messages of %v bytes, want %v", got, sizes)
		}
		s.Wait()
	})
}

// Many goroutines use one session until it is closed under them.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cli := claudetest.NewCLI(&claudetest.Script{Replies: []claudetest.Reply{claudetest.Say("hi").Forever()}})
		s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli, Limits: claude.Limits{Pending: 1000}})
		if err != nil {
			t.Fatal(err)
		}
		var users sync.WaitGroup
		var failed atomic.Int64
		for i := range 64 {
			users.Go(func() {
				for range 5 {
					var err error
					switch i % 4 {
					case 0:
						_, err = s.Send(t.Context(), "hello")
					case 1:
						_, err = s.Interrupt(t.Context())
					case 2:
						err = s.SetModel(t.Context(), "opus")
					case 3:
						err = s.SetPermissionMode(t.Context(), permission.ModePlan)
					}
					if err != nil {
						failed.Add(1)
						if !errors.Is(err, claude.ErrClosed) {
							t.Errorf("user %d: %v", i, err)
						}
					}
				}
				if i == 63 {
					if err := s.Close(); err != nil {
						t.Errorf("Close = %v", err)
					}
				}
			})
		}
		for _, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Errorf("Messages: %v", err)
			}
		}
		users.Wait()
		finish(t, s)
		for _, e := range cli.Recording().Entries() {
			if e.Dir == claudetest.DirIn && strings.HasPrefix(string(e.Msg), `{"_raw"`) {
				t.Errorf("the SDK wrote %s", e.Msg)
			}
		}
		t.Logf("%d calls came too late", failed.Load())
	})
}

// A callback may use its session: the engine holds no lock meanwhile.
func TestCallbackUsesItsSession(t *testing.T) {
	uses := map[string]func(context.Context, *claude.Session) error{
		"Send":      func(ctx context.Context, s *claude.Session) error { _, err := s.Send(ctx, "more"); return err },
		"Interrupt": func(ctx context.Context, s *claude.Session) error { _, err := s.Interrupt(ctx); return err },
		"SetModel":  func(ctx context.Context, s *claude.Session) error { return s.SetModel(ctx, "opus") },
		"SetPermissionMode": func(ctx context.Context, s *claude.Session) error {
			return s.SetPermissionMode(ctx, permission.ModePlan)
		},
		"Control": func(ctx context.Context, s *claude.Session) error { return s.Control(ctx, "anything", nil, nil) },
		"State": func(_ context.Context, s *claude.Session) error {
			_, _, _ = s.State(), s.ID(), s.Info()
			return nil
		},
		"Run": func(ctx context.Context, s *claude.Session) error {
			if err := harness.LastError(s.Run(ctx, "inside")); !errors.Is(err, claude.ErrBusy) {
				return fmt.Errorf("Run = %w, want ErrBusy", err)
			}
			return nil
		},
		"Close": func(_ context.Context, s *claude.Session) error { return s.Close() },
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.begin(id)
				c.say("%s", bashRequest)
				for { // until the permission is answered
					f, ok := c.hear()
					if !ok {
						return
					}
					if r, err := f.Request(); err == nil && f.Type == "control_request" {
						c.succeed(r, "{}")
					} else if f.Type == "control_response" {
						break
					}
				}
				c.result("done", id)
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				used := make(chan error, 1)
				o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
					used <- use(ctx, claude.SessionFrom(ctx))
					return permission.Allow(), nil
				}
				s := connect(t, o)
				begin := time.Now()
				_, err := s.Ask(t.Context(), "hello")
				if (err != nil) != (name == "Close") {
					t.Errorf("Ask = %v", err)
				}
				if err := <-used; err != nil {
					t.Errorf("in the callback: %v", err)
				}
				if took := time.Since(begin); took != 0 {
					t.Errorf("took %v", took)
				}
				finish(t, s)
			})
		})
	}
}

func TestCallbackBlocksWhileMessagesCome(t *testing.T) {
	const n = 10_000
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		for i := range n {
			c.text(fmt.Sprint(i))
		}
		c.succeed(c.request("set_model"), "{}")
		c.hear() // the answer of the callback
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Logger = nil
		release := make(chan struct{})
		o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			<-release
			return permission.Allow(), nil
		}
		s := connect(t, o)
		// Messages are unread, a callback hangs, and control works.
		if err := s.SetModel(t.Context(), "opus"); err != nil {
			t.Errorf("SetModel = %v", err)
		}
		close(release)
		got, err := harness.Collect(s.Messages(t.Context()))
		if err != nil || len(got) != n || got[n-1] != fmt.Sprint(n-1) {
			t.Errorf("%d messages, %v", len(got), err)
		}
		s.Wait()
	})
}

// Of a thousand requests at once, as many run as may; the others are answered
// by their policy at once, and every request is answered.
func TestManyCallbacksAtOnce(t *testing.T) {
	const n = 1000
	allowed, denied := 0, 0
	play := func(c *cli) {
		c.greet()
		go func() {
			for i := range n {
				c.say("%s", strings.ReplaceAll(bashRequest, "u-1", fmt.Sprint("u-", i)))
			}
		}()
		for range n {
			f, ok := c.hear()
			if !ok {
				break
			}
			if strings.Contains(string(f.Line), `"behavior":"allow"`) {
				allowed++
			} else {
				denied++
			}
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Logger = nil
		var running, most atomic.Int64
		o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			<-time.After(time.Second)
			return permission.Allow(), nil
		}
		s := connect(t, o)
		pass(time.Minute)
		if allowed != 32 || denied != n-32 || most.Load() != 32 {
			t.Errorf("%d allowed, %d denied, %d at once, want 32, %d, 32", allowed, denied, most.Load(), n-32)
		}
		finish(t, s)
	})
}

// The CLI writes a lot before it reads a long prompt: neither side waits for
// the other.
func TestFloodBeforeThePromptIsRead(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for range 1000 {
			c.text(strings.Repeat("x", 1000))
		}
		c.answer("hi")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), strings.Repeat("a long story ", 100_000)); err != nil || res.Text != "hi" {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

// A loop that does nothing but read gets everything, although the CLI writes
// faster and more than may wait; and control continues meanwhile.
func TestFloodOfDeltas(t *testing.T) {
	const n = 3000
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		for range n {
			c.say(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"%s"}}}`, strings.Repeat("x", 200))
		}
		c.say("%s", bashRequest)
		c.hear()
		c.result("done", id)
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Unread = 200 << 10
		o.CanUseTool = allowAll
		s := connect(t, o)
		deltas := 0
		for m, err := range s.Run(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := m.(*message.StreamEvent); ok {
				deltas++
			}
			if deltas%20 == 19 {
				<-time.After(time.Millisecond) // slower than the wire
			}
		}
		if deltas != n {
			t.Errorf("%d deltas of %d", deltas, n)
		}
		finish(t, s)
	})
}

func TestUnusableTemporaryFolder(t *testing.T) {
	leak.TempFolder(t, filepath.Join(t.TempDir(), "missing"))
	o := &claude.Options{
		Transport:  unstarted{t},
		MCPServers: claude.MCPServers{"x": claude.HTTPServer{URL: "http://127.0.0.1:1"}},
	}
	_, err := claude.Connect(t.Context(), o)
	if start, ok := errors.AsType[*claude.StartError](err); !ok || start.Reason != claude.ErrSpawn || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
}

// Whatever is big travels by the handshake or by file: no system takes a long
// command line.
func TestBigOptionsStayOffTheCommandLine(t *testing.T) {
	big := strings.Repeat("long ", 50_000)
	headers := map[string]string{}
	for i := range 1000 {
		headers[fmt.Sprint("X-Header-", i)] = strings.Repeat("v", 100)
	}
	got := launched(t, claude.Options{
		SystemPrompt: claude.SystemPrompt{Text: big},
		Agents:       map[string]claude.AgentDefinition{"writer": {Description: "writes", Prompt: big}},
		MCPServers:   claude.MCPServers{"x": claude.HTTPServer{URL: "http://127.0.0.1:1", Headers: headers}},
	})
	size := 0
	for _, arg := range got.launch.Args {
		size += len(arg) + 1
	}
	if size > 32_000 {
		t.Errorf("a command line of %d bytes", size)
	}
	if !strings.Contains(fmt.Sprint(got.init["systemPrompt"]), big) || !strings.Contains(fmt.Sprint(got.init["agents"]), big) {
		t.Error("the handshake lacks the prompts")
	}
}

// However the CLI treats an interrupt, every waiter comes to an end.
func TestInterruptPaths(t *testing.T) {
	tests := map[string]struct {
		play func(c *cli, id string)
		err  error // of Interrupt
	}{
		"reply and result": {func(c *cli, id string) {
			c.succeed(c.request("interrupt"), "{}")
			c.result("interrupted", id)
		}, nil},
		"result before the reply": {func(c *cli, id string) {
			r := c.request("interrupt")
			c.result("interrupted", id)
			c.succeed(r, "{}")
		}, nil},
		"result and no reply": {func(c *cli, id string) {
			c.request("interrupt")
			c.result("interrupted", id)
		}, claude.ErrTimeout},
		"twice": {func(c *cli, id string) {
			for range 2 {
				c.succeed(c.request("interrupt"), "{}")
			}
			c.result("interrupted", id)
		}, nil},
		"reply and no result": {func(c *cli, id string) { c.succeed(c.request("interrupt"), "{}") }, nil},
		"neither":             {func(c *cli, id string) { c.request("interrupt") }, claude.ErrTimeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.begin(id)
				c.text("working")
				tt.play(c, id)
				c.idle()
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				times, asked := 1, false
				if name == "twice" {
					times = 2
				}
				var last error
				for m, err := range s.Run(ctx, "work") {
					last = err
					if err != nil || asked || !midTurn(m) {
						continue
					}
					asked = true
					for range times {
						if _, err := s.Interrupt(ctx); !errors.Is(err, tt.err) {
							t.Errorf("Interrupt = %v, want %v", err, tt.err)
						}
					}
				}
				stuck := name == "reply and no result" || name == "neither"
				if stuck != errors.Is(last, context.DeadlineExceeded) {
					t.Errorf("the turn ended with %v", last)
				}
				s.Close()
				finish(t, s)
			})
		})
	}
}

// A CLI that asks without end and takes no answer is not served without end.
func TestFloodOfRequests(t *testing.T) {
	const n = 20_000
	play := func(c *cli) {
		c.greet()
		for i := range n {
			c.say("%s", strings.ReplaceAll(bashRequest, "u-1", fmt.Sprint("u-", i)))
		}
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Logger = nil
		o.CanUseTool = allowAll
		before := runtime.NumGoroutine()
		s := connect(t, o)
		synctest.Wait()
		if grown := runtime.NumGoroutine() - before; grown > 5000 {
			t.Errorf("%d goroutines for %d requests", grown, n)
		}
		defer func(begin time.Time) {
			if d := time.Since(begin); d > 0 {
				t.Errorf("the session ended after %v more", d)
			}
		}(time.Now())
		if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "requests without an answer") {
			t.Errorf("Wait = %v", err)
		}
	})
}
