package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/control"
)

// elicited puts the question of an MCP server to a person who types these lines,
// and returns the answer as the CLI gets it and what was shown.
func elicited(t *testing.T, e *control.Elicitation, lines ...string) (reply, shown string) {
	t.Helper()
	var stderr bytes.Buffer
	c := newConsole(t.Context(), &typist{lines}, io.Discard, &stderr, nil)
	answer, err := newAsker(c, newScreen(c)).elicit(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw), stderr.String()
}

// form is a question for one field.
func formOf(field string, required bool) *control.Elicitation {
	schema := `{"type":"object","properties":{"f":` + field + `}`
	if required {
		schema += `,"required":["f"]`
	}
	return &control.Elicitation{ServerName: "eli", Message: "Well?", Mode: "form", RequestedSchema: json.RawMessage(schema + "}")}
}

func TestElicitField(t *testing.T) {
	const (
		colours = `{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]}`
		sizes   = `{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}`
		several = `{"type":"array","items":{"anyOf":[{"const":"s","title":"Small"},{"const":"l","title":"Large"}]}}`
		listed  = `{"type":"array","maxItems":1,"items":{"enum":["a","b"]}}`
	)
	for _, test := range []struct {
		name, field string
		lines       []string
		want        string // the value
	}{
		{"text", `{"type":"string"}`, []string{"", "two words"}, `"two words"`},
		{"text that is too short", `{"type":"string","minLength":3}`, []string{"ab", "abc"}, `"abc"`},
		{"yes", `{"type":"boolean"}`, []string{"maybe", "y"}, `true`},
		{"no", `{"type":"boolean"}`, []string{"No"}, `false`},
		{"integer", `{"type":"integer","maximum":9}`, []string{"x", "1.5", "10", "7"}, `7`},
		{"number", `{"type":"number"}`, []string{"NaN", "0x10", "-1.50"}, `-1.50`},
		{"choice", colours, []string{"3", "Green", "2"}, `"g"`},
		{"choice with titles", sizes, []string{"1,2", "1"}, `"s"`},
		{"several", several, []string{"2, 1"}, `["l","s"]`},
		{"several, but not so many", listed, []string{"1,2", "2"}, `["b"]`},
		{"default", `{"type":"integer","default":5}`, []string{""}, `5`},
		{"not the default", `{"type":"integer","default":5}`, []string{"6"}, `6`},
		{"of no known kind", `{"type":["string","null"]}`, []string{"x"}, `"x"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, shown := elicited(t, formOf(test.field, true), append([]string{"y"}, test.lines...)...)
			if want := `{"action":"accept","content":{"f":` + test.want + `}}`; reply != want {
				t.Errorf("reply %s, want %s; shown %q", reply, want, shown)
			}
		})
	}
}

func TestElicit(t *testing.T) {
	two := formOf(`{"type":"string","title":"Name"},"a":{"type":"boolean","description":"sure\u001b[2J"}`, false)
	two.PropertyOrder = []string{"f", "unknown"}
	visit := &control.Elicitation{ServerName: "e\x1bli", Message: "Sign\nin", Mode: "url", URL: "https://bank.example@evil.example/?t=sk-ant-abc"}
	for _, test := range []struct {
		name  string
		e     *control.Elicitation
		lines []string
		want  string
		shown string
	}{
		{"all fields", two, []string{"y", "Ada", "y"}, `{"action":"accept","content":{"a":true,"f":"Ada"}}`, `a: sure\x1b[2J`},
		{"the order of the CLI", two, []string{"y", "Ada"}, `{"action":"cancel"}`, "Name\n"},
		{"left out", two, []string{"y", "", ""}, `{"action":"accept","content":{}}`, "Text, or nothing: "},
		{"declined", two, []string{"what", "n"}, `{"action":"decline"}`, "The MCP server eli asks\n  | Well?\n"},
		{"the end of input", two, nil, `{"action":"cancel"}`, "Answer?"},
		{"address", visit, []string{"y"}, `{"action":"accept"}`, "address: https://bank.example@evil.example/?t=sk-ant-abc\n  host: evil.example\n"},
		{"address declined", visit, []string{"n"}, `{"action":"decline"}`, "The MCP server e\\x1bli asks\n  | Sign\n  | in\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply, shown := elicited(t, test.e, test.lines...)
			if reply != test.want || !strings.Contains(shown, test.shown) || strings.Contains(shown, "\x1b") {
				t.Errorf("reply %s, shown %q, want %s and %q", reply, shown, test.want, test.shown)
			}
		})
	}
}

// Without a user to ask, a server's request is declined, and a line says so.
func TestElicitNobody(t *testing.T) {
	var stderr bytes.Buffer
	c := newConsole(t.Context(), strings.NewReader(""), io.Discard, &stderr, nil)
	opts, err := new(runCommand).options(c, newScreen(c))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := opts.OnElicitation(context.Background(), formOf(`{}`, false))
	if err != nil || answer.Action != control.ElicitationDecline || !strings.Contains(stderr.String(), "declined: the MCP server eli") {
		t.Errorf("answer %+v, %v, stderr %q, want it declined and a word", answer, err, stderr.String())
	}
}
