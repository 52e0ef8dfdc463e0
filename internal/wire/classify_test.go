package wire_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/wire"
)

// classified reads a line as a reader and the decoders behind it do: what Classify left
// open is refused here.
func classified(line []byte) (f wire.Frame, r wire.Request, ok bool) {
	f, err := wire.Classify(line)
	if err != nil {
		return f, r, false
	}
	if f.Type == wire.TypeRequest {
		if r, err = f.Request(); err != nil {
			return f, r, false
		}
		return f, r, isSoundBody(r.Body)
	}
	return f, r, jsonx.EnvelopeNames().Check(line) == nil
}

func isSoundBody(body []byte) bool { return jsonx.Valid(body) && jsonx.BodyNames().Check(body) == nil }

// parsed reads a line as Parse does.
func parsed(line []byte) (f wire.Frame, r wire.Request, ok bool) {
	f, err := wire.Parse(line)
	if err == nil && f.Type == wire.TypeRequest {
		if r, err = f.Request(); err == nil && !isSoundBody(r.Body) {
			return f, r, false
		}
	}
	return f, r, err == nil
}

// checkAgreement fails when the two ways read a line in two ways.
func checkAgreement(t *testing.T, line []byte) {
	t.Helper()
	f, r, ok := classified(slices.Clone(line))
	wantF, wantR, want := parsed(slices.Clone(line))
	if ok != want {
		t.Fatalf("%s: read %v, want %v", line, ok, want)
	}
	if !ok {
		return
	}
	if f.Type != wantF.Type || f.Subtype != "" && f.Subtype != wantF.Subtype {
		t.Errorf("%s: %q %q, want %q %q", line, f.Type, f.Subtype, wantF.Type, wantF.Subtype)
	}
	if r.ID != wantR.ID || r.Subtype != wantR.Subtype || string(r.Body) != string(wantR.Body) {
		t.Errorf("%s:\n got %q %q %s\nwant %q %q %s", line, r.ID, r.Subtype, r.Body, wantR.ID, wantR.Subtype, wantR.Body)
	}
}

const permissionLine = `{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"ls"}}}`

var classifiedLines = []string{
	permissionLine,
	strings.Replace(permissionLine, "can_use_tool", "hook_callback", 1),
	strings.Replace(permissionLine, "can_use_tool", "mcp_message", 1),
	strings.Replace(permissionLine, `"r-1"`, `""`, 1),
	strings.Replace(permissionLine, `"r-1"`, `7`, 1),
	strings.Replace(permissionLine, `"r-1"`, `"\u0031"`, 1),
	strings.Replace(permissionLine, `"r-1"`, `"r-1\"`, 1), // an answer to it would not be JSON
	strings.Replace(permissionLine, `"r-1"`, `"r\"-1"`, 1),
	strings.Replace(permissionLine, `"r-1"`, `"é"`, 1),
	strings.Replace(permissionLine, `"r-1"`, "\"r\t1\"", 1),
	strings.Replace(permissionLine, `"r-1"`, "\"r\xff1\"", 1),
	strings.Replace(permissionLine, `"request":`, `"requesT":`, 1),
	strings.Replace(permissionLine, `"request":`, `"another":`, 1),
	strings.Replace(permissionLine, `"r-1"`, `"`+strings.Repeat("x", 70)+`"`, 1),
	strings.Replace(permissionLine, `}}}`, `}},"uuid":"u"}`, 1),
	strings.Replace(permissionLine, `}}}`, `}},"new":{"a":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `}},"type":{"a":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `}},"Request":{"a":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `}},"request":{"subtype":"interrupt"}}`, 1),
	strings.Replace(permissionLine, `}}}`, `},"subtype":"interrupt","x":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `},"Subtype":"interrupt","x":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `},"tool_name":"Write","x":{}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `}}}}`, 1),
	strings.Replace(permissionLine, `}}}`, `}}`, 1),
	strings.Replace(permissionLine, `,"tool_name":"Bash","input":{"command":"ls"}`, ``, 1),
	`{"type":"control_request","request_id":"`,
	`{"type":"control_request","request_id":"1","request":{"subtype":"can_use_tool",}}`,
	`{"type":"stream_event","event":{"type":"message_stop"},"uuid":"u"}`,
	`{"type":"assistant","message":{"content":[]}}`,
	`{"type":"assistant","message":{},"type":"control_request"}`,
	`{"type":"assistant","subtype":"x"}`,
	`{"type":"assistant","x":`,
	`{"type":"user","message":{"role":"user"},"subtype":"x"}`,
	`{"type":"user","message":{},"TYPE":"control_request"}`,
	`{"type":"assistant"}`,
	`{ "type":"assistant","message":{}}`,
	`{"type":"assistants","message":{}}`,
	`{"uuid":"u","type":"stream_event"}`,
	`{"type":"result","subtype":"success"}`,
	`{"type":"user","type":"assistant"}`,
	`not a frame`,
	``,
}

func TestClassify(t *testing.T) {
	for _, line := range classifiedLines {
		checkAgreement(t, []byte(line))
	}
	// What has two types is a message, for its decoder to refuse: never a request.
	f, err := wire.Classify([]byte(`{"type":"assistant","type":"control_request","request_id":"1","request":{"subtype":"interrupt"}}`))
	if f.Type != "assistant" || err != nil {
		t.Errorf("%q, %v", f.Type, err)
	}
}

func TestPartialMessages(t *testing.T) {
	for line, want := range map[string]bool{
		`{"type":"stream_event","event":{}}`: true,
		`{"type":"assistant","message":{}}`:  false,
		`{"type":"stream_events"}`:           false,
		``:                                   false,
	} {
		if got := wire.IsPartialMessage([]byte(line)); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

func TestClassifyAllocations(t *testing.T) {
	line := []byte(permissionLine)
	if n := testing.AllocsPerRun(100, func() {
		f, _ := wire.Classify(line)
		_, _ = f.Request()
	}); n > 1 {
		t.Errorf("%v allocations for a request, want 1", n)
	}
}

func FuzzClassify(f *testing.F) {
	for _, line := range classifiedLines {
		f.Add([]byte(line))
	}
	f.Fuzz(checkAgreement)
}
