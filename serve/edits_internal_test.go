package serve

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// The CLI's report of an edit becomes hunks whose counts fit their lines. A report that
// has failed or names no file is not an edit, and a hunk that would break a patch is left
// out.
func TestEditOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		report string
		failed bool
		want   *edit
	}{
		"edit": {report: `{"filePath":"/srv/a/b.go","structuredPatch":[{"oldStart":3,"newStart":4,"lines":[" x","-y","+z","+w","\\ No newline at end of file"]}]}`, want: &edit{api.FileEdit{Hunks: []api.Hunk{
			{OldStart: 3, OldLines: 2, NewStart: 4, NewLines: 3, Lines: []string{" x", "-y", "+z", "+w", `\ No newline at end of file`}},
		}}, "a/b.go"}},
		"elsewhere": {report: `{"filePath":"/etc/x","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["+z"]}]}`, want: &edit{api.FileEdit{Hunks: []api.Hunk{{OldStart: 1, NewStart: 1, NewLines: 1, Lines: []string{"+z"}}}}, "/etc/x"}},
		"created": {report: `{"type":"create","filePath":"/srv/n","content":"a\nb\n","structuredPatch":[]}`, want: &edit{api.FileEdit{Created: true, Hunks: []api.Hunk{
			{NewStart: 1, NewLines: 2, Lines: []string{"+a", "+b"}},
		}}, "n"}},
		"created without an end": {report: `{"type":"create","filePath":"/srv/n","content":"a\nb"}`, want: &edit{api.FileEdit{Created: true, Hunks: []api.Hunk{
			{NewStart: 1, NewLines: 2, Lines: []string{"+a", "+b", `\ No newline at end of file`}},
		}}, "n"}},
		"created empty": {report: `{"type":"create","filePath":"/srv/n","content":""}`, want: &edit{api.FileEdit{Created: true}, "n"}},
		"half broken": {report: `{"filePath":"/srv/n","structuredPatch":[{"oldStart":1,"newStart":1,"lines":["?"]},{"oldStart":1,"newStart":1,"lines":["+a\n+b"]},{"oldStart":1,"newStart":1,"lines":[""]},{"oldStart":9,"newStart":9,"lines":["-a"]}]}`,
			want: &edit{api.FileEdit{Hunks: []api.Hunk{{OldStart: 9, OldLines: 1, NewStart: 9, Lines: []string{"-a"}}}}, "n"}},
		"all broken":   {report: `{"filePath":"/srv/n","structuredPatch":[{"lines":["?"]}]}`},
		"unchanged":    {report: `{"filePath":"/srv/n","structuredPatch":[]}`},
		"failed":       {report: `{"filePath":"/srv/n","structuredPatch":[{"lines":["+a"]}]}`, failed: true},
		"without file": {report: `{"structuredPatch":[{"lines":["+a"]}]}`},
		"a text":       {report: `"Error"`},
		"nothing":      {report: ``},
	} {
		line := `{"type":"user"}`
		if c.report != "" {
			line = `{"type":"user","toolUseResult":` + c.report + `}`
		}
		result := message.ToolResultBlock{ToolUseID: "toolu_1", IsError: c.failed}
		for _, inLine := range []bool{true, false} {
			e, m := &api.Event{Seq: 7, Message: json.RawMessage(line)}, new(message.User)
			if !inLine {
				e.Message, m.ToolUseResult = json.RawMessage(`{}`), json.RawMessage(c.report)
			}
			got, ok := editOf(e, m, &result, "/srv")
			if ok != (c.want != nil) {
				t.Errorf("%s: %v", name, ok)
				continue
			}
			if c.want != nil {
				want := *c.want
				want.Seq, want.ToolUseID = 7, "toolu_1"
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %+v\nwant %+v", name, got, want)
				}
			}
		}
	}
}

// Names in a patch are quoted as git does.
func TestPatchName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a/b.go": "a/b.go", "a/with blank": "a/with blank", "a/ä": `"a/\303\244"`, "a/\n": `"a/\012"`, `a/"q"`: `"a/\"q\""`, `a/\`: `"a/\\"`, "a/\x7f": `"a/\177"`, "a/\t": `"a/\011"`,
	} {
		if got := patchName(name); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
	for _, c := range [][3]string{{"/srv", "/srv/a", "a"}, {"/srv", "/srv/../etc", "/srv/../etc"}, {"/srv", "/srvx/a", "/srvx/a"}, {"", "/srv/a", "/srv/a"}, {"/srv", "a", "a"}} {
		if got := pathIn(c[0], c[1]); got != c[2] {
			t.Errorf("%s in %s: %s", c[1], c[0], got)
		}
	}
}

// The fields of a form are those of its schema, in its order, each of the kind that
// people can fill in.
func TestFormOf(t *testing.T) {
	t.Parallel()
	q := approvalForm(`{"mcp_server_name":"crm","message":"m","mode":"form","requested_schema":{"type":"object","required":["name"],"properties":{` +
		`"name":{"type":"string","title":"Name","description":"yours","format":"email","default":"a@b"},"age":{"type":"integer","default":3},"rate":{"type":"number"},"ok":{"type":"boolean"},` +
		`"pick":{"type":"string","enum":["a","b"]},"some":{"type":"array","items":{"type":"string","enum":["x","y"]}}}}}`)
	f := formOf(&q)
	if f == nil || f.URL != "" || f.Server != "crm" || len(f.Fields) != 6 {
		t.Fatalf("%+v", f)
	}
	kinds := map[string]api.FieldKind{"name": api.FieldText, "age": api.FieldInteger, "rate": api.FieldNumber, "ok": "boolean", "pick": api.FieldChoice, "some": api.FieldChoices}
	for _, one := range f.Fields {
		if one.Kind != kinds[one.Name] || one.Required != (one.Name == "name") || (one.Title == "Name") != (one.Name == "name") || one.Title == "" {
			t.Errorf("%+v", one)
		}
		if one.Name == "name" && (one.Description != "yours" || one.Format != "email" || string(one.Default) != `"a@b"`) {
			t.Errorf("%+v", one)
		}
		if one.Name == "pick" && (len(one.Options) != 2 || one.Options[1].Value != "b") {
			t.Errorf("%+v", one.Options)
		}
	}
	q = approvalForm(`{"mcp_server_name":"crm","mode":"url","url":"https://crm.example/x"}`)
	if f := formOf(&q); f == nil || f.URL != "https://crm.example/x" || f.Fields == nil || len(f.Fields) != 0 {
		t.Errorf("%+v", f)
	}
	if err := checkContent(&q, json.RawMessage(`{"any":1}`)); err != nil {
		t.Errorf("an address has no form: %v", err)
	}
	q = approvalForm(`{"mode":"form","requested_schema":1}`)
	if f := formOf(&q); f != nil {
		t.Errorf("%+v", f)
	}
	q = approvalForm(`{"mode":`)
	if f := formOf(&q); f != nil {
		t.Errorf("%+v", f)
	}
}
