package jsonx_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

func TestUnambiguous(t *testing.T) {
	many := strings.Builder{}
	for i := range 100 {
		many.WriteString(`"name` + string(rune('a'+i%26)) + strings.Repeat("x", i/26) + `":1,`)
	}
	for in, want := range map[string]string{ // the text of the error; empty: none
		`{}`:                               "",
		`null`:                             "",
		`[1,"a",{"a":1},{"A":1}]`:          "",
		`{"a":{"A":{"a":1}},"b":"a"}`:      "",
		`{"a":"\ud83d","b":"a","c":0}`:     "",
		`{"é":1,"a":1}`:                    "",
		`{"p1":"a","P2":"a"}`:              "",
		`{"a@":1,"a` + "`" + `":1}`:        "",
		`{` + many.String() + `"z":1}`:     "",
		`{"path":1,"PATH":2}`:              `"path" and "PATH" differ only in case`,
		`{"path":1,"x":2,"path":3}`:        `"path" occurs twice`,
		`{"path":1,"\u0070ath":2}`:         `"path" occurs twice`,
		`{"path":1,"\u0050ath":2}`:         `"path" and "Path" differ`,
		`{"É":1,"é":2}`:                    "differ only in case",
		`{"straße":1,"STRAẞE":2}`:          "differ only in case",
		"{\"ſet\":1,\"set\":2}":            "differ only in case",
		"{\"\u212aey\":1,\"key\":2}":       "differ only in case",
		`[[{"a":{"b":1,"B":2}}]]`:          "differ only in case",
		`{"env":{"PATH":1,"path":2}}`:      "differ only in case",
		`{"x":"\ud83d","a":1,"A":2}`:       "differ only in case",
		`{` + many.String() + `"NAMEA":1}`: "differ only in case",
		`{"a":1`:                           "EOF",
		`{"a":1} 2`:                        "text after",
		``:                                 "EOF",
	} {
		err := jsonx.Unambiguous([]byte(in))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", in, err, want)
		}
	}
	usual := []byte(`{"command":"ls","description":"list","env":{"PATH":"/bin","HOME":"/"},"list":[{"a":1},{"a":2}]}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := jsonx.Unambiguous(usual); err != nil {
			t.Error(err)
		}
	}); n > 0 {
		t.Errorf("a usual value costs %v allocations", n)
	}
}

type inner struct {
	File string `json:"file"`
}

type target struct {
	inner
	Path   string            `json:"path"`
	Plain  int               // no tag: its name is as it is written
	Number json.Number       `json:"number"`
	Any    any               `json:"any"`
	Raw    json.RawMessage   `json:"raw"`
	Map    map[string]string `json:"map"`
	List   []inner           `json:"list"`
	Ptr    *inner            `json:"ptr"`
}

func TestUnmarshalExact(t *testing.T) {
	// An accepted value decodes as with encoding/json.
	for _, in := range []string{
		`{}`, `null`, `{"path":"a","Plain":7,"file":"f"}`, `{"number":1.50}`, `{"number":"12"}`, `{"number":null}`,
		`{"any":{"b":[1,"x",null]},"raw":{"B":1, "b2":2}}`, `{"map":{"PATH":"x","Home":"y"}}`, `{"list":[{"file":"a"},{}],"ptr":{"file":"b"}}`,
		`{"path":"a","unknown":{"deep":1}}`, `{"path":"\ud83d","other":1}`,
	} {
		var got, want target
		if err := jsonx.UnmarshalExact([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if err := json.Unmarshal([]byte(in), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\n got %+v\nwant %+v, %v", in, got, want, err)
		}
	}
	for in, want := range map[string]string{
		`{"PATH":"a"}`:                     `"PATH"`,
		`{"path":"a","PATH":"b"}`:          "differ only in case",
		`{"path":"a","path":"b"}`:          "occurs twice",
		`{"plain":7}`:                      `"plain"`,
		`{"plain":"no number"}`:            `"plain"`,
		`{"x":1,"FILE":"f"}`:               `"FILE"`,
		`{"path":"a","list":[{"File":1}]}`: `"list"`,
		`{"ptr":{"fILE":"a"},"path":"b"}`:  `"ptr"`,
		`{"map":{"PATH":"x","path":"y"}}`:  "differ only in case",
		`{"path":7}`:                       "cannot unmarshal",
		`{"path":7,"more":1}`:              "cannot unmarshal",
		`{"number":"x"}`:                   "number",
		`{"path":"a"`:                      "EOF",
		`[1]`:                              "cannot unmarshal",
	} {
		var v target
		if err := jsonx.UnmarshalExact([]byte(in), &v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v (%+v), want an error with %s", in, err, v, want)
		}
	}
	kept := target{Path: "before", Map: map[string]string{"a": "b"}}
	if err := jsonx.UnmarshalExact([]byte(`{"Plain":1,"map":{"c":"d"}}`), &kept); err != nil || kept.Path != "before" || len(kept.Map) != 2 {
		t.Errorf("what is there already becomes %+v, %v", kept, err)
	}
	if err := jsonx.UnmarshalExact([]byte(`{}`), target{}); err == nil {
		t.Error("decoded into a value that is not a pointer")
	}
	var anything map[string]any
	if err := jsonx.UnmarshalExact([]byte(`{"PATH":"a","b":1}`), &anything); err != nil || len(anything) != 2 {
		t.Errorf("a map: %v, %v", anything, err)
	}
}
