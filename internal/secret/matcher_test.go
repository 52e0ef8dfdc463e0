package secret_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/secret"
)

// Many values are found as one after the other would be: those that overlap,
// begin alike, or lie inside of each other.
func TestManyValues(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	word := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "xyz"[rnd.IntN(3)]
		}
		return string(b)
	}
	for range 500 {
		set := new(secret.Set)
		var values []string
		for range 12 {
			values = append(values, word(2+rnd.IntN(7)))
		}
		set.Add(values...)
		text := word(80)
		if got, want := set.Hide(text), hidden(text, values); got != want {
			t.Fatalf("%q in %s:\ngot  %s\nwant %s", values, text, got, want)
		}
		set.Add("qqqq") // what is added later is found as well
		if got := set.Hide("a qqqq b"); got != "a [redacted] b" {
			t.Fatalf("got %s", got)
		}
	}
}

// hidden is text without values, found in the plainest way.
func hidden(text string, values []string) string {
	covered := make([]bool, len(text)+1)
	for i := range text {
		for _, value := range values {
			if strings.HasPrefix(text[i:], value) {
				for j := i; j < i+len(value); j++ {
					covered[j] = true
				}
			}
		}
	}
	var out strings.Builder
	for i := range text {
		switch {
		case !covered[i]:
			out.WriteByte(text[i])
		case i == 0 || !covered[i-1]:
			out.WriteString(secret.Mask)
		}
	}
	return out.String()
}

// A cut leaves nothing of a secret, wherever it falls, and however the secret is
// recognised.
func TestHead(t *testing.T) {
	s := secret.FromEnv([]string{"A_KEY=canary-0123456789"})
	for _, tt := range []struct{ name, text, secret string }{
		{"value", "it is canary-0123456789 and more", "canary-0123456789"},
		{"API key", "it is sk-ant-abcdefgh and more", "sk-ant-abcdefgh"},
		{"bearer", "Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345 and more", "abcdefghijklmnopqrstuvwxyz012345"},
		{"assignment", `MY_PASSWORD="swordfish and chips" and more`, `"swordfish and chips"`},
		{"member", `{"password":"swordfish!","x":"and more"}`, "swordfish!"},
	} {
		from := strings.Index(tt.text, tt.secret)
		for n := range len(tt.text) + 1 {
			got := s.Head([]byte(tt.text), n)
			for part := 1; part <= len(tt.secret); part++ {
				if from+part <= n && strings.HasPrefix(got, tt.text[:from]+tt.secret[:part]) {
					t.Errorf("%s, %d bytes: %q", tt.name, n, got)
					break
				}
			}
			if n <= from && got != tt.text[:n] {
				t.Errorf("%s, %d bytes: %q", tt.name, n, got)
			}
		}
	}
}

// In JSON the names also mark secrets, even before a cut.
func TestHeadJSON(t *testing.T) {
	s := secret.FromEnv([]string{"A_KEY=canary-0123456789"})
	line := `{"apiKey":"abc","n":["canary-0123456789"],"secret":12345,"password":"fish","end":"` + strings.Repeat("y", 100) + `"}`
	for n := range len(line) + 1 {
		got := s.HeadJSON([]byte(line), n)
		for _, secret := range []string{"abc", "canary", "123", "fis"} {
			if strings.Contains(got, secret) {
				t.Errorf("%d bytes: %s", n, got)
			}
		}
		if n < len(line) && len(got) > n+len(secret.Mask) {
			t.Errorf("%d bytes became %d", n, len(got))
		}
	}
	if got := s.HeadJSON([]byte(`{"secret":1}`), 12); got != `{"secret":"[redacted]"}` {
		t.Errorf("got %s", got)
	}
}

// A set of ten times as many secrets takes ten times as long, not a hundred.
func BenchmarkManyValues(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		s := new(secret.Set)
		for i := range n {
			s.Add(fmt.Sprintf("secret-%06d", i))
		}
		line := []byte(`{"text":"` + strings.Repeat("nothing of it is secret- at all ", 30) + `"}`)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				s.JSON(line)
			}
		})
	}
}
