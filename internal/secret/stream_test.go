package secret

import (
	"strings"
	"testing"
)

func TestStream(t *testing.T) {
	s := FromEnv([]string{
		"ANTHROPIC_API_KEY=key-0123456789",
		"GIT_AUTH=key-0123456789-and-more",
		"LAST_KEY=several keys", // its end is the beginning of the others
	})
	for _, test := range []struct{ name, in, want string }{
		{"nothing", "all is well in /home/user", "all is well in /home/user"},
		{"key", "got key-0123456789!", "got [redacted]!"},
		{"longer one", "a key-0123456789-and-more b", "a [redacted] b"},
		{"API key", "a sk-ant-api03-AbC_d-9 b", "a [redacted] b"},
		{"beginning only", "sent key-012345", "sent key-012345"},
		{"API key at the end", "sent sk-ant-abc", "sent [redacted]"},
		{"end of one, beginning of another", "a several keys b", "a [redacted] b"},
		{"other alphabets", "日本 key-0123456789 é", "日本 [redacted] é"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := range len(test.in) + 1 {
				stream := NewStream(s)
				got := stream.Next(test.in[:i])
				if !strings.HasPrefix(test.want, got) {
					t.Errorf("cut at %d: shows %q first, want the beginning of %q", i, got, test.want)
				}
				got += stream.Next(test.in[i:]) + stream.Rest()
				if got != test.want {
					t.Errorf("cut at %d: got %q, want %q", i, got, test.want)
				}
			}
		})
	}
}
