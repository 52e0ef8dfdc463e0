package claudetest_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

const archive = `A whole session.
-- script.json --
{"model":"m","allow":["Write"],"tools":{"Write":"written"}}
-- think --
Where is it?
-- use Read --
{"file_path":"/repo/go.mod"}
-- output --
module example
-- +use Grep --
-- error --
no match
-- say --
First.
-- +use Write --
{"file_path":"/repo/x"}
-- say --
The module is
called example.
`

const object = `{"model":"m","allow":["Write"],"tools":{"Write":"written"},"replies":[
	{"think":"Where is it?","use":[{"name":"Read","input":{"file_path":"/repo/go.mod"},"output":"module example"},{"name":"Grep","error":"no match"}]},
	{"say":"First.","use":[{"name":"Write","input":{"file_path":"/repo/x"}}]},
	"The module is\ncalled example."]}`

// The two forms of a script are the same session.
func TestParseScript(t *testing.T) {
	for form, text := range map[string]string{"archive": archive, "object": object} {
		t.Run(form, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				script, err := claudetest.ParseScript([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				cli := claudetest.NewCLI(script)
				r, err := ask(t, &claude.Options{Transport: cli}, "hi")
				if err != nil || r.Text != "The module is\ncalled example." {
					t.Errorf("result %+v, %v", r, err)
				}
				got := ""
				for _, tool := range cli.Recording().Tools() {
					got += tool.Name + "=" + tool.Output + ";"
				}
				if want := "Read=module example;Grep=no match;Write=written;"; got != want {
					t.Errorf("tools %s, want %s", got, want)
				}
			})
		})
	}
}

func TestParseScriptErrors(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", " \n", "it is empty"},
		{"prose", "hello there", "neither JSON nor an archive"},
		{"broken JSON", `{"replies":`, "not JSON"},
		{"misspelt", `{"reply":[]}`, "reply: no such field"},
		{"bad reply", `{"replies":["a",{"said":"x"}]}`, "reply 2: said: no such field"},
		{"bad list", `[7]`, "reply 1: want an object"},
		{"bad mode", `{"mode":"bogus"}`, "mode: \"bogus\" is not a permission mode"},
		{"bad fault", `{"faults":[{"lines":1}]}`, "faults[0].lines: no such field"},
		{"bad signal", `{"faults":[{"signal":"FOO"}]}`, "faults[0].signal: \"FOO\" is not a signal"},
		{"bad chunk", `{"chunk":"x"}`, "chunk: want a whole number"},
		{"bad rules", `{"allow":"x"}`, "allow: want a list of texts"},
		{"two outputs", `[{"use":[{"name":"A","output":"x","error":"y"}]}]`, "use[0].error: output is also given"},
		{"unknown section", "-- say --\nx\n-- shout --\ny", "line 3: shout: no such section"},
		{"output first", "-- output --\nx", "line 1: output: no reply comes before it"},
		{"output of nothing", "-- say --\nx\n-- output --\ny", "line 3: output: no tool call comes before it"},
		{"output of an empty reply", "-- script.json --\n{\"replies\":[{}]}\n-- output --\ny", "line 3: output: no tool call comes before it"},
		{"half a marker", "say --\nx", "neither JSON nor an archive"},
		{"bad input", "-- use Read --\n{x", "line 1: use Read: the input is not JSON"},
		{"no tool", "-- use --\n{}", "line 1: use: no such section"},
		{"bad object inside", "-- say --\nx\n-- script.json --\n{\"a\":1}", "line 3: script: a: no such field"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := claudetest.ParseScript([]byte(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "claudetest: script: ") {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

// No script makes the reader panic, and one that can be read can be played.
func FuzzParseScript(f *testing.F) {
	for _, seed := range []string{archive, object, `["a"]`, "[", "-- use X --\n{}\n-- output --\n", `{"faults":[{"line":1,"exit":0}]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := claudetest.ParseScript([]byte(text))
		if (err == nil) != (script != nil) {
			t.Errorf("script %v, error %v", script, err)
		}
	})
}
