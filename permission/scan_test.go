package permission

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const usualRequest = `{"subtype":"can_use_tool","tool_name":"Write","display_name":"Write","input":{"file_path":"/repo/w.txt","content":"Hello"},"description":"w.txt","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"},{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls *"}],"behavior":"allow","destination":"session"},{"type":"addDirectories","directories":["/a"],"destination":"session"}],"blocked_path":null,"tool_use_id":"toolu_1","new":[1]}`

func TestScan(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(usualRequest, old) {
			t.Fatalf("%s is not in the request", old)
		}
		return strings.Replace(usualRequest, old, new, 1)
	}
	for name, tt := range map[string]struct {
		in   string
		fast bool
	}{
		"usual":                   {usualRequest, true},
		"nothing":                 {`{}`, true},
		"null lists":              {`{"permission_suggestions":null,"input":null,"mcp_server":null}`, true},
		"empty list":              {`{"permission_suggestions":[]}`, true},
		"input of another kind":   {`{"input":"x"}`, true},
		"server":                  {`{"mcp_server":{"name":"x"}}`, false},
		"old suggestion":          {swap(`{"type":"setMode"`, `"allow all",{"type":"setMode"`), false},
		"suggestion of no type":   {swap(`"type":"setMode",`, ``), false},
		"name of another kind":    {swap(`"tool_name":"Write"`, `"tool_name":7`), false},
		"name twice":              {swap(`"tool_name":"Write"`, `"tool_name":"Write","tool_name":"Bash"`), false},
		"input with a name twice": {swap(`"content":"Hello"`, `"file_path":"/etc"`), false},
		"no JSON":                 {`{"tool_name":`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := new(Request).scan([]byte(tt.in)); got != tt.fast {
				t.Errorf("fast = %v, want %v", got, tt.fast)
			}
			agree(t, []byte(tt.in))
		})
	}
}

// agree fails when the fast way reads a request in another way than the
// general.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	got, want := Request{RequestID: "r"}, Request{RequestID: "r"}
	if !got.scan(raw) {
		return
	}
	if err := want.decode(raw); err != nil {
		t.Fatalf("%q: the general way says %v", raw, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q:\n got %+v\nwant %+v", raw, got, want)
	}
}

// TestScanKnowsEveryField finds a field that only the general decoder fills: it would
// be lost whenever the request is read by hand.
func TestScanKnowsEveryField(t *testing.T) {
	for format, of := range map[string]reflect.Type{
		`{%s}`: reflect.TypeFor[Request](),
		`{"permission_suggestions":[{"type":"addRules",%s}]}`:             reflect.TypeFor[updateFields](),
		`{"permission_suggestions":[{"type":"addRules","rules":[{%s}]}]}`: reflect.TypeFor[Rule](),
	} {
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			for _, value := range []string{`"x"`, `7`, `true`, `null`, `["x"]`, `{"name":"x"}`} {
				agree(t, fmt.Appendf(nil, format, fmt.Sprintf("%q:%s", name, value)))
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(usualRequest))
	f.Add([]byte(`{"input":{"a":"\ud83d\ude00"},"permission_suggestions":[{"type":"x","rules":[null]}]}`))
	f.Fuzz(agree)
}

// TestAllocations pins what a question and its answer cost.
func TestAllocations(t *testing.T) {
	raw := []byte(usualRequest)
	if n := testing.AllocsPerRun(100, func() { new(Request).UnmarshalJSON(raw) }); n > 8 {
		t.Errorf("%v allocations for a request, want 8 at most", n)
	}
	req := new(Request)
	if err := req.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() { Allow().Reply(req) }); n > 1 {
		t.Errorf("%v allocations for an answer, want 1", n)
	}
}
