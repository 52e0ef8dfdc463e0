package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// line is the CLI's end of a connection with a server.
type line struct {
	t    *testing.T
	conn claude.MCPConn

	mu     sync.Mutex
	pushed []string
}

// open connects with a server and shakes hands.
func open(t *testing.T, server claude.MCPHandler) *line {
	t.Helper()
	l := &line{t: t}
	conn, err := server.OpenMCP(t.Context(), "x", func(_ context.Context, m json.RawMessage) error {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pushed = append(l.pushed, string(m))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	l.conn = conn
	l.shake()
	return l
}

func (l *line) shake() {
	l.t.Helper()
	got := l.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cli","version":"1"}}}`)
	if !strings.Contains(got, `"id":0`) || !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
		l.t.Fatalf("handshake: %s", got)
	}
	if reply, err := l.conn.Handle(l.t.Context(), json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)); reply != nil || err != nil {
		l.t.Fatalf("initialized: %s, %v", reply, err)
	}
}

func (l *line) ask(message string) string {
	l.t.Helper()
	reply, err := l.conn.Handle(l.t.Context(), json.RawMessage(message))
	if err != nil && reply == nil {
		return "error: " + err.Error()
	}
	return string(reply)
}

func call(id int, name, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"claudecode/toolUseId":"toolu_%[1]d","progressToken":%[1]d}}}`, id, name, arguments)
}

type point struct {
	X int `json:"x"`
	Y int `json:"y,omitempty"`
}

type word string

func TestResults(t *testing.T) {
	png := []byte{0x89, 'P'}
	tools := map[string]*tool.Tool{
		"string":     tool.New("t", "", func(context.Context, struct{}) (string, error) { return "a < b", nil }),
		"named":      tool.New("t", "", func(context.Context, struct{}) (word, error) { return "w", nil }),
		"number":     tool.New("t", "", func(context.Context, struct{}) (float64, error) { return 4.5, nil }),
		"list":       tool.New("t", "", func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }),
		"object":     tool.New("t", "", func(context.Context, struct{}) (point, error) { return point{X: 1}, nil }),
		"pointer":    tool.New("t", "", func(context.Context, struct{}) (*point, error) { return &point{X: 1}, nil }),
		"nil":        tool.New("t", "", func(context.Context, struct{}) (*point, error) { return nil, nil }),
		"any":        tool.New("t", "", func(context.Context, struct{}) (any, error) { return nil, nil }),
		"raw":        tool.New("t", "", func(context.Context, struct{}) (json.RawMessage, error) { return json.RawMessage(`{"a": 1}`), nil }),
		"error":      tool.New("t", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no such row") }),
		"silent":     tool.New("t", "", func(context.Context, struct{}) (string, error) { return "", errors.New("") }),
		"panic":      tool.New("t", "", func(context.Context, struct{}) (string, error) { panic("boom") }),
		"NaN":        tool.New("t", "", func(context.Context, struct{}) (float64, error) { return math.NaN(), nil }),
		"bad UTF-8":  tool.New("t", "", func(context.Context, struct{}) (string, error) { return "a\xffb", nil }),
		"nil result": tool.New("t", "", func(context.Context, struct{}) (*tool.Result, error) { return nil, nil }),
		"result": tool.New("t", "", func(context.Context, struct{}) (*tool.Result, error) {
			return tool.Text("see").With(tool.Image("image/png", png), tool.Resource("db://1", "text/plain", "row"), tool.Structured(point{X: 2})), nil
		}),
		"structured number": tool.New("t", "", func(context.Context, struct{}) (*tool.Result, error) { return tool.Structured(7), nil }),
		"sdk":               tool.New("t", "", func(context.Context, struct{}) (mcp.Content, error) { return &mcp.TextContent{Text: "c"}, nil }),
	}
	want := map[string]string{
		"string":            `{"content":[{"type":"text","text":"a < b"}]}`,
		"named":             `{"content":[{"type":"text","text":"w"}]}`,
		"number":            `{"content":[{"type":"text","text":"4.5"}]}`,
		"list":              `{"content":[{"type":"text","text":"[1,2]"}]}`,
		"object":            `{"content":[{"type":"text","text":"{\"x\":1}"}],"structuredContent":{"x":1}}`,
		"pointer":           `{"content":[{"type":"text","text":"{\"x\":1}"}],"structuredContent":{"x":1}}`,
		"nil":               `{"content":[]}`,
		"any":               `{"content":[]}`,
		"raw":               `{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}`,
		"error":             `{"content":[{"type":"text","text":"no such row"}],"isError":true}`,
		"silent":            `{"content":[{"type":"text","text":"the tool failed without a message"}],"isError":true}`,
		"panic":             `{"content":[{"type":"text","text":"the tool panicked: boom"}],"isError":true}`,
		"NaN":               `{"content":[{"type":"text","text":"the result cannot be encoded: json: unsupported value: NaN"}],"isError":true}`,
		"bad UTF-8":         `{"content":[{"type":"text","text":"a\ufffdb"}]}`,
		"nil result":        `{"content":[]}`,
		"result":            `{"content":[{"type":"text","text":"see"},{"type":"image","mimeType":"image/png","data":"iVA="},{"type":"resource","resource":{"uri":"db://1","mimeType":"text/plain","text":"row"}}],"structuredContent":{"x":2}}`,
		"structured number": `{"content":[{"type":"text","text":"the structured content is not a JSON object but 7"}],"isError":true}`,
		"sdk":               `{"content":[{"type":"text","text":"c"}]}`,
	}
	for name, one := range tools {
		t.Run(name, func(t *testing.T) {
			l := open(t, tool.NewServer(one))
			var got struct {
				ID     int `json:"id"`
				Result any `json:"result"`
			}
			reply := l.ask(call(3, "t", `{}`))
			if err := json.Unmarshal([]byte(reply), &got); err != nil || got.ID != 3 {
				t.Fatalf("%s, %v", reply, err)
			}
			if result, ok := got.Result.(map[string]any); ok {
				delete(result, "resultType")
			}
			a, _ := json.Marshal(got.Result)
			var w any
			if err := json.Unmarshal([]byte(want[name]), &w); err != nil {
				t.Fatal(err)
			}
			if b, _ := json.Marshal(w); string(a) != string(b) {
				t.Errorf("got  %s\nwant %s", a, b)
			}
			if err := l.conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A tool that ends its goroutine, as a test's FailNow does, harms nothing else.
// On the short path the goroutine is that of Handle, and the session answers for
// it; on the long one the tool has its own.
func TestToolEndsItsGoroutine(t *testing.T) {
	l := open(t, tool.NewServer(
		tool.New("short", "", func(context.Context, struct{}) (string, error) { runtime.Goexit(); return "", nil }),
		tool.New("long", "", func(context.Context, struct{}) (any, error) { runtime.Goexit(); return nil, nil }),
		tool.New("other", "", func(context.Context, struct{}) (string, error) { return "still there", nil }),
	))
	over := make(chan struct{})
	go func() {
		defer close(over)
		t.Errorf("Handle has returned %s", l.ask(call(1, "short", `{}`)))
	}()
	<-over
	if got := l.ask(call(2, "long", `{}`)); !strings.Contains(got, "the tool ended its goroutine") {
		t.Error(got)
	}
	for id := 1; id <= 2; id++ { // the ids are free again
		if got := l.ask(call(id, "other", `{}`)); !strings.Contains(got, "still there") {
			t.Error(got)
		}
	}
	if err := l.conn.Close(); err != nil { // it waits for calls
		t.Error(err)
	}
}

// A panic is answered, and its stack goes to the log of the session.
func TestPanicIsReported(t *testing.T) {
	l := open(t, tool.NewServer(tool.New("t", "", func(context.Context, struct{}) (string, error) { panic("boom") })))
	reply, err := l.conn.Handle(t.Context(), json.RawMessage(call(1, "t", `{}`)))
	if reply == nil || err == nil || !strings.Contains(err.Error(), "boom") || !strings.Contains(err.Error(), "toolu_1") || !strings.Contains(err.Error(), "TestPanicIsReported") {
		t.Errorf("%s, %v", reply, err)
	}
}

func TestArguments(t *testing.T) {
	l := open(t, tool.NewServer(tool.New("move", "", func(_ context.Context, in struct {
		To   point     `json:"to"`
		Mode string    `json:"mode,omitempty" enum:"fast,slow"`
		At   time.Time `json:"at,omitzero"`
	}) (string, error) {
		return fmt.Sprint(in.To.X, " ", in.Mode), nil
	})))
	for arguments, want := range map[string]string{
		`{"to":{"x":1},"mode":"fast"}`:                        "1 fast",
		`{"to":{"x":"1"}}`:                                    "/properties/x",
		`{"mode":"fast"}`:                                     "to",
		`{"to":{"x":1},"mode":"late"}`:                        "enum",
		`{"to":{"x":1},"more":1}`:                             "more",
		`{"to":{"x":1},"at":"yesterday"}`:                     "does not match",
		`{"to":{"x":1.5}}`:                                    "integer",
		`{"to":{"x":123456789012345678901234567890}}`:         "invalid arguments",
		`{"to":{"x":1},"at":"2026-01-02T03:04:05.123+01:00"}`: "1",
	} {
		got := l.ask(call(1, "move", arguments))
		if !strings.Contains(got, want) || strings.Contains(got, `"isError":true`) == strings.HasPrefix(want, "1") {
			t.Errorf("%s: %s, want %q", arguments, got, want)
		}
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move"}}`); !strings.Contains(got, "to") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("no arguments: %s", got)
	}
	if got := l.ask(call(1, "none", `{}`)); !strings.Contains(got, `"code":-32602`) {
		t.Errorf("unknown tool: %s", got)
	}
}

// loose takes members that it does not name.
type loose struct {
	Path string `json:"path,omitempty"`
}

func (loose) JSONSchema() json.RawMessage { return json.RawMessage(`{"type":"object"}`) }

// A tool gets exactly what the gate that allowed the call has seen: no name in two
// spellings, and none that only resembles the name of a field. Calls that bypass
// the MCP SDK and calls through it agree.
func TestArgumentsOfOneMeaning(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "foreign", Version: "1"}, nil)
	var got []string
	take := func(path string) (string, error) {
		got = append(got, path)
		return "took " + path, nil
	}
	short := tool.New("take", "", func(_ context.Context, in loose) (string, error) { return take(in.Path) })
	long := tool.New("take", "", func(_ context.Context, in loose) (any, error) { return take(in.Path) })
	server.AddTool(&mcp.Tool{Name: "take", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var in loose
		err := json.Unmarshal(req.Params.Arguments, &in)
		text, _ := take(in.Path)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, err
	})
	for name, handler := range map[string]claude.MCPHandler{"short": tool.NewServer(short), "long": tool.NewServer(long), "mounted": tool.Mount(server)} {
		l := open(t, handler)
		if answer := l.ask(call(1, "take", `{"path":"/safe","other":1,"Third":{"PATH":2}}`)); !strings.Contains(answer, "took /safe") {
			t.Errorf("%s: %s", name, answer)
		}
		for arguments, want := range map[string]string{
			`{"path":"/safe","PATH":"/etc/shadow"}`:              "differ only in case",
			`{"path":"/safe","path":"/etc/shadow"}`:              "occurs twice",
			`{"path":"/safe","p\u0061th":"/etc/shadow"}`:         "occurs twice",
			`{"path":"/safe","x":[{"a":1,"A":2}]}`:               "differ only in case",
			`{"path":"/safe","x":"\ud83d","Path":"/etc/shadow"}`: "differ only in case",
			`{"PATH":"/etc/shadow"}`:                             `\"PATH\"`,
		} {
			if name == "mounted" && arguments == `{"PATH":"/etc/shadow"}` {
				continue // how it decodes is its own affair
			}
			got = nil
			if answer := l.ask(call(1, "take", arguments)); !strings.Contains(answer, want) || !strings.Contains(answer, `"isError":true`) || got != nil {
				t.Errorf("%s, %s: %s, the tool got %q", name, arguments, answer, got)
			}
		}
	}
}

func TestListing(t *testing.T) {
	one := tool.New("one", "The first", func(context.Context, point) (string, error) { return "", nil })
	l := open(t, tool.NewServer(one.ReadOnly().Title("One").SearchHint("uno").AlwaysLoad().MaxResultSize(500), tool.New("two", "", func(context.Context, map[string]any) (int, error) { return 0, nil })))
	got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	for _, want := range []string{
		`"name":"one"`, `"title":"One"`, `"description":"The first"`, `"readOnlyHint":true`,
		`"anthropic/searchHint":"uno"`, `"anthropic/alwaysLoad":true`, `"anthropic/maxResultSizeChars":500`,
		`"inputSchema":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["x"],"additionalProperties":false}`,
		`"inputSchema":{"type":"object"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if string(one.Schema()) == "" || one.Name() != "one" {
		t.Error("a tool does not know itself")
	}
}

func TestUnusableTools(t *testing.T) {
	f := func(context.Context, struct{}) (string, error) { return "", nil }
	var none func(context.Context, struct{}) (string, error)
	for want, server := range map[string]*tool.Server{
		`tool "a b": a name has`:     tool.NewServer(tool.New("a b", "", f)),
		"is nil":                     tool.NewServer(nil),
		"the function is nil":        tool.NewServer(tool.New("a", "", none)),
		"another tool has this name": tool.NewServer(tool.New("a", "", f), tool.New("a", "", f)),
		`tool "n": int is not a JSON object: use a struct or a map`: tool.NewServer(tool.New("n", "", func(context.Context, int) (string, error) { return "", nil })),
		`field C: chan int cannot be JSON`:                          tool.NewServer(tool.New("c", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })),
	} {
		_, err := claude.Connect(t.Context(), &claude.Options{MCPServers: claude.MCPServers{"x": server}, CLIPath: "/nowhere"})
		if bad, ok := errors.AsType[*claude.OptionError](err); !ok || bad.Field != `MCPServers["x"]` || !strings.Contains(bad.Problem, want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := tool.AddTo(mcp.NewServer(&mcp.Implementation{Name: "x"}, nil), tool.New("", "", f)); err == nil {
		t.Error("a tool without a name was added")
	}
}

func TestCancellation(t *testing.T) {
	for _, how := range []string{"context", "notification", "close"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan error, 1)
				l := open(t, tool.NewServer(tool.New("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
					<-ctx.Done()
					ended <- ctx.Err()
					return "late", nil
				})))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan struct{})
				go func() {
					defer close(done)
					l.conn.Handle(ctx, json.RawMessage(call(5, "wait", `{}`)))
				}()
				synctest.Wait()
				switch how {
				case "context":
					cancel()
				case "notification":
					l.conn.Handle(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}`))
				case "close":
					if err := l.conn.Close(); err != nil {
						t.Error(err)
					}
				}
				<-done
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				l.conn.Close()
				if got := l.ask(call(6, "wait", `{}`)); !strings.HasPrefix(got, "error: ") {
					t.Errorf("after the end: %s", got)
				}
			})
		})
	}
}

// The CLI repeats the handshake whenever the set of servers changes; running
// calls must not notice.
func TestRepeatedHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		server := tool.NewServer(tool.New("wait", "", func(ctx context.Context, _ struct{}) (string, error) {
			select {
			case <-release:
				return "whole", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}))
		l := open(t, server)
		done := make(chan string, 1)
		go func() { done <- l.ask(call(5, "wait", `{}`)) }()
		synctest.Wait()
		for range 3 {
			l.shake()
		}
		if got := l.ask(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); !strings.Contains(got, "wait") {
			t.Errorf("list: %s", got)
		}
		close(release)
		if got := <-done; !strings.Contains(got, "whole") {
			t.Errorf("the call: %s", got)
		}
		if err := l.conn.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestPushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sdk := mcp.NewServer(&mcp.Implementation{Name: "mine", Version: "7"}, &mcp.ServerOptions{Instructions: "Be brief."})
		err := tool.AddTo(sdk, tool.New("work", "", func(ctx context.Context, _ struct{}) (string, error) {
			if err := tool.ReportProgress(ctx, 1, 2, "half"); err != nil {
				return "", err
			}
			//lint:ignore SA1019 the CLI speaks a version of MCP that has it
			err := tool.Request(ctx).Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "hello"})
			return tool.UseID(ctx), err
		}))
		if err != nil {
			t.Fatal(err)
		}
		l := open(t, tool.Mount(sdk))
		l.ask(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}`)
		if got := l.ask(call(2, "work", `{}`)); !strings.Contains(got, "toolu_2") {
			t.Errorf("call: %s", got)
		}
		sdk.RemoveTools("work")
		<-time.After(time.Second) // the MCP SDK gathers changes
		synctest.Wait()
		l.mu.Lock()
		all := strings.Join(l.pushed, "\n")
		l.mu.Unlock()
		for _, want := range []string{
			`"method":"notifications/progress","params":{"progressToken":2,"message":"half","progress":1,"total":2}`,
			`"method":"notifications/message"`, `"method":"notifications/tools/list_changed"`,
		} {
			if !strings.Contains(all, want) {
				t.Errorf("no %s in %s", want, all)
			}
		}
		// Requests of the server are answered by a message of their own.
		answered := make(chan error, 1)
		for session := range sdk.Sessions() {
			go func() { answered <- session.Ping(t.Context(), nil) }()
		}
		synctest.Wait()
		l.mu.Lock()
		ping := l.pushed[len(l.pushed)-1]
		l.mu.Unlock()
		var sent struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(ping), &sent); err != nil || !strings.Contains(ping, "ping") {
			t.Fatalf("%s, %v", ping, err)
		}
		if got, err := l.conn.Handle(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{}}`, sent.ID)); got != nil || err != nil {
			t.Errorf("%s, %v", got, err)
		}
		if err := <-answered; err != nil {
			t.Error(err)
		}
		l.conn.Close()
	})
	if tool.UseID(t.Context()) != "" || tool.Request(t.Context()) != nil || tool.ReportProgress(t.Context(), 1, 2, "") == nil {
		t.Error("a call outside of a call")
	}
}

func TestMountedServerPanics(t *testing.T) {
	sdk := mcp.NewServer(&mcp.Implementation{Name: "mine"}, nil)
	sdk.AddTool(&mcp.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		panic("boom")
	})
	sdk.AddTool(&mcp.Tool{Name: "nan", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: map[string]float64{"x": math.NaN()}}, nil
	})
	l := open(t, tool.Mount(sdk))
	if got := l.ask(call(4, "t", `{}`)); !strings.Contains(got, `"id":4`) || !strings.Contains(got, `"code":-32603`) || !strings.Contains(got, "boom") {
		t.Errorf("panic: %s", got)
	}
	if got := l.ask(call(5, "nan", `{}`)); !strings.Contains(got, `"id":5`) || !strings.Contains(got, `"error"`) {
		t.Errorf("NaN: %s", got)
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":6,"method":"tools/list"}`); !strings.Contains(got, `"nan"`) {
		t.Errorf("afterwards: %s", got)
	}
	if got := l.ask(`{"id":7,"method":`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("half a message: %s", got)
	}
	// A server that ends its session is back after the next handshake.
	for session := range sdk.Sessions() {
		session.Close()
	}
	if got := l.ask(`{"jsonrpc":"2.0","id":8,"method":"tools/list"}`); !strings.HasPrefix(got, "error: ") {
		t.Errorf("after the end: %s", got)
	}
	l.shake()
	if got := l.ask(`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`); !strings.Contains(got, `"nan"`) {
		t.Errorf("after the next handshake: %s", got)
	}
	l.conn.Close()
}

// A program that imports only the root package links no MCP code.
func TestRootLinksNoMCP(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/claude-agent-go/claude").Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "github.com/claude-agent-go/claude/message") {
		t.Errorf("no dependencies in %s", out)
	}
	for dep := range strings.Lines(string(out)) {
		for _, heavy := range []string{"modelcontextprotocol", "oauth2", "segmentio", "net/http"} {
			if strings.Contains(dep, heavy) {
				t.Errorf("the root package links %s", strings.TrimSpace(dep))
			}
		}
	}
}
