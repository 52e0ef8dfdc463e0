package message_test

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

func TestMissing(t *testing.T) {
	for line, want := range map[string]string{
		`{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}`: "",
		`{"type":"assistant","message":{"content":[]}}`:                           "",
		`{"type":"assistant","message":{"content":""}}`:                           "",
		`{"type":"assistant","delta":{"type":"content_block_delta"}}`:             "",
		`{"type":"assistant"}`:                                               "message",
		`{"type":"assistant","message":null}`:                                "message",
		`{"type":"assistant","message":{"role":"assistant"}}`:                "message.content",
		`{"message":{"role":"assistant","content":null},"type":"assistant"}`: "message.content",
		`{"type":"user","message":{"role":"user","content":"x"}}`:            "",
		`{"type":"user"}`: "message",
		`{"type":"user","message":{"role":"user"}}`:               "message.content",
		`{"type":"result","subtype":"success","is_error":false}`:  "",
		`{"type":"result","is_error":false,"result":"x"}`:         "subtype",
		`{"type":"system","subtype":"new"}`:                       "",
		`{"type":"system"}`:                                       "subtype",
		`{"type":"stream_event","event":{"type":"message_stop"}}`: "",
		`{"type":"stream_event","event":{"type":"new"}}`:          "",
		`{"type":"stream_event"}`:                                 "event",
		`{"type":"stream_event","event":{"index":0}}`:             "event.type",
		`{"type":"new","subtype":"kind"}`:                         "",
		`{"subtype":"kind"}`:                                      "type",
		`{"type":"rate_limit_event"}`:                             "",
	} {
		m, err := message.Decode([]byte(line))
		if m == nil {
			t.Fatalf("%s: %v", line, err)
		}
		if got := message.Missing(m); got != want {
			t.Errorf("%s: %q is missing, want %q", line, got, want)
		}
	}
}

// No recorded message of the CLI lacks anything.
func TestNothingRecordedIsMissing(t *testing.T) {
	for _, line := range recorded(t) {
		if m, _ := message.Decode([]byte(line)); m != nil && message.Missing(m) != "" {
			t.Errorf("%s is missing in %.200s", message.Missing(m), line)
		}
	}
}
