package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// callbackBound is the time that callbacks have.
const callbackBound = 10 * time.Second

// options are those of the session: all gates are in the hands of the
// simulation.
func (w *simulation) options() *claude.Options {
	o := &claude.Options{
		Transport: w.pipe,
		CanUseTool: func(ctx context.Context, req *permission.Request) (permission.Decision, error) {
			return permission.Allow(), w.serve(ctx, req.RequestID)
		},
		Hooks: []hook.Hook{hook.PreToolUse("", func(ctx context.Context, in *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return hook.AllowTool("fine"), w.serve(ctx, in.ToolName)
		})},
		MCPServers: claude.MCPServers{"x": simServer{w}},
		Trace:      w.ends.Trace(),
	}
	o.Timeouts.Callback = callbackBound
	o.Limits.Callbacks = 4
	if w.failClosed {
		o.HookFailure = hook.FailClosed
	} else {
		o.HookFailure = hook.FailOpen
	}
	return o
}

// simServer is an MCP server of the program.
type simServer struct{ w *simulation }

func (simServer) MCPType() string { return "sdk" }

// CheckMCP finds nothing wrong.
func (simServer) CheckMCP() error { return nil }

func (s simServer) OpenMCP(context.Context, string, func(context.Context, json.RawMessage) error) (claude.MCPConn, error) {
	return s, nil
}

func (s simServer) Handle(ctx context.Context, m json.RawMessage) (json.RawMessage, error) {
	if err := s.w.serve(ctx, jsonx.Text(jsonx.Member(m, "method"))); err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"fine":true}}`, jsonx.Member(m, "id")), nil
}

func (simServer) Close() error { return nil }

var errCallback = errors.New("it failed")

// serve is user code that answers a request of the CLI, or does not.
func (w *simulation) serve(ctx context.Context, id string) (err error) {
	w.mu.Lock()
	a := w.asks[id]
	a.started, a.ctx = true, ctx
	release := make(chan struct{})
	w.mu.Unlock()
	begin := time.Now()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		a.ctx = nil
		took := time.Since(begin)
		a.returned = err == nil && a.behave != "panic" && a.behave != "goexit"
		if a.kind != "mcp" {
			a.late, a.exact = took > callbackBound, took == callbackBound
		}
	}()
	wait := func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.held = append(w.held, release)
	}
	switch a.behave {
	case "wait":
		wait()
		select {
		case <-release:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case "hang": // as if there were no context
		wait()
		<-release
	case "error":
		return errCallback
	case "panic":
		panic("boom")
	case "goexit":
		runtime.Goexit()
	case "use the session":
		return w.echo(ctx, claude.SessionFrom(ctx), "from-"+id, "echo")
	}
	return nil
}

// echo performs an operation and wants its own reply.
func (w *simulation) echo(ctx context.Context, s *claude.Session, word, op string) error {
	var reply struct {
		Word string `json:"word"`
	}
	err := s.Control(ctx, op, map[string]string{"word": word}, &reply)
	refused, _ := errors.AsType[*claude.ControlError](err)
	switch {
	case err == nil && (op == "refuse" || reply.Word != word):
		w.fault("%s %s got the reply %q", op, word, reply.Word)
	case err != nil && refused == nil:
		w.fault("%s %s: %v is not a ControlError", op, word, err)
	case err != nil && refused.Err == nil && (op != "refuse" || refused.Message != word):
		w.fault("%s %s was refused: %v", op, word, err)
	}
	return err
}

// start begins something that a user does with the session.
func (w *simulation) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.users++
	word := fmt.Sprintf("u%d", w.users)
	do := func() { _ = w.echo(ctx, w.session, word, "echo") }
	name := "echo"
	switch w.rng.IntN(7) {
	case 0:
		name = "refuse"
		do = func() { _ = w.echo(ctx, w.session, word, "refuse") }
	case 1:
		if w.names() {
			name = "interrupt"
			do = func() { _, _ = w.session.Interrupt(ctx) }
		}
	case 2, 3, 4:
		if w.readerBusy() {
			break
		}
		name = "run"
		leave := 0
		if !w.patient && w.rng.IntN(3) == 0 {
			leave = 1 + w.rng.IntN(4)
		}
		w.setReader(true)
		do = func() {
			defer w.setReader(false)
			w.run(ctx, word, leave)
		}
	case 6: // a prompt whose answer any reader may take
		name, word = "send", sentPrefix+word
		do = func() { _, _ = w.session.Send(ctx, word) }
	}
	op := &simOp{name: name + " " + word, cancel: cancel}
	w.ops = append(w.ops, op)
	w.log("%s starts", op.name)
	w.going.Go(func() {
		defer cancel()
		defer op.over.Store(true)
		do()
	})
}

// sentPrefix marks prompts that are sent and not run.
const sentPrefix = "s"

func (w *simulation) names() bool { return w.cli.names }

// run is one turn of a user, left after a number of messages if that is not 0.
func (w *simulation) run(ctx context.Context, prompt string, leave int) {
	n := 0
	var last message.Message
	for m, err := range w.session.Run(ctx, prompt) {
		if err != nil {
			w.ended(ctx, prompt, last, err)
			return
		}
		n++
		last = m
		w.checkMessage(m, prompt)
		if n == leave {
			return
		}
	}
	if r, ok := last.(*message.Result); !ok || !slices.Contains(label(r.Text), prompt) {
		w.fault("run %s ended with %T %v", prompt, last, last)
	}
}

// ended checks the error by which a run ended.
func (w *simulation) ended(ctx context.Context, prompt string, last message.Message, err error) {
	if failed, ok := errors.AsType[*claude.ResultError](err); ok {
		if last != failed.Result || !slices.Contains(label(failed.Result.Text), prompt) {
			w.fault("run %s failed with the result of another: %v", prompt, err)
		}
		return
	}
	if ctx.Err() != nil || errors.Is(err, claude.ErrClosed) || errors.Is(err, claude.ErrCancelled) || errors.Is(err, claude.ErrNoResult) {
		return
	}
	if _, ok := errors.AsType[*claude.ProcessError](err); !ok {
		w.fault("run %s: %v", prompt, err)
	}
}

// label returns the prompts that a text was said for.
func label(text string) []string {
	_, names, _ := strings.Cut(text, " <")
	return strings.FieldsFunc(strings.TrimSuffix(names, ">"), func(r rune) bool { return r == ',' })
}

// checkMessage takes a message that reached a user. Numbers must rise; messages for
// others must not come, unless the reader takes all of them (prompt "").
func (w *simulation) checkMessage(m message.Message, prompt string) {
	var text string
	switch m := m.(type) {
	case *message.Assistant:
		text = m.Text()
	case *message.StreamEvent:
		text = m.Text()
	case *message.Result:
		text = m.Text
	default:
		return
	}
	number, _, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	if err != nil {
		w.fault("a message that nobody said: %q", text)
		return
	}
	w.mu.Lock()
	before := 0
	if len(w.seen) > 0 {
		before = w.seen[len(w.seen)-1]
	}
	w.seen = append(w.seen, n)
	w.mu.Unlock()
	if n <= before {
		w.fault("message %d came after %d", n, before)
	}
	to := label(text)
	sent := slices.ContainsFunc(to, func(p string) bool { return strings.HasPrefix(p, sentPrefix) })
	if prompt != "" && len(to) > 0 && !slices.Contains(to, prompt) && !sent {
		w.fault("run %s got %q", prompt, text)
	}
}
