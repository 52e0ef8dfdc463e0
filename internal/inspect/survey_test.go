package inspect_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/inspect"
)

// Everything that the real CLI wrote in the recordings is known, and survives
// decoding and encoding. The shapes are those of many more recordings, with the
// values taken out.
func TestNothingUnknown(t *testing.T) {
	files, err := filepath.Glob("../../claudetest/testdata/sessions/*.ndjson")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	s := inspect.NewSurvey()
	for _, path := range append(files, "testdata/shapes.ndjson") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Read(f, path)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, find := range slices.Concat(s.Unknown, s.Changed) {
		t.Errorf("%s, %s:%d", find.Name, find.Source, find.Line)
	}
	if s.Recordings != len(files)+1 || s.Lines < 1200 {
		t.Errorf("%d recordings with %d lines", s.Recordings, s.Lines)
	}
}

func TestSurvey(t *testing.T) {
	s := inspect.NewSurvey()
	read := func(source string, lines ...string) {
		t.Helper()
		if err := s.Read(strings.NewReader(strings.Join(lines, "\n")), source); err != nil {
			t.Fatal(err)
		}
	}
	read("known", `{"dir":"out","t_ms":0,"msg":{"type":"result","subtype":"success","result":"swordfish","is_error":false}}`)
	if !s.Clean() {
		t.Errorf("%+v", s)
	}
	read("first",
		`{"dir":"in","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":"hi"},"mine":1}}`,
		`{"dir":"out","t_ms":0,"msg":{"type":"result","subtype":"success","newer":"swordfish"}}`,
		`{"dir":"out","t_ms":0,"msg":{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"hologram"}]}]}}}`)
	read("second",
		`{"dir":"out","t_ms":0,"msg":{"type":"result","subtype":"success","newer":7,"newest":1}}`,
		`{"dir":"out","t_ms":0,"msg":{"type":"result","subtype":"success","newer":8}}`,
		`{"dir":"out","t_ms":0,"msg":{"type":"assistant","message":{"role":"assistant","content":"swordfish"},"timestamp":"yesterday"}}`,
		`{"dir":"out","t_ms":0,"msg":{"type":"telepathy"}}`)
	for _, tt := range []struct {
		name string
		got  []inspect.Find
		want []inspect.Find
	}{
		{"unknown", s.Unknown, []inspect.Find{{"result.newer", 3, "first", 2}, {"result.newest", 1, "second", 1}, {"telepathy", 1, "second", 4}, {"user.message.content[tool_result].content[hologram]", 1, "first", 3}}},
		{"changed", s.Changed, []inspect.Find{{"assistant.message.content: a text became a list", 1, "second", 3}, {"assistant.timestamp: is lost", 1, "second", 3}}},
		{"sent", s.Sent, []inspect.Find{{"user.mine", 1, "first", 1}}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got  %+v\nwant %+v", tt.name, tt.got, tt.want)
		}
	}
	var out bytes.Buffer
	if err := errors.Join(s.WriteText(&out, false), s.WriteJSON(&out)); err != nil || s.Clean() {
		t.Errorf("clean %v, %v", s.Clean(), err)
	}
	if strings.Contains(out.String(), "swordfish") {
		t.Errorf("a value is shown:\n%s", &out)
	}
	for _, want := range []string{"3 recordings, 8 lines", "3× result.newer  first:2", `{"name":"result.newer","count":3,"source":"first","line":2}`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, &out)
		}
	}
}

// A list that was cut short holds a text where objects are.
func TestSurveyOfACutRecording(t *testing.T) {
	s := inspect.NewSurvey()
	err := s.Read(strings.NewReader(`{"dir":"in","t_ms":0,"msg":{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}}
{"dir":"out","t_ms":0,"msg":{"type":"control_response","response":{"subtype":"success","request_id":"1","response":{"commands":[{"name":"a"},"... 40 more"]}}}}`), "")
	if err != nil || !s.Clean() {
		t.Errorf("%+v, %v", s, err)
	}
}
