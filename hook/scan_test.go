package hook

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

const usualInput = `{"session_id":"s","transcript_path":"/t.jsonl","cwd":"/repo","prompt_id":"p","permission_mode":"default","effort":{"level":"medium","new":1},"hook_event_name":"PreToolUse","tool_name":"Write","tool_input":{"file_path":"/w","content":"x\n"},"tool_use_id":"toolu_1","tool_response":{"ok":true},"duration_ms":1.5,"new":[]}`

func TestScan(t *testing.T) {
	swap := func(old, new string) string {
		if !strings.Contains(usualInput, old) {
			t.Fatalf("%s is not in the input", old)
		}
		return strings.Replace(usualInput, old, new, 1)
	}
	for name, tt := range map[string]struct {
		in   string
		fast bool
	}{
		"usual":           {usualInput, true},
		"empty":           {`{}`, true},
		"nulls":           {`{"effort":null,"tool_input":null,"mcp_server":null,"cwd":null,"tool_response":null,"duration_ms":null}`, true},
		"server":          {swap(`"cwd"`, `"mcp_server":{"name":"x"},"cwd"`), false},
		"name twice":      {swap(`"cwd":"/repo"`, `"cwd":"/repo","cwd":"/"`), false},
		"of another kind": {swap(`"cwd":"/repo"`, `"cwd":7`), false},
		"effort a word":   {swap(`{"level":"medium","new":1}`, `"medium"`), false},
		"no JSON":         {`{"cwd":`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := new(PreToolUseInput).scan([]byte(tt.in)); got != tt.fast {
				t.Errorf("fast = %v, want %v", got, tt.fast)
			}
			agree(t, []byte(tt.in))
		})
	}
}

// agree fails when the fast way reads an input in another way than the
// general.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	for _, pair := range [][2]any{
		{new(PreToolUseInput), new(PreToolUseInput)},
		{new(PostToolUseInput), new(PostToolUseInput)},
	} {
		got, want := pair[0], pair[1]
		if !got.(scanned).scan(raw) {
			continue
		}
		if err := jsonx.Unmarshal(raw, want); err != nil {
			t.Fatalf("%q: the general way says %v", raw, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", raw, got, want)
		}
	}
}

// TestScanKnowsEveryField holds the two ways together where one of them was
// forgotten: a field that only the general way fills would be lost.
func TestScanKnowsEveryField(t *testing.T) {
	for format, of := range map[string]reflect.Type{
		`{%s}`:            reflect.TypeFor[PreToolUseInput](),
		`{"x":1,%s}`:      reflect.TypeFor[PostToolUseInput](),
		`{"effort":{%s}}`: reflect.TypeFor[EffortLevel](),
	} {
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			for _, value := range []string{`"x"`, `7`, `0.5`, `true`, `null`, `["x"]`, `{"name":"x"}`} {
				agree(t, fmt.Appendf(nil, format, fmt.Sprintf("%q:%s", name, value)))
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	f.Add([]byte(usualInput))
	f.Add([]byte(`{"tool_input":"\ud83d","effort":{"level":null}}`))
	f.Fuzz(agree)
}

// TestAllocations pins what a call costs beside the work of the hook.
func TestAllocations(t *testing.T) {
	h := PreToolUse("", func(context.Context, *PreToolUseInput) (*PreToolUseOutput, error) { return nil, nil })
	raw := []byte(usualInput)
	call := func() {
		out, err := h.Func(t.Context(), raw, "toolu_1")
		if err == nil {
			_, err = Encode(out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(100, call); n > 4 {
		t.Errorf("%v allocations for a call, want 4 at most", n)
	}
}
