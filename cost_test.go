package claude_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/tool"
)

// loop is a CLI without a process and without goroutines, so that everything
// counted belongs to the session: say adds lines for the session to read, and
// whatever the session writes is answered within Write, or counted as a reply.
type loop struct {
	claude.NoProcess
	mu      sync.Mutex
	ready   sync.Cond
	out     []byte
	over    bool
	ended   chan struct{}
	replied chan struct{}
}

func (l *loop) Start(context.Context, *claude.Launch) (claude.Conn, error) {
	l.ready.L = &l.mu
	l.ended, l.replied = make(chan struct{}), make(chan struct{}, 1)
	return l, nil
}

func (l *loop) say(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out = append(l.out, line...)
	l.ready.Signal()
}

func (l *loop) Read(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.out) == 0 {
		if l.over {
			return 0, io.EOF
		}
		l.ready.Wait()
	}
	n := copy(p, l.out)
	l.out = append(l.out[:0], l.out[n:]...)
	return n, nil
}

func (l *loop) Write(line []byte) (int, error) {
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"control_response"`)):
		l.replied <- struct{}{}
	case bytes.HasPrefix(line, []byte(`{"type":"control_request"`)):
		_, id, _ := bytes.Cut(line, []byte(`"request_id":`))
		id, _, _ = bytes.Cut(id, []byte(`,`))
		l.mu.Lock()
		l.out = append(l.out, `{"type":"control_response","response":{"subtype":"success","request_id":`...)
		l.out = append(l.out, id...)
		l.out = append(l.out, `,"response":{"claude_code_version":"2.1.325"}}}`+"\n"...)
		l.ready.Signal()
		l.mu.Unlock()
	}
	return len(line), nil
}

func (l *loop) CloseWrite() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.over {
		l.over = true
		close(l.ended)
		l.ready.Signal()
	}
	return nil
}

func (l *loop) Stop() error { return l.CloseWrite() }

func (l *loop) Kill() error { return l.Stop() }

func (l *loop) Wait() error {
	<-l.ended
	return nil
}

const (
	costDelta      = `{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello there, this is text"}},"parent_tool_use_id":null,"session_id":"3f9845ee-3d15-49bc-9e60-a8210e7a1993","uuid":"5979d4cf-5d39-48a6-b225-510d7172692e"}` + "\n"
	costInit       = `{"type":"system","subtype":"init","cwd":"/repo","session_id":"s","tools":[],"mcp_servers":[],"model":"opus","permissionMode":"default","uuid":"u"}` + "\n"
	costAssistant  = `{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"Hello there\n"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}` + "\n"
	costToolResult = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"ok  \tgithub.com/x/y\t0.012s\n"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u","tool_use_result":{"stdout":"ok","stderr":"","interrupted":false}}` + "\n"
	costResult     = `{"type":"result","subtype":"success","is_error":false,"result":"Hello","num_turns":1,"total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":5},"modelUsage":{"opus":{"inputTokens":1,"costUSD":0.5}},"permission_denials":[],"session_id":"s","uuid":"u"}` + "\n"
	costPermission = `{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"/repo/w.txt","content":"Hello there"},"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}],"tool_use_id":"toolu_1"}}` + "\n"
	costHook       = `{"type":"control_request","request_id":"r-1","request":{"subtype":"hook_callback","callback_id":"hook_0","input":{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/repo","hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/repo/w.txt"},"tool_use_id":"toolu_1"},"tool_use_id":"toolu_1"}}` + "\n"
	costInitialize = `{"type":"control_request","request_id":"r-1","request":{"subtype":"mcp_message","server_name":"calc","message":{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.325"}},"jsonrpc":"2.0","id":0}}}` + "\n"
	costToolCall   = `{"type":"control_request","request_id":"r-1","request":{"subtype":"mcp_message","server_name":"calc","message":{"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":41},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":1}},"jsonrpc":"2.0","id":1}}}` + "\n"
)

// costs are the frames whose price is known, with the allocations that each may
// make, including those of the played CLI.
func costs(tb testing.TB) map[string]struct {
	most float64
	do   func()
} {
	l := new(loop)
	s, err := claude.Connect(tb.Context(), &claude.Options{
		Transport: l,
		CanUseTool: func(context.Context, *permission.Request) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{hook.PreToolUse("", func(context.Context, *hook.PreToolUseInput) (*hook.PreToolUseOutput, error) {
			return nil, nil
		})},
		MCPServers: claude.MCPServers{"calc": tool.NewServer(tool.New("add", "Add two numbers", func(_ context.Context, in struct {
			A float64 `json:"a"`
			B float64 `json:"b"`
		}) (float64, error) {
			return in.A + in.B, nil
		}))},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	next, stop := messages(tb.Context(), s)
	tb.Cleanup(stop)
	frames := func(lines ...string) func() {
		text := []byte(strings.Join(lines, ""))
		return func() {
			l.say(text)
			for range lines {
				if next() == nil {
					tb.Fatal("no message")
				}
			}
		}
	}
	frames(costInit)() // outside of a turn nothing is kept for the next frame
	request := func(line string) func() {
		text := []byte(line)
		return func() {
			l.say(text)
			<-l.replied
		}
	}
	request(costInitialize)()
	return map[string]struct {
		most float64
		do   func()
	}{
		"delta":       {3, frames(costDelta)},
		"assistant":   {6, frames(costAssistant)},
		"tool result": {7, frames(costToolResult)},
		"turn":        {16, frames(costResult, costInit)},
		"permission":  {15, request(costPermission)},
		"hook":        {13, request(costHook)},
		"tool call":   {74, request(costToolCall)},
		"control call": {28, func() {
			if err := s.SetModel(tb.Context(), "opus"); err != nil {
				tb.Fatal(err)
			}
		}},
	}
}

// messages reads the stream one message at a time.
func messages(ctx context.Context, s *claude.Session) (next func() message.Message, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	want, got := make(chan struct{}), make(chan message.Message)
	go func() {
		defer close(got)
		for msg, err := range s.Messages(ctx) {
			if err != nil {
				return
			}
			if _, open := <-want; !open {
				return
			}
			got <- msg
		}
	}()
	return func() message.Message { want <- struct{}{}; return <-got }, func() { close(want); cancel() }
}

// TestCost pins the cost of a frame from the pipe to the program and back. A
// higher cost is a regression; a lower one belongs in this table.
func TestCost(t *testing.T) {
	for name, c := range costs(t) {
		c.do() // the first one pays for what is kept
		if n := testing.AllocsPerRun(200, c.do); n > c.most+costSpare {
			t.Errorf("%s: %v allocations, want %v at most", name, n, c.most)
		}
	}
}

func BenchmarkFrames(b *testing.B) {
	for name, c := range costs(b) {
		b.Run(strings.ReplaceAll(name, " ", "_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.do()
			}
		})
	}
}

// BenchmarkStream is deltas in a row, as many as come with one read.
func BenchmarkStream(b *testing.B) {
	l := new(loop)
	s, err := claude.Connect(b.Context(), &claude.Options{Transport: l})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const batch = 100
	lines := []byte(strings.Repeat(costDelta, batch))
	l.say([]byte(costInit))
	l.say(lines)
	b.ReportAllocs()
	b.SetBytes(int64(len(costDelta)))
	n := 0
	for msg, err := range s.Messages(b.Context()) {
		if _, ok := msg.(*message.Init); ok {
			continue
		}
		if !b.Loop() {
			return
		}
		if m, ok := msg.(*message.StreamEvent); !ok || err != nil || m.Text() == "" {
			b.Fatalf("got %v, %v", msg, err)
		}
		if n++; n%batch == 0 {
			l.say(lines)
		}
	}
}

// appended is a store that counts what it is given.
type appended struct {
	store.Basic
	batches chan struct{}
}

func (a appended) Append(context.Context, store.Key, store.Batch) error {
	a.batches <- struct{}{}
	return nil
}

// BenchmarkMirror is a line of a transcript, 2 KB of code, on its way to a store.
func BenchmarkMirror(b *testing.B) {
	l, kept := new(loop), appended{batches: make(chan struct{}, 1)}
	s, err := claude.Connect(b.Context(), &claude.Options{
		Transport: l, Store: &claude.StoreOptions{Store: kept, Project: "bench", Journal: b.TempDir()},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	code := strings.Repeat(`\tif err := run(ctx, \"name\"); err != nil {\n\t\treturn err\n\t}\n`, 30)
	frame := []byte(`{"type":"transcript_mirror","filePath":"/home/user/.claude/projects/-repo/3f9845ee-3d15-49bc-9e60-a8210e7a1993.jsonl","entries":[{"parentUuid":null,"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"` + code + `"}]},"uuid":"5979d4cf-5d39-48a6-b225-000000000000"}]}` + "\n")
	number := frame[bytes.LastIndex(frame, []byte(`"}]}`))-12:][:12] // no line comes twice
	b.ReportAllocs()
	b.SetBytes(int64(len(frame)))
	for n := 0; b.Loop(); n++ {
		copy(number, fmt.Sprintf("%012d", n))
		l.say(frame)
		<-kept.batches
	}
}
