package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/control"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
)

// The ways in which a callback can go wrong.
const (
	byPanic      = "panic"
	byError      = "error"
	byZero       = "zero decision"
	byEncoding   = "output not encodable"
	byTimeout    = "timeout"
	byLateness   = "late answer"
	byCancelling = "cancelled"
	byInput      = "input not decodable"
	byCapacity   = "capacity reached"
	byUnknownID  = "unknown id"
	byClosing    = "session closing"
)

// The order matters: a session does not outlive the last one.
func failures() []string {
	return []string{byPanic, byError, byZero, byEncoding, byTimeout, byLateness, byCancelling, byInput, byCapacity, byUnknownID, byClosing}
}

// The events that gate something. The last one is a request of its own.
const gateCanUseTool = "can_use_tool"

func gates() []string {
	return []string{string(hook.EventPreToolUse), string(hook.EventPermissionRequest), string(hook.EventUserPromptSubmit), gateCanUseTool}
}

// TestRealGateMatrix lets every gate fail in every way, with both policies and
// with none, on the real CLI, and looks whether the tool or the prompt ran.
// Requests that a CLI does not send by itself (an invalid input, an unknown id,
// more than there is room for) are made from those it does send, on their way in.
func TestRealGateMatrix(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "a hook that fails closed")
	var mu sync.Mutex
	outcomes := map[string]string{}
	t.Cleanup(func() { t.Logf("what happened to the tool or the prompt\n%s", gateTable(outcomes)) })
	for _, gate := range gates() {
		for _, policy := range gatePolicies() {
			if gate == gateCanUseTool && policy != hook.FailClosed {
				continue // permissions fail closed, always
			}
			t.Run(gate+"/"+policyName(policy), func(t *testing.T) {
				t.Parallel()
				m := newGateRun(t, gate, policy)
				for _, failure := range failures() {
					if gate == gateCanUseTool && failure == byUnknownID {
						continue // it has none
					}
					outcome := m.cell(t, failure)
					mu.Lock()
					outcomes[gate+policyName(policy)+failure] = outcome
					mu.Unlock()
				}
			})
		}
	}
}

func gatePolicies() []hook.FailurePolicy {
	return []hook.FailurePolicy{0, hook.FailOpen, hook.FailClosed}
}

func policyName(p hook.FailurePolicy) string {
	return []string{"default", "FailOpen", "FailClosed"}[p]
}

func gateTable(outcomes map[string]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var head, sub []string
	for _, gate := range gates() {
		head = append(head, gate, "", "")
		for _, policy := range gatePolicies() {
			sub = append(sub, policyName(policy))
		}
	}
	fmt.Fprintf(w, "\t%s\n\t%s\n", strings.Join(head, "\t"), strings.Join(sub, "\t"))
	for _, failure := range failures() {
		fmt.Fprint(w, failure)
		for _, gate := range gates() {
			for _, policy := range gatePolicies() {
				outcome := outcomes[gate+policyName(policy)+failure]
				if outcome == "" {
					outcome = "-"
				}
				fmt.Fprint(w, "\t", outcome)
			}
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}

// wantRun is the specified outcome of a cell.
func wantRun(gate string, policy hook.FailurePolicy, failure string) bool {
	switch {
	case gate == gateCanUseTool, failure == byCancelling, failure == byClosing:
		return false
	case failure == byZero: // no opinion, which is not a failure
		return true
	}
	return policy == hook.FailOpen || policy == 0 && failure == byError
}

// gateRun is one session of the matrix: one gate, one policy.
type gateRun struct {
	*real
	gate    string
	policy  hook.FailurePolicy
	session *claude.Session
	wire    *tamperingTransport

	failure  atomic.Value  // string: the cell
	called   chan struct{} // the callback of the cell was called
	answered chan struct{} // the hook of the cell was answered
	release  chan struct{} // late callbacks and dialogs may return

	mu      sync.Mutex
	dialogs sync.WaitGroup
}

// gateTimeout is long enough for every callback that answers at once, and for an
// interrupt, on a machine that has other things to do.
const gateTimeout = 2 * time.Second

func newGateRun(t *testing.T, gate string, policy hook.FailurePolicy) *gateRun {
	t.Helper()
	m := &gateRun{gate: gate, policy: policy}
	m.failure.Store("")
	m.real = startReal(t, claudetest.NewModelFunc(m.reply))
	m.wire = &tamperingTransport{edit: m.edit}
	o := m.opts
	o.Transport = m.wire
	o.HookFailure = policy
	o.Limits.Callbacks = 3
	o.DialogKinds, o.OnUserDialog = []string{"occupy"}, m.dialog
	o.Trace = &claude.Trace{FrameWritten: m.wrote}
	switch gate {
	case gateCanUseTool:
		o.CanUseTool, o.Timeouts.Callback = m.permission, gateTimeout
	case string(hook.EventPreToolUse):
		o.PermissionMode = permission.ModeAcceptEdits
		o.Hooks = []hook.Hook{hook.PreToolUse("Write", func(ctx context.Context, _ *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			err := m.fail(ctx)
			switch m.failure.Load() {
			case byEncoding:
				return hook.RewriteInput(func() {}), nil
			case byLateness:
				if policy == hook.FailOpen {
					return hook.DenyTool("too late"), nil
				}
				return hook.AllowTool("too late"), nil
			}
			return &hook.PreToolUseOutput{}, err
		})}
	case string(hook.EventPermissionRequest):
		o.CanUseTool = m.allowAfterHook
		o.Hooks = []hook.Hook{hook.PermissionRequest("Write", func(ctx context.Context, _ *hook.PermissionRequestInput) (*hook.PermissionRequestOutput, error) {
			err := m.fail(ctx)
			switch m.failure.Load() {
			case byEncoding:
				return hook.Decide(permission.AllowWith(func() {})), nil
			case byLateness:
				if policy == hook.FailOpen {
					return hook.Decide(permission.Deny("too late")), nil
				}
				return hook.Decide(permission.Allow()), nil
			}
			return &hook.PermissionRequestOutput{}, err
		})}
	case string(hook.EventUserPromptSubmit):
		o.PermissionMode = permission.ModeAcceptEdits
		o.Hooks = []hook.Hook{hook.Raw(hook.EventUserPromptSubmit, "", func(ctx context.Context, raw json.RawMessage, _ string) (json.RawMessage, error) {
			if !json.Valid(raw) || raw[0] != '{' {
				return nil, errors.New("the input is not an object")
			}
			err := m.fail(ctx)
			switch m.failure.Load() {
			case byEncoding:
				return json.RawMessage(`[1]`), nil
			case byLateness:
				if policy == hook.FailOpen {
					return json.RawMessage(`{"decision":"block","reason":"too late"}`), nil
				}
			}
			return nil, err
		})}
	}
	for i := range o.Hooks {
		o.Hooks[i].Timeout = gateTimeout
	}
	m.session = m.connect(t)
	return m
}

// reply is the model: it writes the file of the cell, then is done.
func (m *gateRun) reply(c *claudetest.ModelCall) claudetest.Reply {
	name, ok := strings.CutPrefix(c.Prompt, "write ")
	if !ok || len(c.ToolResults) > 0 {
		return claudetest.Say("done")
	}
	return claudetest.UseTool("Write", map[string]any{"file_path": filepath.Join(m.dir, name), "content": "x"})
}

// fail is the callback of the running cell.
func (m *gateRun) fail(ctx context.Context) error {
	m.mu.Lock()
	called, release := m.called, m.release
	m.mu.Unlock()
	if called != nil {
		select {
		case called <- struct{}{}:
		default:
		}
	}
	switch m.failure.Load() {
	case byPanic:
		panic("the callback is broken")
	case byError:
		return errors.New("the callback is broken")
	case byTimeout, byCancelling, byClosing:
		<-ctx.Done()
		return context.Cause(ctx)
	case byLateness:
		<-release
	}
	return nil
}

func (m *gateRun) permission(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
	err := m.fail(ctx)
	switch m.failure.Load() {
	case byEncoding:
		return permission.AllowWith(func() {}), nil
	case byLateness:
		return permission.Allow(), nil
	}
	return permission.Pass(), err
}

// allowAfterHook allows what the hook leaves to it, once the hook was answered and
// the CLI has had the time to act on it.
func (m *gateRun) allowAfterHook(ctx context.Context, _ *permission.Request) (permission.Decision, error) {
	m.mu.Lock()
	answered := m.answered
	m.mu.Unlock()
	select {
	case <-answered:
	case <-ctx.Done():
		return permission.Pass(), context.Cause(ctx)
	}
	if err := claude.SessionFrom(ctx).SetModel(ctx, ""); err != nil {
		return permission.Pass(), err
	}
	return permission.Allow(), nil
}

// wrote notices the answer of a PermissionRequest hook.
func (m *gateRun) wrote(line []byte) {
	text := string(line)
	if m.gate == string(hook.EventPermissionRequest) && strings.Contains(text, `"control_response"`) && !strings.Contains(text, `"toolUseID"`) &&
		!strings.Contains(text, `"cancelled"`) {
		m.mu.Lock()
		defer m.mu.Unlock()
		select {
		case m.answered <- struct{}{}:
		default:
		}
	}
}

// dialog occupies a place until the cell is over.
func (m *gateRun) dialog(context.Context, *control.Dialog) (control.DialogAnswer, error) {
	m.mu.Lock()
	release := m.release
	m.mu.Unlock()
	<-release
	m.dialogs.Done()
	return control.CancelDialog(), nil
}

// edit changes the requests of the CLI in cells that need it.
func (m *gateRun) edit(line []byte) [][]byte {
	failure := m.failure.Load()
	if failure != byInput && failure != byCapacity && failure != byUnknownID || !strings.Contains(string(line), `"control_request"`) {
		return [][]byte{line}
	}
	var frame, request map[string]json.RawMessage
	if json.Unmarshal(line, &frame) != nil || json.Unmarshal(frame["request"], &request) != nil {
		return [][]byte{line}
	}
	want := `"hook_callback"`
	if m.gate == gateCanUseTool {
		want = `"can_use_tool"`
	}
	if string(request["subtype"]) != want {
		return [][]byte{line}
	}
	m.mu.Lock()
	select {
	case m.called <- struct{}{}:
	default:
	}
	m.mu.Unlock()
	switch failure {
	case byInput:
		request["input"] = json.RawMessage(`"no object"`)
	case byUnknownID:
		request["callback_id"] = json.RawMessage(`"hook_999"`)
	case byCapacity:
		var lines [][]byte
		room := 3
		if m.gate == string(hook.EventPermissionRequest) {
			room = 2 // the permission callback runs beside it, and came first
		}
		for i := range room {
			m.dialogs.Add(1)
			lines = append(lines, fmt.Appendf(nil, `{"type":"control_request","request_id":"occupy-%d","request":{"subtype":"request_user_dialog","dialog_kind":"occupy"}}`, i))
		}
		return append(lines, line)
	}
	frame["request"], _ = json.Marshal(request)
	edited, _ := json.Marshal(frame)
	return [][]byte{edited}
}

// cell runs one cell and returns its outcome.
func (m *gateRun) cell(t *testing.T, failure string) string {
	t.Helper()
	m.mu.Lock()
	m.called, m.answered, m.release = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{})
	called, release := m.called, m.release
	m.mu.Unlock()
	m.failure.Store(failure)
	name := strings.ReplaceAll(failure, " ", "-")
	done := make(chan error, 1)
	go func() {
		_, err := m.session.Ask(t.Context(), "write "+name)
		done <- err
	}()
	<-called
	switch failure {
	case byCancelling:
		if _, err := m.session.Interrupt(t.Context()); err != nil {
			t.Error(err)
		}
	case byClosing:
		if err := m.session.Close(); err != nil {
			t.Error(err)
		}
	}
	err := <-done
	close(release)
	m.dialogs.Wait()
	if _, interrupted := errors.AsType[*claude.ResultError](err); err != nil && failure != byClosing && !interrupted {
		t.Errorf("%s: the turn failed: %v", failure, err)
	}
	m.failure.Store("")
	ran := m.ran(name)
	if want := wantRun(m.gate, m.policy, failure); ran != want {
		t.Errorf("%s, %s, %s: ran %v, want %v", m.gate, policyName(m.policy), failure, ran, want)
	}
	if failure != byClosing {
		m.alive(t, failure)
	}
	if ran {
		return "ran"
	}
	return "blocked"
}

// ran reports whether what the gate guards has happened.
func (m *gateRun) ran(name string) bool {
	if m.gate == string(hook.EventUserPromptSubmit) {
		return slices.ContainsFunc(m.model.Calls(), func(c *claudetest.ModelCall) bool { return strings.HasPrefix(c.Prompt, "write "+name) })
	}
	_, err := os.Stat(filepath.Join(m.dir, name))
	return err == nil
}

// alive wants the session to work after a failure.
func (m *gateRun) alive(t *testing.T, failure string) {
	t.Helper()
	if res, err := m.session.Ask(t.Context(), "still there?"); err != nil || res.Text != "done" {
		t.Errorf("after %s: %+v, %v", failure, res, err)
	}
}

// tamperingTransport starts the CLI as a child process and lets the test edit its
// output.
type tamperingTransport struct {
	edit func(line []byte) [][]byte
}

func (w *tamperingTransport) Start(_ context.Context, launch *claude.Launch) (claude.Conn, error) {
	conn, err := harness.StartChild(launch)
	if err != nil {
		return nil, err
	}
	r, pipe := io.Pipe()
	go func() {
		defer conn.Stdout.Close()
		in := bufio.NewReader(conn.Stdout)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 {
				for _, edited := range w.edit(line[:len(line)-1]) {
					if _, err := pipe.Write(append(edited, '\n')); err != nil {
						return
					}
				}
			}
			if err != nil {
				pipe.CloseWithError(io.EOF)
				return
			}
		}
	}()
	conn.Reader = r
	return conn, nil
}
