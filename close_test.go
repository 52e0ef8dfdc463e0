package claude_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
)

// unruly is a Transport whose Conn breaks promises on request.
type unruly struct {
	double
	readForever       bool // Read does not end with the process
	stopForever       bool
	closeWriteForever bool
	waitErr, stopErr  error
	closeWriteErr     error
	over              chan struct{} // ends what lasts for ever, at the end of the test
}

type unrulyConn struct {
	claude.Conn
	u *unruly
}

func (u *unruly) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	c, err := u.double.Start(ctx, l)
	return &unrulyConn{c, u}, err
}

func (c *unrulyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && c.u.readForever {
		<-c.u.over
	}
	return n, err
}

func (c *unrulyConn) Stop() error {
	if c.u.stopForever {
		<-c.u.over
	}
	return errors.Join(c.Conn.Stop(), c.u.stopErr)
}

func (c *unrulyConn) Kill() error { return c.Stop() }

func (c *unrulyConn) CloseWrite() error {
	if c.u.closeWriteForever {
		<-c.u.over
	}
	return errors.Join(c.Conn.CloseWrite(), c.u.closeWriteErr)
}

func (c *unrulyConn) Wait() error {
	if err := c.Conn.Wait(); err != nil || c.u.waitErr == nil {
		return err
	}
	return c.u.waitErr
}

// unrulyBubble is bubble with a Conn that breaks promises.
func unrulyBubble(t *testing.T, u *unruly, play func(*cli), test func(t *testing.T, o *claude.Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		u.double = double{t: t, play: play}
		u.over = make(chan struct{})
		test(t, &claude.Options{Transport: u, Logger: harness.Logger(t)})
		close(u.over)
		synctest.Wait()
	})
}

func TestOutputThatDoesNotEnd(t *testing.T) {
	unrulyBubble(t, &unruly{readForever: true}, func(c *cli) { c.greet(); c.code = 1 }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		begin := time.Now()
		if err := harness.LastError(s.Run(t.Context(), "hello")); err == nil {
			t.Error("Run went well")
		}
		if err := s.Wait(); err == nil || !strings.Contains(err.Error(), "code 1") {
			t.Errorf("Wait = %v", err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestStopThatDoesNotReturn(t *testing.T) {
	unrulyBubble(t, &unruly{stopForever: true}, func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		begin := time.Now()
		if err := s.Close(); err == nil {
			t.Error("Close went well")
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("Close took %v", took)
		}
		if err := harness.LastError(s.Messages(t.Context())); err != nil && !errors.Is(err, claude.ErrClosed) {
			t.Errorf("Messages = %v", err)
		}
	})
}

func TestCloseWriteThatDoesNotReturn(t *testing.T) {
	unrulyBubble(t, &unruly{closeWriteForever: true}, func(c *cli) { c.greet(); <-c.stopped; c.code = 143 }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
}

func TestErrorThatWrapsEOFIsNoOrderlyEnd(t *testing.T) {
	odd := fmt.Errorf("container lost: %w", io.EOF)
	unrulyBubble(t, &unruly{waitErr: odd}, func(c *cli) { c.greet(); c.text("last words") }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := harness.LastError(s.Messages(t.Context())); !errors.Is(err, odd) {
			t.Errorf("Messages end with %v", err)
		}
		if err := s.Wait(); !errors.Is(err, odd) {
			t.Errorf("Wait = %v", err)
		}
	})
}

type badStart struct {
	conn claude.Conn
	err  error
}

func (b badStart) Start(context.Context, *claude.Launch) (claude.Conn, error) { return b.conn, b.err }

// The process ends with its input, its output only when it is cut.
func TestOutputThatEndsWithStop(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.idle() }, func(t *testing.T, o *claude.Options) {
		o.Transport = &lasting{double: *o.Transport.(*double)}
		finish(t, connect(t, o))
	})
}

// lasting is a Transport whose output lasts until Stop.
type lasting struct{ double }

type lastingConn struct {
	claude.Conn
	cut  chan struct{}
	once sync.Once
}

func (l *lasting) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	c, err := l.double.Start(ctx, launch)
	return &lastingConn{Conn: c, cut: make(chan struct{})}, err
}

func (c *lastingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil {
		<-c.cut
	}
	return n, err
}

func (c *lastingConn) Stop() error {
	c.once.Do(func() { close(c.cut) })
	return c.Conn.Stop()
}

func (c *lastingConn) Kill() error { return c.Stop() }

// refusing is a Transport whose stdin takes so many lines and then no more.
type refusing struct {
	double
	lines int
}

type refusingConn struct {
	claude.Conn
	r *refusing
}

func (r *refusing) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	c, err := r.double.Start(ctx, launch)
	return &refusingConn{c, r}, err
}

func (c *refusingConn) Write(p []byte) (int, error) {
	if c.r.lines--; c.r.lines < 0 {
		return 0, syscall.EPIPE
	}
	return c.Conn.Write(p)
}

// A CLI that lives on but takes no input can be neither asked nor answered.
func TestCLIThatTakesNoInput(t *testing.T) {
	for lines := range 3 {
		t.Run(fmt.Sprint("after line ", lines), func(t *testing.T) {
			gone := false
			play := func(c *cli) {
				for i := range lines {
					if i == 0 {
						c.greet()
					} else {
						c.prompt()
					}
				}
				<-c.stopped
				gone, c.code = true, 143
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				o.Transport = &refusing{double: *o.Transport.(*double), lines: lines}
				begin := time.Now()
				s, err := claude.Connect(t.Context(), o)
				if lines > 0 {
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					for range lines { // the last one fails
						_, err = s.Send(ctx, "hello")
					}
					if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("Send = %v", err)
					}
					err = s.Wait()
				}
				if !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "no longer accepts input") {
					t.Errorf("error = %v", err)
				}
				if took := time.Since(begin); took > 8*time.Second || !gone { // 2 s, and 5 s of the ladder
					t.Errorf("took %v, process gone %v", took, gone)
				}
			})
		})
	}
}

// hasty is a Transport whose Conn reports the end of the output together with
// the result, as an io.Reader may, while the process runs on.
type hasty struct{ double }

type hastyConn struct{ claude.Conn }

func (h *hasty) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	c, err := h.double.Start(ctx, l)
	return hastyConn{c}, err
}

func (c hastyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil && strings.Contains(string(p[:n]), `"type":"result"`) {
		err = io.EOF
	}
	return n, err
}

// Messages that were read are handed out at once, even when nothing more will
// be read.
func TestResultWithTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, &claude.Options{Logger: harness.Logger(t), Transport: &hasty{double{t: t, play: func(c *cli) {
			c.greet()
			id := c.prompt()
			c.begin(id)
			pass(time.Second) // so that the reader of messages waits
			c.result("Hello.", id)
			<-c.stopped
		}}}})
		begin := time.Now()
		res, err := s.Ask(t.Context(), "hi")
		if err != nil || res.Text != "Hello." {
			t.Errorf("Ask = %v, %v", res, err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the result came after %v, want it as soon as it was written", d)
		}
		s.Close()
		s.Wait()
	})
}

func TestCloseLadder(t *testing.T) {
	tests := []struct {
		name string
		play func(*cli)
		run  func(t *testing.T, s *claude.Session)
		took time.Duration
	}{
		{"ends with its input", func(c *cli) { c.greet(); c.idle() }, nil, 0},
		{"ignores the end of its input", func(c *cli) { c.greet(); c.idle(); <-c.stopped; c.code = 143 }, nil, 5 * time.Second},
		{"at work", func(c *cli) { c.greet(); c.begin(c.prompt()); <-c.stopped; c.code = 143 }, func(t *testing.T, s *claude.Session) {
			if _, err := s.Send(t.Context(), "work"); err != nil {
				t.Error(err)
			}
		}, 0},
		{"closes its output and stays", func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped }, nil, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, tt.play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				if tt.run != nil {
					tt.run(t, s)
				}
				begin := time.Now()
				finish(t, s)
				if took := time.Since(begin); took != tt.took {
					t.Errorf("Close took %v, want %v", took, tt.took)
				}
				if _, err := s.Send(t.Context(), "late"); !errors.Is(err, claude.ErrClosed) {
					t.Errorf("Send after Close = %v", err)
				}
				if _, err := s.Interrupt(t.Context()); !errors.Is(err, claude.ErrClosed) {
					t.Errorf("Interrupt after Close = %v", err)
				}
				for _, err := range s.Run(t.Context(), "late") {
					if !errors.Is(err, claude.ErrClosed) {
						t.Errorf("Run after Close = %v", err)
					}
				}
			})
		})
	}
}

func TestOutputEndsWhileTheCLIStays(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.stdout.Close(); <-c.stopped; c.code = 143 }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if err := s.Wait(); err == nil {
			t.Error("Wait = nil for a CLI that had to be stopped")
		}
	})
}

func TestCloseInsideCallbacks(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		for _, id := range []string{"u-1", "u-2"} {
			c.say(`{"type":"control_request","request_id":%q,"request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"hook_event_name":"Stop"}}}`, id)
		}
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		closed := make(chan error, 2)
		var both sync.WaitGroup
		both.Add(2)
		o.Hooks = []hook.Hook{hook.Stop(func(ctx context.Context, _ *hook.StopInput) (*hook.StopOutput, error) {
			both.Done()
			both.Wait()
			closed <- claude.SessionFrom(ctx).Close()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		})}
		s := connect(t, o)
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
		finish(t, s)
		synctest.Wait()
	})
}

// openQuestion sets a permission callback that reports that it was asked, and
// waits.
func openQuestion(o *claude.Options) (asked <-chan *claude.Session) {
	sessions := make(chan *claude.Session, 1)
	o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
		sessions <- claude.SessionFrom(ctx)
		<-ctx.Done()
		return permission.Allow(), nil
	}
	return sessions
}

// noting is a Transport that notes in which order its CLI is ended.
type noting struct {
	double
	mu    sync.Mutex
	steps []string
}

type notingConn struct {
	claude.Conn
	n *noting
}

func (n *noting) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	c, err := n.double.Start(ctx, launch)
	return &notingConn{c, n}, err
}

func (n *noting) note(step string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.steps = append(n.steps, step)
}

func (c *notingConn) CloseWrite() error {
	c.n.note("CloseWrite")
	return c.Conn.CloseWrite()
}

func (c *notingConn) Stop() error {
	c.n.note("Stop")
	return c.Conn.Stop()
}

func (c *notingConn) Kill() error { return c.Stop() }

// At the end of its stdin a CLI takes an open question for denied. So it is
// stopped before that, even when no turn runs, as when an agent in the
// background asks.
func TestCloseWhileAsked(t *testing.T) {
	for _, idle := range []bool{false, true} {
		play := func(c *cli) {
			c.greet()
			if idle {
				c.answer("all is said")
			} else {
				c.begin(c.prompt())
			}
			c.say("%s", bashRequest)
			if f, ok := c.hear(); ok {
				c.t.Errorf("got %s", f.Line)
			}
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			n := &noting{double: *o.Transport.(*double)}
			o.Transport = n
			asked := openQuestion(o)
			s := connect(t, o)
			ran := make(chan error, 1)
			go func() { ran <- harness.LastError(s.Run(t.Context(), "work")) }()
			<-asked
			synctest.Wait()
			finish(t, s)
			if err := <-ran; idle && err != nil || !idle && !errors.Is(err, claude.ErrClosed) {
				t.Errorf("idle %v: Run ended with %v", idle, err)
			}
			if n.steps[0] != "Stop" {
				t.Errorf("idle %v: the CLI was ended by %q, want it stopped first", idle, n.steps)
			}
		})
	}
}

// slowReply is a Transport on which writing an answer takes longer than the CLI
// needs to read it.
type slowReply struct {
	noting
	release chan struct{}
}

type slowReplyConn struct {
	claude.Conn
	release chan struct{}
}

func (r *slowReply) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	c, err := r.noting.Start(ctx, launch)
	return &slowReplyConn{c, r.release}, err
}

func (c *slowReplyConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if bytes.Contains(p, []byte(`"control_response"`)) {
		<-c.release
	}
	return n, err
}

// A CLI that has ended its turn is not stopped because its last answer is still
// being written. One that does not take the answer is.
func TestCloseAfterAnswer(t *testing.T) {
	for _, taken := range []bool{true, false} {
		play := func(c *cli) {
			c.greet()
			id := c.prompt()
			c.begin(id)
			c.say("%s", bashRequest)
			c.hear()
			c.result("done", id)
			c.hear()
		}
		bubble(t, play, func(t *testing.T, o *claude.Options) {
			r := &slowReply{noting{double: *o.Transport.(*double)}, make(chan struct{})}
			o.Transport = r
			o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
				return permission.Allow(), nil
			}
			s := connect(t, o)
			if err := harness.LastError(s.Run(t.Context(), "work")); err != nil {
				t.Error(err)
			}
			writes := map[bool]time.Duration{true: time.Millisecond, false: time.Minute}[taken]
			time.AfterFunc(writes, func() { close(r.release) })
			finish(t, s)
			if want := map[bool]string{true: "CloseWrite", false: "Stop"}[taken]; r.steps[0] != want {
				t.Errorf("taken %v: the CLI was ended by %q, want %s first", taken, r.steps, want)
			}
		})
	}
}

// lastWord is a Transport whose CLI can still speak when it is told to stop.
type lastWord struct {
	double
	stopping, said chan struct{}
}

type lastWordConn struct {
	claude.Conn
	stop func()
}

func (l *lastWord) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	c, err := l.double.Start(ctx, launch)
	return &lastWordConn{c, sync.OnceFunc(func() {
		close(l.stopping)
		<-l.said
	})}, err
}

func (c *lastWordConn) Stop() error {
	c.stop()
	return c.Conn.Stop()
}

func (c *lastWordConn) Kill() error { return c.Stop() }

// A result that comes after the session was closed does not count as the result
// of the work that was asked for.
func TestResultAfterClose(t *testing.T) {
	ways := map[string]func(*testing.T, *claude.Options, <-chan *claude.Session) error{
		"Run": func(t *testing.T, o *claude.Options, asked <-chan *claude.Session) error {
			s := connect(t, o)
			go func() {
				<-asked
				s.Close()
			}()
			return harness.LastError(s.Run(t.Context(), "work"))
		},
		"Ask": func(t *testing.T, o *claude.Options, asked <-chan *claude.Session) error {
			go func() { (<-asked).Close() }()
			_, err := claude.Ask(t.Context(), "work", o)
			return err
		},
	}
	for name, run := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &lastWord{stopping: make(chan struct{}), said: make(chan struct{})}
				l.double = double{t: t, play: func(c *cli) {
					c.greet()
					id := c.prompt()
					c.begin(id)
					c.say("%s", bashRequest)
					<-l.stopping
					c.result("all went well", id)
					close(l.said)
				}}
				o := &claude.Options{Transport: l, Logger: harness.Logger(t)}
				if err := run(t, o, openQuestion(o)); !errors.Is(err, claude.ErrClosed) {
					t.Errorf("error = %v, want ErrClosed", err)
				}
			})
		})
	}
}

// A query whose last open request is settled although its callback never
// returns ends anyway.
func TestQueryEndsWithItsLastRequest(t *testing.T) {
	const (
		withdrawn = `{"type":"control_cancel_request","request_id":"u-1"}`
		other     = `{"type":"control_request","request_id":"r9","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t9"}}`
		malformed = `{"type":"control_request","request_id":"r9","request":{"tool_name":"Bash"}}`
		unknown   = `{"type":"control_request","request_id":"r9","request":{"subtype":"dance"}}`
	)
	for name, tt := range map[string]struct {
		before  []string // the result
		after   []string
		replies int
		give    bool // the callback ends its goroutine
	}{
		"withdrawn":            {[]string{bashRequest}, []string{withdrawn}, 0, false},
		"refused":              {[]string{bashRequest, withdrawn, other}, nil, 1, false},
		"malformed":            {[]string{malformed}, nil, 1, false},
		"unknown":              {[]string{unknown}, nil, 1, false},
		"given up by its code": {[]string{bashRequest}, nil, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.begin(id)
				for _, line := range tt.before {
					c.say("%s", line)
				}
				c.result("done", id)
				for _, line := range tt.after {
					c.say("%s", line)
				}
				for range tt.replies {
					c.hear()
				}
				if f, ok := c.hear(); ok {
					c.t.Errorf("got %s, want the end of stdin", f.Line)
				}
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				release := make(chan struct{})
				o.Limits.Callbacks = 1
				o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
					if tt.give {
						runtime.Goexit()
					}
					<-release // whatever happens to its context
					return permission.Allow(), nil
				}
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if res, err := claude.Ask(ctx, "work", o); err != nil || res.Text != "done" || ctx.Err() != nil {
					t.Errorf("Ask = %q, %v, context %v", res.Text, err, ctx.Err())
				}
				close(release)
			})
		})
	}
}

// Output of a CLI that is being stopped does not end its stdin either, which
// would answer the open question.
func TestQueryClosedWhileAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lastWord{stopping: make(chan struct{}), said: make(chan struct{})}
		l.double = double{t: t, play: func(c *cli) {
			c.greet()
			id := c.prompt()
			c.begin(id)
			c.say("%s", bashRequest)
			c.result("all is said, but an agent asks", id)
			<-l.stopping
			c.say(`{"type":"system","subtype":"status"}`)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				c.hear()
			}()
			synctest.Wait()
			select {
			case <-ended:
				c.t.Error("stdin has ended before the CLI was stopped")
			default:
			}
			close(l.said)
		}}
		o := &claude.Options{Transport: l, Logger: harness.Logger(t)}
		asked := openQuestion(o)
		go func() {
			s := <-asked
			synctest.Wait()
			s.Close()
		}()
		if _, err := claude.Ask(t.Context(), "work", o); err != nil {
			t.Error(err)
		}
	})
}

// finishing is a CLI without a process that ends a while after its output.
type finishing struct {
	loop
	after   time.Duration
	stopped atomic.Bool
}

func (f *finishing) Start(ctx context.Context, launch *claude.Launch) (claude.Conn, error) {
	_, err := f.loop.Start(ctx, launch)
	return f, err
}

func (f *finishing) Stop() error {
	f.stopped.Store(true)
	return f.loop.Stop()
}

func (f *finishing) Kill() error { return f.Stop() }

func (f *finishing) Wait() error {
	<-f.ended
	<-time.After(f.after)
	return nil
}

// A CLI that has closed its output has a few seconds to end by itself: it may
// be writing its session to disk.
func TestFinishingCLIIsNotStopped(t *testing.T) {
	for after, stopped := range map[time.Duration]bool{4 * time.Second: false, 5500 * time.Millisecond: true} {
		synctest.Test(t, func(t *testing.T) {
			cli := &finishing{after: after}
			s, err := claude.Connect(t.Context(), &claude.Options{Transport: cli})
			if err != nil {
				t.Fatal(err)
			}
			cli.CloseWrite() // its output ends
			if err := s.Wait(); err != nil {
				t.Errorf("%v to end: %v", after, err)
			}
			if got := cli.stopped.Load(); got != stopped {
				t.Errorf("%v to end: stopped = %v", after, got)
			}
		})
	}
}

// The output ends without a line feed. A whole line is delivered if the exit
// code shows that the CLI had written everything it wanted.
func TestLastLineWithoutLineFeed(t *testing.T) {
	const result = `{"type":"result","subtype":"success","is_error":false,"result":"all of it","user_message_uuids":[%q]}`
	for _, tt := range []struct {
		name string
		last string
		code int
		text string // of the result; "" for an error
	}{
		{"whole", result, 0, "all of it"},
		{"whole, with a carriage return", result + "\r", 0, "all of it"},
		{"long", strings.Replace(result, "all of it", strings.Repeat("x", 100_000), 1), 0, strings.Repeat("x", 100_000)},
		{"whole, but the exit was not clean", result, 1, ""},
		{"cut off", result[:60], 0, ""},
		{"whole, but not an object", `"%[1]s"`, 0, ""},
		{"two objects", result + `{"type":"x"%.0s`, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play := func(c *cli) {
				c.greet()
				id := c.prompt()
				c.begin(id)
				fmt.Fprintf(c.stdout, tt.last, id)
				c.code = tt.code
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				s := connect(t, o)
				res, err := s.Ask(t.Context(), "hello")
				switch end := s.Wait(); {
				case tt.text != "":
					if err != nil || res.Text != tt.text || end != nil {
						t.Errorf("Ask = %.60v, %v; Wait = %v", res, err, end)
					}
				default:
					if _, ok := errors.AsType[*claude.ProcessError](err); !ok || !strings.Contains(fmt.Sprint(end), "inside a line") {
						t.Errorf("Ask = %v, %v; Wait = %v, want that the output ended inside a line", res, err, end)
					}
				}
			})
		})
	}
}

// A query reads the last line just as well.
func TestLastLineOfQuery(t *testing.T) {
	play := func(c *cli) {
		id := c.prompt()
		c.begin(id)
		fmt.Fprintf(c.stdout, `{"type":"result","subtype":"success","result":"hi","user_message_uuids":[%q]}`, id)
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		if res, err := claude.Ask(t.Context(), "hello", o); err != nil || res.Text != "hi" {
			t.Errorf("Ask = %v, %v", res, err)
		}
	})
}

// The last line takes the room that it needs itself, not that of the line before
// it: an inbox that has room for both keeps both.
func TestLastLineCountsItself(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.begin(id)
		c.text(strings.Repeat("x", 100_000))
		fmt.Fprintf(c.stdout, `{"type":"result","subtype":"success","result":"hi","user_message_uuids":[%q]}`, id)
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Limits.Unread = 150_000
		s := connect(t, o)
		if _, err := s.Send(t.Context(), "hello"); err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(); err != nil {
			t.Errorf("Wait = %v", err)
		}
		last := ""
		for m, err := range s.Messages(t.Context()) {
			if err != nil {
				t.Error(err)
				break
			}
			last = m.Head().Type
		}
		if last != "result" {
			t.Errorf("the last message is %q, want the result", last)
		}
	})
}
