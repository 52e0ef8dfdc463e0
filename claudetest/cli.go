package claudetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/host"
)

// CLI is a scripted CLI in this process: a [claude.Transport] without a child
// process, a network or an account. Each session plays the script from its
// beginning. It works in the bubbles of testing/synctest, and it is safe for
// concurrent use.
//
//	s, err := claude.Connect(ctx, &claude.Options{
//		Transport: claudetest.New(claudetest.Say("Hello.")),
//	})
type CLI struct {
	script *Script
	agent  host.Agent // instead of the script's
	known  *conversations

	mu   sync.Mutex
	runs []*Recording
}

var _ claude.Transport = (*CLI)(nil)

// New returns a CLI whose model gives the replies in order, one per answer,
// and then [DefaultText]. Tools return what the replies say.
func New(replies ...Reply) *CLI { return NewCLI(&Script{Replies: replies}) }

// NewCLI returns a CLI that plays a script.
func NewCLI(s *Script) *CLI { return &CLI{script: s, known: newConversations(s.Sessions)} }

// NewHost returns a CLI that is your own agent. It starts with these options;
// the command line of the session is applied on top.
func NewHost(agent host.Agent, opts *host.Options) *CLI {
	c := &CLI{script: new(Script), agent: agent}
	if opts != nil {
		c.script.Options = *opts
	}
	return c
}

// Start starts a session. The SDK calls it.
func (c *CLI) Start(_ context.Context, launch *claude.Launch) (claude.Conn, error) {
	fromSDK, toCLI := io.Pipe()
	fromCLI, toSDK := io.Pipe()
	record := newRecording()
	c.mu.Lock()
	c.runs = append(c.runs, record)
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(context.Background())
	conn := &inProcess{
		Reader: fromCLI, WriteCloser: record.tap(DirIn, toCLI),
		script: c.script, cancel: cancel, done: make(chan struct{}),
		sever: func() { fromSDK.Close(); toSDK.Close() },
	}
	p := &process{
		script: c.script, agent: c.agent, known: c.known, args: launch.Args, env: launch.Env, dir: launch.Dir,
		stdin: fromSDK, stdout: record.tap(DirOut, toSDK), stderr: &stderrLines{each: launch.Stderr, tail: &conn.stderr},
	}
	go func() {
		conn.code = p.run(ctx)
		// The output of a process stays readable after it has ended; input that
		// it has not read is lost.
		conn.sever()
		close(conn.done)
	}()
	return conn, nil
}

// Recording returns the last session so far, or nil if there was none.
func (c *CLI) Recording() *Recording {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.runs) == 0 {
		return nil
	}
	return c.runs[len(c.runs)-1]
}

// inProcess is the SDK's end of a CLI in this process.
type inProcess struct {
	claude.NoProcess
	io.Reader
	io.WriteCloser
	script *Script
	cancel context.CancelCauseFunc
	sever  func()        // cuts both streams
	done   chan struct{} // closed at the end; then code is set
	code   int
	stderr stderrTail
}

// stopPatience is how long a CLI that ignores SIGTERM is let live.
const stopPatience = 5 * time.Second

// terminated is how a CLI ends that was asked to; killed is how one ends that was
// not.
func terminated() *exit { return &exit{code: 143} }
func killed() *exit     { return &exit{code: 137} }

func (c *inProcess) CloseWrite() error { return c.WriteCloser.Close() }

func (c *inProcess) Stop() error {
	if c.script.IgnoreTerm {
		select {
		case <-c.done:
		case <-time.After(stopPatience):
		}
		return c.Kill()
	}
	return c.end(terminated())
}

// Kill ends the CLI at once, whatever it ignores.
func (c *inProcess) Kill() error { return c.end(killed()) }

func (c *inProcess) end(cause error) error {
	c.cancel(cause)
	c.sever() // it may be stuck in a write without a reader
	select {
	case <-c.done:
		return nil
	case <-time.After(stopPatience):
		return errors.New("claudetest: the agent ignores the end of its context")
	}
}

func (c *inProcess) Wait() error {
	<-c.done
	if c.code != 0 {
		return &exit{code: c.code}
	}
	return nil
}

// StderrTail returns the end of what the CLI wrote to standard error.
func (c *inProcess) StderrTail() string { return c.stderr.text() }

// exit is the end of a process with a code.
type exit struct{ code int }

func (e *exit) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// ExitCode returns the code.
func (e *exit) ExitCode() int { return e.code }

func exitCode(err error) (int, bool) {
	e, ok := errors.AsType[*exit](err)
	if !ok {
		return 0, false
	}
	return e.code, true
}

// stderrTail keeps the end of standard error.
type stderrTail struct {
	mu  sync.Mutex
	buf []byte
}

const stderrKept = 64 << 10

func (t *stderrTail) add(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if len(t.buf) > stderrKept {
		t.buf = t.buf[len(t.buf)-stderrKept:]
	}
}

func (t *stderrTail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}

// stderrLines is standard error of a CLI in this process.
type stderrLines struct {
	each func(string)
	tail *stderrTail
	rest string
}

func (w *stderrLines) Write(b []byte) (int, error) {
	w.tail.add(b)
	w.rest += string(b)
	for {
		line, rest, ok := strings.Cut(w.rest, "\n")
		if !ok {
			return len(b), nil
		}
		w.rest = rest
		if w.each != nil {
			w.each(line)
		}
	}
}
