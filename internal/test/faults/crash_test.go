//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// crashSteps is how many steps the session of the matrix has.
const crashSteps = 34

// glued are steps inside a line: garbage there is part of the line.
var glued = []int{2, 17}

// TestCrash is the crash matrix: a CLI, as a child process, that goes wrong
// before each step of a session in each of several ways.
func TestCrash(t *testing.T) {
	t.Run("nothing", func(t *testing.T) {
		leak.Check(t)
		if got := (&crash{step: crashSteps, ends: new(harness.TraceEnds)}).session(t); got.connect != nil || got.first != nil || got.second != nil || got.wait != nil {
			t.Errorf("without a crash: %+v", got)
		}
	})
	for _, how := range crashes {
		t.Run(how, func(t *testing.T) {
			leak.Check(t)
			var next atomic.Int64
			var workers sync.WaitGroup
			for range 2 * runtime.GOMAXPROCS(0) {
				workers.Go(func() {
					for i := next.Add(1) - 1; !t.Failed(); i = next.Add(1) - 1 {
						step := int(i) * long.Pick(8, 1)
						if step >= crashSteps {
							return
						}
						(&crash{step: step, how: how, ends: new(harness.TraceEnds)}).check(t)
					}
				})
			}
			workers.Wait()
		})
	}
}

// crash is one case of the matrix.
type crash struct {
	step int
	how  string
	ends *harness.TraceEnds
}

// crashOutcome is how the parts of the session went.
type crashOutcome struct {
	connect, first, second, wait error
}

// crashServer is an MCP server of the program.
type crashServer struct{}

func (crashServer) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (crashServer) CheckMCP() error { return nil }

func (s crashServer) OpenMCP(context.Context, string, func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	return s, nil
}

func (crashServer) Handle(_ context.Context, m json.RawMessage) (json.RawMessage, error) {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, jsonx.Member(m, "id")), nil
}

func (crashServer) Close() error { return nil }

// options start the test binary as the CLI. moment is called when it goes
// wrong.
func (c *crash) options(moment func()) *claude.Options {
	return &claude.Options{
		CLIPath: os.Args[0],
		Env: append(os.Environ(), leak.Mark(), fmt.Sprintf("%s=%d %s", crashVariable, c.step, c.how),
			"GORACE=atexit_sleep_ms=0"), // a binary built for race detection would take a second to exit
		Stderr: func(line string) {
			if line == crashNotice {
				moment()
			}
		},
		Trace: c.ends.Trace(),
		CanUseTool: func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
			if req.ToolName == "Wait" {
				<-ctx.Done() // it is withdrawn
			}
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return nil, nil
		})},
		MCPServers: claude.MCPServers{
			"x": crashServer{},
			"y": claude.HTTPServer{URL: "http://127.0.0.1:1"}, // has a temporary file
		},
	}
}

// stuck reports whether the case leaves the CLI alive but useless: the user
// has to end the session.
func (c *crash) stuck() bool {
	return slices.Contains([]string{"SIGSTOP", "closes stdout", "closes stdin"}, c.how) || c.how == "garbage" && slices.Contains(glued, c.step)
}

// session uses the CLI until the end. When the CLI is stuck the user gives up.
func (c *crash) session(t *testing.T) (out crashOutcome) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	moment := make(chan struct{})
	var once sync.Once
	opened := make(chan *claude.Session, 1)
	watched := make(chan struct{})
	over := make(chan struct{})
	go func() { // the impatient user
		defer close(watched)
		select {
		case <-moment:
		case <-over:
			return
		}
		if !c.stuck() {
			return
		}
		cancel()
		if s := <-opened; s != nil {
			_ = s.Close()
		}
	}()
	s, err := claude.Connect(ctx, c.options(func() { once.Do(func() { close(moment) }) }))
	opened <- s
	out.connect = err
	if err == nil {
		out.first, out.second = c.use(ctx, s)
		for range 2 {
			if err := s.Close(); err != nil {
				t.Errorf("%+v: Close = %v", c, err)
			}
		}
		out.wait = s.Wait()
	}
	close(over)
	<-watched
	return out
}

// use runs a turn to its end, with an operation in it, and leaves another.
func (c *crash) use(ctx context.Context, s *claude.Session) (first, second error) {
	answered := false
	for m, err := range s.Run(ctx, "first") {
		if err != nil {
			return err, nil
		}
		switch m := m.(type) {
		case *message.Assistant:
			if err := s.SetModel(ctx, "opus"); err != nil {
				return err, nil
			}
		case *message.Result:
			answered = m.Text == "hello"
		}
	}
	if !answered {
		return errors.New("the result is another"), nil
	}
	for m, err := range s.Run(ctx, "second") {
		if err != nil {
			return nil, err
		}
		if _, ok := m.(*message.Assistant); ok {
			break
		}
	}
	return nil, nil
}

// check runs a case and judges it.
func (c *crash) check(t *testing.T) {
	begin := time.Now()
	got := c.session(t)
	if left := c.ends.LeftAfter(time.Minute); left != "" {
		t.Errorf("%+v: the trace has no end of %s", c, left)
	}
	if took := time.Since(begin); took > time.Minute {
		t.Errorf("%+v: took %v", c, took)
	}
	if c.how == "garbage" && !c.stuck() {
		if got.connect != nil || got.first != nil || got.second != nil || got.wait != nil {
			t.Errorf("%+v: %+v, want that all goes well", c, got)
		}
		return
	}
	// What was said before the crash counts, unless an impatient user is
	// quicker; what was not said never does.
	if well, may := got.connect == nil, c.step > 2; well && !may || !well && may && !c.stuck() {
		t.Errorf("%+v: Connect = %v", c, got.connect)
	}
	if well, may := got.first == nil, c.step >= promised; got.connect == nil && (well && !may || !well && may && !c.stuck()) {
		t.Errorf("%+v: the first turn ended with %v", c, got.first)
	}
	for _, err := range []error{got.connect, got.first, got.second} {
		if wrong := c.judge(err); wrong != "" {
			t.Errorf("%+v: %v: %s", c, err, wrong)
		}
	}
}

// judge returns what is wrong with an error, which must describe what happened.
func (c *crash) judge(err error) string {
	if err == nil {
		return ""
	}
	exit, isExit := errors.AsType[*claude.ProcessError](err)
	switch c.how {
	case "exit 0":
		if !isExit && !errors.Is(err, claude.ErrNoResult) && !errors.Is(err, claude.ErrExited) || isExit && exit.ExitCode != 0 {
			return "want an end without a result"
		}
	case "exit 1":
		if !isExit || exit.ExitCode != 1 {
			return "want exit code 1"
		}
	case "SIGKILL":
		if !isExit || exit.Signal != "killed" {
			return "want the signal"
		}
	default:
		if !errors.Is(err, context.Canceled) && !errors.Is(err, claude.ErrClosed) && !strings.Contains(err.Error(), "broken") {
			return "want the user's own doing"
		}
	}
	return ""
}
