package message

import (
	"reflect"
	"strings"
	"testing"
)

// slow decodes a stream event in the general way.
func slow(raw []byte) (*StreamEvent, error) {
	m := new(StreamEvent)
	err := m.decode(raw)
	return m, err
}

const usualDelta = `{"type":"stream_event","event":{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":"Hi"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u","api_message_id":"m"}`

func TestFastDelta(t *testing.T) {
	swap := func(old, new string) string { return strings.Replace(usualDelta, old, new, 1) }
	for name, tt := range map[string]struct {
		line string
		fast bool
	}{
		"usual":                 {usualDelta, true},
		"type last":             {`{"event":{"delta":{"text":"Hi","type":"text_delta"},"type":"content_block_delta"},"type":"stream_event"}`, true},
		"escapes in the text":   {swap(`"Hi"`, `"a\n\"\u00e9\ud83d"`), true},
		"blanks":                {swap(`"index":12`, ` "index" : 12 `), true},
		"thinking":              {swap(`"type":"text_delta","text"`, `"type":"thinking_delta","thinking"`), true},
		"tool input":            {swap(`"type":"text_delta","text"`, `"type":"input_json_delta","partial_json"`), true},
		"of a subagent":         {swap(`"parent_tool_use_id":null`, `"parent_tool_use_id":"toolu_1"`), true},
		"escapes in an id":      {swap(`"uuid":"u"`, `"uuid":"\u0075"`), false},
		"repeated member":       {swap(`"uuid":"u"`, `"uuid":"u","uuid":"v"`), false},
		"new member":            {swap(`"uuid":"u"`, `"uuid":"u","new":[1,{}]`), false},
		"new member of delta":   {swap(`"text":"Hi"`, `"text":"Hi","x":1`), false},
		"index of another kind": {swap(`12`, `"12"`), false},
		"index with a sign":     {swap(`12`, `-1`), false},
		"octal index":           {swap(`12`, `012`), false},
		"text of another kind":  {swap(`"Hi"`, `7`), false},
		"null text":             {swap(`"Hi"`, `null`), false},
		"control character":     {swap(`Hi`, "a\tb"), false},
		"invalid UTF-8":         {swap(`Hi`, "a\xffb"), false},
		"other event":           {swap(`content_block_delta`, `content_block_stop`), false},
		"no event":              {`{"type":"stream_event"}`, false},
		"cut":                   {usualDelta[:40], false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fastDelta([]byte(tt.line)) != nil; got != tt.fast {
				t.Errorf("fast = %v, want %v: %s", got, tt.fast, tt.line)
			}
			agree(t, []byte(tt.line))
		})
	}
}

// agree fails when the fast way reads a line in another way than the general.
func agree(t *testing.T, raw []byte) {
	t.Helper()
	got := fastDelta(raw)
	if got == nil {
		return
	}
	want, err := slow(raw)
	if err != nil {
		t.Fatalf("%q: the general way says %v", raw, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q:\n got %+v %+v\nwant %+v %+v", raw, got, got.Delta, want, want.Delta)
	}
}

func FuzzDelta(f *testing.F) {
	f.Add([]byte(usualDelta))
	f.Add([]byte(strings.Replace(usualDelta, `"Hi"`, `"\u00e9\n"`, 1)))
	f.Fuzz(agree)
}

func TestDeltaAllocations(t *testing.T) {
	raw := []byte(usualDelta)
	if n := testing.AllocsPerRun(100, func() { DecodeAs(typeStream, "", raw) }); n > 2 {
		t.Errorf("%v allocations for a delta, want 2", n)
	}
}
