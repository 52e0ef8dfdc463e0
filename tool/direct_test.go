package tool

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"

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
			return UseID(ctx), Progress(ctx, 1, 2, "half")
		}),
	)
}

// connected opens a connection and shakes hands.
func connected(tb testing.TB, s *Server, direct bool) *conn {
	tb.Helper()
	opened, err := s.OpenMCP(tb.Context(), "x", func(context.Context, json.RawMessage) error { return nil })
	if err != nil {
		tb.Fatal(err)
	}
	c := opened.(*conn)
	if !direct {
		c.find = nil
	}
	for _, m := range []string{
		`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cli","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	} {
		if _, err := c.Handle(tb.Context(), json.RawMessage(m)); err != nil {
			tb.Fatal(err)
		}
	}
	tb.Cleanup(func() { c.Close() })
	return c
}

// TestDirect wants the short way to give the answers of the long one.
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

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzCall holds what is read of a call against how the MCP SDK reads it.
func FuzzCall(f *testing.F) {
	f.Add([]byte(`{"method":"tools/call","params":{"name":"add","arguments":{"a":1},"_meta":{"claudecode/toolUseId":"t","progressToken":2}},"jsonrpc":"2.0","id":2}`))
	f.Add([]byte(`{"id":"x","jsonrpc":"2.0","method":"tools/call","params":{"name":"\u00e9"}}`))
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
		if got.name != want.Name || !sameJSON(got.arguments, want.Arguments) || len(got.meta) != len(want.Meta) {
			t.Errorf("%q: got %+v, want %+v", message, got, want)
		}
		for key, value := range want.Meta {
			if !reflect.DeepEqual(got.meta[key], value) {
				t.Errorf("%q: %s is %v, want %v", message, key, got.meta[key], value)
			}
		}
	})
}

// TestDirectAllocations pins what a call costs, the checks of its arguments
// included.
func TestDirectAllocations(t *testing.T) {
	server := NewServer(New("number", "", func(_ context.Context, in number) (float64, error) { return in.A + 1, nil }))
	c := connected(t, server, true)
	message := json.RawMessage(`{"method":"tools/call","params":{"name":"number","arguments":{"a":41},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":2}},"jsonrpc":"2.0","id":2}`)
	if n := testing.AllocsPerRun(100, func() { c.Handle(t.Context(), message) }); n > 66 {
		t.Errorf("%v allocations for a call, want 66 at most", n)
	}
}
