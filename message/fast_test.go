package message

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Lines of the frequent types, as the CLI writes them.
const (
	usualDelta = `{"type":"stream_event","event":{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":"Hi"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}`

	usualAssistant = `{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"a\n\"b\""},{"type":"tool_use","id":"toolu_1","name":"Edit","input":{"path":"/w","n":[1,{}]}}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":7,"output_tokens":5,"service_tier":"standard","cache_creation":{"ephemeral_5m_input_tokens":1,"ephemeral_1h_input_tokens":2},"iterations":[]},"context_management":null},"parent_tool_use_id":null,"session_id":"s","uuid":"u","timestamp":"2026-11-15T00:01:06.872Z","request_id":"r","user_message_uuid":"p","user_message_uuids":["p"]}`

	usualUser = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"one\ntwo","is_error":false}]},"parent_tool_use_id":null,"session_id":"s","uuid":"u","timestamp":"2026-11-15T00:01:06.939Z","tool_use_result":{"stdout":"one\ntwo","interrupted":false},"tool_result_meta":[{"id":"toolu_1","permission_decision":{"decision":"accept","source":"config","reason_type":"mode"}}]}`
)

func TestFast(t *testing.T) {
	swap := func(line, old, new string) string {
		if !strings.Contains(line, old) {
			t.Fatalf("%s is not in %s", old, line)
		}
		return strings.Replace(line, old, new, 1)
	}
	for name, tt := range map[string]struct {
		line string
		fast bool
	}{
		"delta":                  {usualDelta, true},
		"delta, type last":       {`{"event":{"delta":{"text":"Hi","type":"text_delta"},"type":"content_block_delta"},"type":"stream_event"}`, true},
		"delta, escapes":         {swap(usualDelta, `"Hi"`, `"a\n\"\u00e9\ud83d\ude00"`), true},
		"delta, blanks":          {swap(usualDelta, `"index":12`, ` "index" : 12 `), true},
		"delta, thinking":        {swap(usualDelta, `"type":"text_delta","text"`, `"type":"thinking_delta","thinking"`), true},
		"delta, tool input":      {swap(usualDelta, `"type":"text_delta","text"`, `"type":"input_json_delta","partial_json"`), true},
		"delta, signature":       {swap(usualDelta, `"type":"text_delta","text"`, `"type":"signature_delta","signature"`), true},
		"delta of a subagent":    {swap(usualDelta, `"parent_tool_use_id":null`, `"parent_tool_use_id":"toolu_1"`), true},
		"delta, negative index":  {swap(usualDelta, `12`, `-1`), true},
		"delta, null text":       {swap(usualDelta, `"Hi"`, `null`), true},
		"delta, null delta":      {swap(usualDelta, `{"type":"text_delta","text":"Hi"}`, `null`), false},
		"delta, lone surrogate":  {swap(usualDelta, `"Hi"`, `"\ud83d"`), false},
		"delta, repeated member": {swap(usualDelta, `"uuid":"u"`, `"uuid":"u","uuid":"v"`), false},
		"delta, new member":      {swap(usualDelta, `"uuid":"u"`, `"uuid":"u","new":[1,{}]`), false},
		"delta, new in delta":    {swap(usualDelta, `"text":"Hi"`, `"text":"Hi","x":1`), false},
		"delta, other index":     {swap(usualDelta, `12`, `"12"`), false},
		"delta, octal index":     {swap(usualDelta, `12`, `012`), false},
		"delta, other text":      {swap(usualDelta, `"Hi"`, `7`), false},
		"delta, control":         {swap(usualDelta, `Hi`, "a\tb"), false},
		"delta, invalid UTF-8":   {swap(usualDelta, `Hi`, "a\xffb"), false},
		"other event":            {swap(usualDelta, `content_block_delta`, `content_block_stop`), false},
		"no event":               {`{"type":"stream_event"}`, false},
		"delta, cut":             {usualDelta[:40], false},

		"assistant":                {usualAssistant, true},
		"assistant, thinking":      {swap(usualAssistant, `"type":"text","text"`, `"type":"thinking","signature":"s","thinking"`), true},
		"assistant, string":        {`{"type":"assistant","message":{"content":"hi"}}`, true},
		"assistant, empty string":  {`{"type":"assistant","message":{"content":""}}`, true},
		"assistant, no content":    {`{"type":"assistant","message":{"content":null}}`, true},
		"assistant, empty list":    {`{"type":"assistant","message":{"content":[]}}`, true},
		"assistant, null message":  {`{"type":"assistant","message":null}`, true},
		"assistant, no message":    {`{"type":"assistant","error":"rate_limit","api_error_status":429}`, true},
		"assistant, null members":  {`{"type":"assistant","message":{"id":null,"usage":null,"model":null},"timestamp":null,"user_message_uuids":null,"context_usage":null,"aborted":null}`, true},
		"assistant, odd time":      {swap(usualAssistant, `2026-11-15`, `2026-11-35`), true},
		"assistant, single prompt": {swap(usualAssistant, `,"user_message_uuids":["p"]`, ``), true},
		"assistant, citations":     {swap(usualAssistant, `"type":"text"`, `"type":"text","citations":null`), true},
		"assistant, image":         {swap(usualAssistant, `"type":"text"`, `"type":"image","source":{"type":"url","url":"x","new":1}`), true},
		"assistant, API error":     {swap(usualAssistant, `"request_id"`, `"is_api_error_message":true,"api_error":"e","refused_message_id":"m","thinking_display":"updates","thinking_duration_ms":1,"local_command_source":"l","tool_use_meta":null,"request_id"`), true},
		"assistant, of the API":    {swap(usualAssistant, `"context_management":null`, `"context_management":{"a":1},"container":{"id":"c"},"stop_details":null,"diagnostics":[1]`), true},
		"assistant, iterations":    {swap(usualAssistant, `"iterations":[]`, `"iterations":[{"a":1}],"fallback_credit":{"b":1}`), true},
		"assistant, server tool":   {swap(usualAssistant, `"type":"tool_use"`, `"type":"server_tool_use"`), true},
		"assistant, names":         {swap(usualAssistant, `"request_id"`, `"tool_use_meta":[{"id":"a"}],"request_id"`), false},
		"assistant, command":       {swap(usualAssistant, `"request_id"`, `"local_command_run":{"command":"a"},"request_id"`), false},
		"assistant, old delta":     {`{"type":"assistant","delta":{"type":"text_delta","text":"x"}}`, false},
		"assistant, new block":     {swap(usualAssistant, `"type":"text"`, `"type":"hologram"`), false},
		"assistant, null block":    {swap(usualAssistant, `[{"type":"text"`, `[null,{"type":"text"`), false},
		"assistant, odd text":      {swap(usualAssistant, `"text":"a\n\"b\""`, `"text":7`), false},
		"assistant, odd input":     {swap(usualAssistant, `"n":[1,{}]`, `"n":[1,{},]`), false},
		"assistant, same input":    {swap(usualAssistant, `"n":[1,{}]`, `"path":1`), false},
		"assistant, fraction":      {swap(usualAssistant, `"input_tokens":10`, `"input_tokens":1.5`), false},
		"assistant, odd prompts":   {swap(usualAssistant, `["p"]`, `"p"`), false},

		"user":                   {usualUser, true},
		"user, four levels":      {nested(maxNesting), true},
		"user, five levels":      {nested(maxNesting + 1), false},
		"user, list in result":   {swap(usualUser, `"one\ntwo"`, `[{"type":"text","text":"one"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]`), true},
		"user, content beside":   {`{"type":"user","content":"hi","shouldQuery":false,"priority":"now"}`, true},
		"user, both":             {`{"type":"user","content":"a","message":{"content":"b"}}`, true},
		"user, both, turned":     {`{"type":"user","message":{"role":"user"},"content":"a"}`, true},
		"user, null message":     {`{"type":"user","content":"a","message":null}`, true},
		"user, origin":           {`{"type":"user","origin":{"kind":"human","x":1},"isReplay":true}`, true},
		"user, null origin":      {`{"type":"user","origin":null,"shouldQuery":null,"tool_use_result":null}`, true},
		"user, odd origin":       {`{"type":"user","origin":{"kind":1}}`, false},
		"user, origin of a word": {`{"type":"user","origin":"human"}`, false},
		"user, several metas":    {swap(usualUser, `"tool_result_meta":[`, `"tool_result_meta":[null,{"id":"a","non_execution_kind":"cancelled","user_feedback":"f","permission_decision":null,"new":1},`), true},
		"user, no metas":         {`{"type":"user","tool_result_meta":[],"refused_message_id":"m"}`, true},
		"user, null metas":       {`{"type":"user","tool_result_meta":null}`, true},
		"user, odd metas":        {`{"type":"user","tool_result_meta":{"id":"a"}}`, false},
		"user, odd decision":     {`{"type":"user","tool_result_meta":[{"permission_decision":"accept"}]}`, false},
		"user, strings":          {`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":""},{"type":"tool_result","tool_use_id":"t"}]}}`, true},
		"user, string":           {`{"type":"user","message":{"role":"user","content":""}}`, true},
		"user, server result":    {`{"type":"user","message":{"role":"user","content":[{"type":"web_search_tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"}]}]}}`, false},
		"user, broken result":    {swap(usualUser, `"interrupted":false`, `"interrupted":no`), false},
		"user, odd escape":       {swap(usualUser, `"stdout":"one\ntwo"`, `"stdout":"\x"`), false},
	} {
		t.Run(name, func(t *testing.T) {
			raw := []byte(tt.line)
			typ := jsonx.Text(jsonx.Member(raw, "type"))
			if got := fastDecode(typ, raw) != nil; got != tt.fast {
				t.Errorf("fast = %v, want %v: %s", got, tt.fast, tt.line)
			}
			agree(t, raw)
			agree(t, append(raw, strings.Repeat(" ", 5<<10)...)) // without a copy of the line
		})
	}
}

// nested is a user message with lists of results inside of each other, the
// innermost of them empty.
func nested(levels int) string {
	list := `[]`
	for range levels - 1 {
		list = `[{"type":"tool_result","tool_use_id":"t","content":` + list + `}]`
	}
	return `{"type":"user","message":{"role":"user","content":` + list + `}}`
}

// agree fails when the fast decoder reads a line differently from the general
// one.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	for _, typ := range []string{typeStream, typeAssistant, typeUser} {
		got := fastDecode(typ, raw)
		if got == nil {
			continue
		}
		want := newMessage(typ, "")
		if err := want.decode(raw); err != nil {
			t.Fatalf("%q: the general way says %v", raw, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q as %s:\n got %+v\nwant %+v", raw, typ, got, want)
		}
	}
}

// TestFastKnowsEveryField compares the two decoders, to find a field that only
// the general one fills: it would be lost.
func TestFastKnowsEveryField(t *testing.T) {
	for format, of := range map[string]reflect.Type{
		`{%s}`:             reflect.TypeFor[assistantWire](),
		`{"x":1,%s}`:       reflect.TypeFor[userWire](),
		`{"message":{%s}}`: reflect.TypeFor[assistantBody](),
		`{"message":{"content":[{"type":"text",%s}]}}`:              reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"thinking",%s}]}}`:          reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"redacted_thinking",%s}]}}`: reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"tool_use",%s}]}}`:          reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"tool_result",%s}]}}`:       reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"document",%s}]}}`:          reflect.TypeFor[blockWire](),
		`{"message":{"content":[{"type":"image","source":{%s}}]}}`:  reflect.TypeFor[Source](),
		`{"usage":{%s}}`: reflect.TypeFor[Usage](),
		`{"usage":{"output_tokens_details":{%s}}}`: reflect.TypeFor[OutputTokensDetails](),
		`{"usage":{"cache_creation":{%s}}}`:        reflect.TypeFor[CacheCreation](),
		`{"usage":{"server_tool_use":{%s}}}`:       reflect.TypeFor[ServerToolUse](),
		`{"type":"stream_event","event":{"type":"content_block_delta","index":1,"delta":{"type":"text_delta",%s}}}`: reflect.TypeFor[Delta](),
	} {
		for _, field := range reflect.VisibleFields(of) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			for _, value := range []string{`"x"`, `7`, `0.5`, `true`, `null`, `[]`, `["x"]`, `{}`, `{"kind":"x"}`} {
				agree(t, fmt.Appendf(nil, format, fmt.Sprintf("%q:%s", name, value)))
			}
		}
	}
}

func FuzzFast(f *testing.F) {
	text, err := os.ReadFile("testdata/recorded.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f.Add([]byte(strings.TrimSpace(line)))
	}
	for _, line := range []string{usualDelta, usualAssistant, usualUser} {
		f.Add([]byte(line))
	}
	f.Fuzz(agree)
}

// TestFastRecorded wants recorded lines to take the fast path: a new member in
// them must not force a detour.
func TestFastRecorded(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	fast, all := 0, 0
	for line := range strings.Lines(string(text)) {
		raw := []byte(strings.TrimSpace(line))
		typ := jsonx.Text(jsonx.Member(raw, "type"))
		if typ != typeAssistant && typ != typeUser && !strings.Contains(line, `"content_block_delta"`) {
			continue
		}
		all++
		if fastDecode(typ, raw) != nil {
			fast++
		} else {
			t.Logf("slow: %s", raw)
		}
	}
	if all == 0 || fast < all*9/10 {
		t.Errorf("%d of %d recorded lines take the fast way, want nine of ten", fast, all)
	}
}

// TestAllocations pins the cost of a line. A higher cost is a regression.
func TestAllocations(t *testing.T) {
	for _, tt := range []struct {
		typ, line string
		most      float64
	}{
		{typeStream, usualDelta, 2},        // the text, the message
		{typeAssistant, usualAssistant, 8}, // the text, the message, its blocks, a text with escapes, the prompts
		{typeUser, usualUser, 7},
	} {
		raw := []byte(tt.line)
		if n := testing.AllocsPerRun(100, func() { DecodeAs(tt.typ, "", raw) }); n > tt.most {
			t.Errorf("%v allocations for a line of type %s, want %v at most", n, tt.typ, tt.most)
		}
	}
}
