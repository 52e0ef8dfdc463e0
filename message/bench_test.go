package message_test

import (
	"testing"

	"github.com/claude-agent-go/claude/message"
)

func BenchmarkDecode(b *testing.B) {
	seen := map[string]string{}
	for _, line := range recorded(b) {
		m := mustDecode(b, line)
		name := m.Head().Type
		if e, ok := m.(*message.StreamEvent); ok && e.Text() == "" {
			continue
		}
		if len(line) > len(seen[name]) {
			seen[name] = line
		}
	}
	for name, typ := range map[string]string{"delta": "stream_event", "assistant": "assistant", "result": "result"} {
		raw := []byte(seen[typ])
		h := mustDecode(b, seen[typ]).Head()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := message.Decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"As", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				if _, err := message.DecodeAs(h.Type, h.Subtype, raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
