package demo

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/message"
)

// TestRun plays it as cmd/demo does; TestDemo of claudectl sees everything that happens.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	play := &Play{Claudectl: "go run ./cmd/claudectl"}
	if err := play.Run(t.Context(), NewView(&out, &out, nil, false)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"      tool  our Go function count(\"bolts\") returns 42\n",
		"    claude  There are 42 bolts, and stock.txt says so.\n",
		"    result  interrupted\n",
		"      next  go run ./cmd/claudectl demo --scripted-model   the same",
		"      next  go run ./cmd/claudectl doctor                  what",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in:\n%s", want, &out)
		}
	}
}

// TestSmall keeps what newcomers wait for small: cmd/demo compiles nothing that it does
// not need.
func TestSmall(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "../../cmd/demo").Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/claude-agent-go/claude/claudetest") {
		t.Errorf("no claudetest in %q: this test sees nothing", deps)
	}
	for _, dep := range deps {
		for _, large := range []string{
			"html/template", "text/template", "github.com/alecthomas/kong", "github.com/modelcontextprotocol/go-sdk", "github.com/yuin/goldmark",
			"github.com/claude-agent-go/claude/fleet", "github.com/claude-agent-go/claude/serve", "github.com/claude-agent-go/claude/internal/inspect",
		} {
			if dep == large || strings.HasPrefix(dep, large+"/") {
				t.Errorf("the demo has %s", dep)
			}
		}
	}
}

// A CLI that reports a tool call twice does not end the program.
func TestCallTwice(t *testing.T) {
	var out bytes.Buffer
	view := NewView(&out, &out, nil, false)
	m, err := message.Decode([]byte(`{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	view.show(m)
	view.show(m)
	if got := strings.Count(out.String(), "calls Bash"); got != 2 {
		t.Errorf("shown %d times, want 2: %q", got, out.String())
	}
}

func TestStock(t *testing.T) {
	s := stock{func(part string) int { return len(part) }}
	for _, test := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"part":"bolts"}}}`,
			`{"id":1,"jsonrpc":"2.0","result":{"content":[{"text":"5","type":"text"}]}}`},
		{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `{"id":"a","jsonrpc":"2.0","result":{}}`},
		{`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`,
			`{"error":{"code":-32601,"message":"method not found: prompts/list"},"id":2,"jsonrpc":"2.0"}`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ``},
	} {
		got, err := s.Handle(t.Context(), json.RawMessage(test[0]))
		if err != nil || string(got) != test[1] {
			t.Errorf("Handle(%s) = %s, %v, want %s", test[0], got, err, test[1])
		}
	}
	if got, err := s.Handle(t.Context(), json.RawMessage(`{`)); err == nil {
		t.Errorf("half a message is answered: %s", got)
	}
}
