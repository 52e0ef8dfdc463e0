package claude_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/permission"
)

// openQuestion sets a permission callback that says that it was asked, and waits.
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

// At the end of its stdin a CLI takes a question that is open for denied. So it
// is stopped before, also when no turn runs, as when an agent in the background
// asks.
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
				c.t.Errorf("heard %s", f.Line)
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

// A result that comes when the session has been closed is not one of the work
// that was asked for.
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

// A query whose last open request is settled without a callback that returns
// ends all the same.
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
					c.t.Errorf("heard %s, want the end of stdin", f.Line)
				}
			}
			bubble(t, play, func(t *testing.T, o *claude.Options) {
				release := make(chan struct{})
				o.Limits.Callbacks = 1
				o.CanUseTool = func(context.Context, *permission.Request) (permission.Decision, error) {
					if tt.give {
						runtime.Goexit()
					}
					<-release // whatever becomes of its context
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

// What a CLI says while it is being stopped does not end its stdin either, which
// would answer the question that is open.
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
