package tool

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type number struct {
	A float64 `json:"a"`
}

// every has a tool for each kind of result.
func every() *Server {
	return NewServer(
		New("number", "", func(_ context.Context, in number) (float64, error) { return in.A + 1, nil }),
		New("text", "", func(context.Context, struct{}) (string, error) { return "a <b> \"c\"\n\x00é\u2028", nil }),
		New("broken", "", func(context.Context, struct{}) (string, error) { return "a\xffb\xff\xfec", nil }),
		New("object", "", func(context.Context, struct{}) (map[string]any, error) { return map[string]any{"<": 1}, nil }),
		New("nothing", "", func(context.Context, struct{}) (*Result, error) { return nil, nil }),
		New("image", "", func(context.Context, struct{}) (*Result, error) {
			return Image("image/png", []byte("x")).With(Text("y")), nil
		}),
		New("meta", "", func(context.Context, struct{}) (*Result, error) {
			return &Result{Content: []mcp.Content{&mcp.TextContent{Text: "t"}}, Meta: map[string]any{"k": 1}, IsError: true}, nil
		}),
		New("nan", "", func(context.Context, struct{}) (float64, error) { return math.NaN(), nil }),
		New("nilpiece", "", func(context.Context, struct{}) ([]mcp.Content, error) { return []mcp.Content{nil}, nil }),
		New("fails", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no <luck>") }),
		New("panics", "", func(context.Context, struct{}) (string, error) { panic("boom") }),
		New("own", "", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "own"}}}, nil
		}),
		New("who", "", func(ctx context.Context, _ struct{}) (string, error) {
			if Request(ctx).Session == nil {
				return "", errors.New("no session")
			}
			return UseID(ctx), ReportProgress(ctx, 1, 2, "half")
		}),
	)
}

// opened opens a connection. Pushes of the server go to push.
func opened(tb testing.TB, s *Server, direct bool, push func(json.RawMessage)) *conn {
	tb.Helper()
	opened, err := s.OpenMCP(tb.Context(), "x", func(_ context.Context, message json.RawMessage) error {
		push(message)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	c := opened.(*conn)
	if !direct {
		c.find = nil
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// handshake holds the CLI's first messages.
var handshake = []string{
	`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cli","version":"1"}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
}

// connected opens a connection and shakes hands.
func connected(tb testing.TB, s *Server, direct bool) *conn {
	tb.Helper()
	c := opened(tb, s, direct, func(json.RawMessage) {})
	for _, m := range handshake {
		if _, err := c.Handle(tb.Context(), json.RawMessage(m)); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// TestDirect wants the short path to give the answers of the long one.
func TestDirect(t *testing.T) {
	server := every()
	if err := server.CheckMCP(); err != nil {
		t.Fatal(err)
	}
	short, long := connected(t, server, true), connected(t, server, false)
	const usual = `,"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":2}`
	for _, tt := range []struct {
		name, arguments, more string
		direct                bool
	}{
		{"number", `{"a":41}`, usual, true},
		{"number", `{"a":1e3}`, ``, true},
		{"number", `{"a":"x"}`, usual, true},
		{"number", `{"b":1}`, usual, true},
		{"number", `{"a":1,"a":2}`, usual, false},
		{"number", `[]`, usual, false},
		{"number", `null`, usual, false},
		{"text", `{}`, usual, true},
		{"broken", `{}`, usual, true},
		{"object", `{}`, usual, true},
		{"nothing", `{}`, usual, true},
		{"image", `{}`, usual, true},
		{"meta", `{}`, usual, true},
		{"nan", `{}`, usual, true},
		{"nilpiece", `{}`, usual, true},
		{"fails", `{}`, usual, true},
		{"panics", `{}`, usual, true},
		{"who", `{}`, usual, true},
		{"who", `{}`, `,"_meta":{"claudecode/toolUseId":"t","progressToken":"p"}`, true},
		{"who", `{}`, `,"_meta":{"claudecode/toolUseId":"t","progressToken":null}`, false},
		{"who", `{}`, `,"_meta":{"claudecode/toolUseId":null}`, false},
		{"own", `{}`, usual, false},
		{"missing", `{}`, usual, false},
		{"text", `{}`, `,"_meta":{"other":1}`, false},
		{"text", `{}`, `,"requestState":"x"`, false},
	} {
		for _, id := range []string{`7`, `"7"`} {
			message := json.RawMessage(`{"method":"tools/call","params":{"name":"` + tt.name + `","arguments":` + tt.arguments + tt.more + `},"jsonrpc":"2.0","id":` + id + `}`)
			if _, ok := short.direct(t.Context(), message); ok != tt.direct {
				t.Errorf("%s: direct = %v, want %v", message, ok, tt.direct)
			}
			got, gotErr := short.Handle(t.Context(), message)
			want, wantErr := long.Handle(t.Context(), message)
			if (gotErr == nil) != (wantErr == nil) || !sameJSON(got, want) {
				t.Errorf("%s:\n got %s, %v\nwant %s, %v", message, got, gotErr, want, wantErr)
			}
		}
	}
}

// A call before the CLI's handshake, or after a handshake that was refused, is
// refused: on the short path as on the long one.
func TestDirectNeedsTheHandshake(t *testing.T) {
	call := json.RawMessage(`{"method":"tools/call","params":{"name":"text","arguments":{}},"jsonrpc":"2.0","id":7}`)
	for name, before := range map[string][]string{
		"none":       nil,
		"refused":    {`{"jsonrpc":"2.0","id":0,"method":"initialize"}`},
		"only begun": {`{"jsonrpc":"2.0","id":0,"method":"ping"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var said [2]json.RawMessage
			for i, direct := range []bool{true, false} {
				c := opened(t, every(), direct, func(json.RawMessage) {})
				for _, m := range before {
					if got, err := c.Handle(t.Context(), json.RawMessage(m)); err != nil || name == "refused" && jsonx.Member(got, "error") == nil {
						t.Fatalf("%s: %s, %v", m, got, err)
					}
				}
				var err error
				if said[i], err = c.Handle(t.Context(), call); err != nil || jsonx.Member(said[i], "error") == nil {
					t.Errorf("direct %v: a call was served: %s, %v", direct, said[i], err)
				}
			}
			if !sameJSON(said[0], said[1]) {
				t.Errorf("the short way says %s, the long one %s", said[0], said[1])
			}
		})
	}
}

// A token that is null asks for no reports on progress.
func TestNoProgressToken(t *testing.T) {
	for token, want := range map[string]int{`null`: 0, `0`: 1, `"t"`: 1} {
		for _, direct := range []bool{true, false} {
			var mu sync.Mutex
			pushed := 0
			c := opened(t, every(), direct, func(json.RawMessage) {
				mu.Lock()
				defer mu.Unlock()
				pushed++
			})
			for _, m := range append(slices.Clone(handshake), `{"method":"tools/call","params":{"name":"who","arguments":{},"_meta":{"progressToken":`+token+`}},"jsonrpc":"2.0","id":7}`) {
				if got, err := c.Handle(t.Context(), json.RawMessage(m)); err != nil || jsonx.Member(got, "error") != nil {
					t.Fatalf("%s: %s, %v", m, got, err)
				}
			}
			mu.Lock()
			if pushed != want {
				t.Errorf("token %s, direct %v: %d reports, want %d", token, direct, pushed, want)
			}
			mu.Unlock()
		}
	}
}

// A cancel that comes after a new handshake does not end a call with the same id from
// before it.
func TestDirectCancelAfterNewHandshake(t *testing.T) {
	begun, ended := make(chan struct{}, 2), make(chan string, 2)
	release := make(chan struct{})
	server := NewServer(New("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			ended <- "cancelled"
			return "", ctx.Err()
		case <-release:
			ended <- "done"
			return "done", nil
		}
	}))
	c := connected(t, server, true)
	call := json.RawMessage(`{"method":"tools/call","params":{"name":"wait","arguments":{}},"jsonrpc":"2.0","id":1}`)
	answers := make(chan json.RawMessage, 2)
	for i := range 2 {
		if i > 0 {
			for _, m := range handshake {
				if _, err := c.Handle(t.Context(), json.RawMessage(m)); err != nil {
					t.Fatal(err)
				}
			}
		}
		go func() {
			answer, _ := c.Handle(t.Context(), call)
			answers <- answer
		}()
		<-begun
	}
	if _, err := c.Handle(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)); err != nil {
		t.Fatal(err)
	}
	if got := <-ended; got != "cancelled" {
		t.Errorf("the second call: %s", got)
	}
	<-answers
	close(release)
	if got := <-ended; got != "done" {
		t.Errorf("the first call: %s", got)
	}
	if got := <-answers; jsonx.Member(got, "result") == nil {
		t.Errorf("the first call was answered with %s", got)
	}
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzCall compares the reading of a call with that of the MCP SDK.
func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"t","progressToken":2}},"jsonrpc":"2.0","id":2}`))
	f.Add([]byte(`{"id":"x","jsonrpc":"2.0","method":"tools/call","params":{"name":"\u00e9"}}`))
	f.Add([]byte(`{"id":1,"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","_meta":{"progressToken":null}}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		var got usualCall
		if !got.scan(message) {
			return
		}
		msg, err := jsonrpc.DecodeMessage(message)
		if err != nil {
			t.Fatalf("%q: the MCP SDK says %v", message, err)
		}
		req := msg.(*jsonrpc.Request)
		var want mcp.CallToolParamsRaw
		if err := json.Unmarshal(req.Params, &want); err != nil || req.Method != "tools/call" || !keepsID(req, message) {
			t.Fatalf("%q: %v, %s", message, err, req.Method)
		}
		params := got.request(nil).Params
		if params.Name != want.Name || !sameJSON(params.Arguments, want.Arguments) || !reflect.DeepEqual(params.Meta, want.Meta) {
			t.Errorf("%q: got %+v, want %+v", message, params, want)
		}
		if id, _ := want.Meta[useIDKey].(string); got.useID != id {
			t.Errorf("%q: the call is that of %q, want %q", message, got.useID, id)
		}
	})
}

// TestDirectAllocations pins the cost of a call, including the checks of its
// arguments.
func TestDirectAllocations(t *testing.T) {
	server := NewServer(New("number", "", func(_ context.Context, in number) (float64, error) { return in.A + 1, nil }))
	c := connected(t, server, true)
	message := json.RawMessage(`{"method":"tools/call","params":{"name":"number","arguments":{"a":41},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":2}},"jsonrpc":"2.0","id":2}`)
	if n := testing.AllocsPerRun(100, func() { c.Handle(t.Context(), message) }); n > 51 {
		t.Errorf("%v allocations for a call, want 51 at most", n)
	}
}
