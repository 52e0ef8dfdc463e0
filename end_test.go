package claude_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// unruly is a Transport whose Conn breaks promises on request.
type unruly struct {
	double
	readForever       bool // Read does not end with the process
	stopForever       bool
	closeWriteForever bool
	waitErr, stopErr  error
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

func (c *unrulyConn) CloseWrite() error {
	if c.u.closeWriteForever {
		<-c.u.over
	}
	return c.Conn.CloseWrite()
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

func TestTransportThatDoesNotStart(t *testing.T) {
	full := errors.New("cluster is full")
	for name, transport := range map[string]badStart{"error": {err: full}, "nothing": {}} {
		_, err := claude.Connect(t.Context(), &claude.Options{Transport: transport})
		if start, ok := errors.AsType[*claude.StartError](err); !ok || start.Reason != claude.ErrSpawn || !errors.Is(err, transport.err) && transport.err != nil {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

func TestNilOptions(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	if _, err := claude.Ask(t.Context(), "hello", nil); !errors.Is(err, claude.ErrNotFound) {
		t.Errorf("Ask = %v", err)
	}
	if _, err := claude.Connect(t.Context(), nil); !errors.Is(err, claude.ErrNotFound) {
		t.Errorf("Connect = %v", err)
	}
}

func TestPromptThatWasNeverWritten(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.prompt()
		c.begin() // a CLI that names nothing
		c.text("answer")
		c.result("answer")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		m := message.NewUser(message.Text("never"))
		m.UUID = "00000000-0000-4000-8000-0000000000aa"
		if _, err := s.SendMessage(gone, m); !errors.Is(err, context.Canceled) {
			t.Errorf("SendMessage = %v", err)
		}
		if res, err := s.Ask(t.Context(), "hello"); err != nil || res.Text != "answer" {
			t.Errorf("Ask = %v, %v, want the ghost not to end it", res, err)
		}
		if _, err := s.SendMessage(t.Context(), m); err != nil {
			t.Errorf("the id of a prompt that was not sent is not free: %v", err)
		}
		s.Close()
	})
}

func TestAskReturnsItsOwnResultOnly(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		id := c.prompt()
		c.life(id, "queued")
		c.begin()
		c.result("unsolicited")
		c.life(id, "cancelled")
		c.idle()
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		if res, err := s.Ask(t.Context(), "hello"); res != nil || !errors.Is(err, claude.ErrCancelled) {
			t.Errorf("Ask = %v, %v", res, err)
		}
		finish(t, s)
	})
}

func TestRunLeavesInBoundedTimeWhenNothingIsRead(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.begin(c.prompt())
		<-c.stopped // reads nothing any more
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		o.Timeouts.Control = claude.NoTimeout
		s := connect(t, o)
		begin := time.Now()
		for range s.Run(t.Context(), "hello") {
			break
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("leaving the loop took %v", took)
		}
		s.Close()
	})
}

func TestCallbackTimeoutWhileNothingIsRead(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		ended := make(chan time.Duration, 1)
		begin := time.Now()
		o.Timeouts.Callback = time.Minute
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			ended <- time.Since(begin)
			return permission.Allow(), nil
		}
		s := connect(t, o)
		if took := <-ended; took != time.Minute {
			t.Errorf("the callback's context ended after %v", took)
		}
		s.Close()
	})
}

func TestTraceSurvivesItsFunctions(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.answer("hi"); c.idle() }, func(t *testing.T, o *claude.Options) {
		var last claude.State
		read := 0
		o.Trace = &claude.Trace{
			FrameRead:    func([]byte) { read++; panic("boom") },
			FrameWritten: func([]byte) { runtime.Goexit() },
			StateChanged: func(_, to claude.State) { last = to },
		}
		s := connect(t, o)
		if _, err := s.Ask(t.Context(), "hello"); err != nil {
			t.Error(err)
		}
		finish(t, s)
		if read < 3 || last != claude.StateStopped {
			t.Errorf("%d frames, last state %v", read, last)
		}
	})
}

func TestTraceHearsTheEndOfEverything(t *testing.T) {
	play := func(c *cli) {
		c.greet()
		c.say("%s", bashRequest)
		c.hear() // an operation that is never answered
		<-c.stopped
	}
	bubble(t, play, func(t *testing.T, o *claude.Options) {
		callbacks, operations := 0, 0
		o.Trace = &claude.Trace{
			CallbackDone: func(claude.TraceCallback) { callbacks++ },
			RequestDone:  func(claude.TraceRequest) { operations++ },
		}
		o.CanUseTool = func(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
			<-ctx.Done()
			return permission.Pass(), context.Cause(ctx)
		}
		s := connect(t, o)
		pending := make(chan error, 1)
		go func() { pending <- s.Control(t.Context(), "slow", nil, nil) }()
		synctest.Wait()
		s.Close()
		<-pending
		s.Wait()
		if callbacks != 1 || operations != 2 {
			t.Errorf("heard of %d callbacks and %d operations, want 1 and 2", callbacks, operations)
		}
	})
}

func TestFailedOperationNamesItsRequest(t *testing.T) {
	bubble(t, func(c *cli) { c.greet(); c.hear(); c.idle() }, func(t *testing.T, o *claude.Options) {
		s := connect(t, o)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		failed, ok := errors.AsType[*claude.ControlError](s.Control(ctx, "slow", nil, nil))
		if !ok || failed.RequestID != "req_1" || !errors.Is(failed, context.DeadlineExceeded) {
			t.Errorf("error = %v", failed)
		}
		finish(t, s)
	})
}

func TestWordsOfOtherProgramsAreNoUnknownFlag(t *testing.T) {
	o := childCLI(t, "chatty")
	_, err := claude.Ask(t.Context(), "hello", o)
	if _, ok := errors.AsType[*claude.ProcessError](err); !ok || errors.Is(err, claude.ErrUnsupportedVersion) {
		t.Errorf("error = %v", err)
	}
}

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

// A CLI that lives on but takes no input can be asked and answered nothing.
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
				if !errors.Is(err, syscall.EPIPE) || !strings.Contains(err.Error(), "takes no input") {
					t.Errorf("error = %v", err)
				}
				if took := time.Since(begin); took > 8*time.Second || !gone { // 2 s, and 5 s of the ladder
					t.Errorf("took %v, process gone %v", took, gone)
				}
			})
		})
	}
}

// hasty is a Transport whose Conn tells of the end of the output together with
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

// What was read is handed out at once, also when nothing more will be read.
func TestResultWithTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, &claude.Options{Logger: harness.Logger(t), Transport: &hasty{double{t: t, play: func(c *cli) {
			c.greet()
			id := c.prompt()
			c.begin(id)
			pass(time.Second) // so that whoever reads messages waits
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
