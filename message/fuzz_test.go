package message_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

func FuzzDecode(f *testing.F) {
	for _, line := range allLines(f) {
		f.Add([]byte(line))
	}
	f.Add([]byte(`{"type":"assistant","message":{"content":[{"type":"text","text":7},null]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := bytes.Clone(raw)
		m, err := message.Decode(raw)
		if !bytes.Equal(raw, before) {
			t.Fatalf("Decode changed its input to %q", raw)
		}
		if m == nil {
			if err == nil || jsonx.Mismatch(err) {
				t.Fatalf("no message, error %v", err)
			}
			return
		}
		if err != nil && !jsonx.Mismatch(err) {
			t.Fatalf("a message with the error %v", err)
		}
		if !bytes.Equal(m.Head().Raw, raw) {
			t.Fatalf("Raw = %q", m.Head().Raw)
		}
		m.Head().Raw = nil
		if out, err := json.Marshal(m); err == nil && !jsonx.Valid(out) {
			t.Fatalf("encoded as %q", out)
		}
	})
}
