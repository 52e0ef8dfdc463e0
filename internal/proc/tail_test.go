package proc

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// env holds one secret of each kind that the tests use.
var env = []string{
	"ANTHROPIC_API_KEY=key-0123456789",
	"my_token=token value with blanks",
	"DB_PASSWORD=short", // too short to be a secret
	"GIT_AUTH=key-0123456789-and-more",
	"PEM_SECRET=first line of key\nsecond line of key\n",
	"HOME=/home/user",
	"EMPTY_KEY=",
	"NO_VALUE_KEY",
}

// secretPart reports whether text shows as much of a secret as would be a harm.
func secretPart(text, secret string) string {
	for i := 0; i+6 <= len(secret); i++ {
		if strings.Contains(text, secret[i:i+6]) {
			return secret[i : i+6]
		}
	}
	return ""
}

// The beginning of the tail moves over a text made of secrets, byte by byte. It
// must never stop inside one.
func TestTailNeverStartsInSecret(t *testing.T) {
	known := []string{"0123456789abcdefghij", "KLMNOPQRSTUVWXYZ-and-a-long-one-at-that", "first@line\nsecond@line"}
	r := secrets([]string{"A_KEY=" + known[0], "B_TOKEN=" + known[1]}, known[2:])
	apiKey := "sk-ant-" + strings.Repeat("q7", 40)
	separators := []string{" ", "\n", "."}
	for i, separator := range separators {
		unit := strings.Join(append(known, apiKey), separator) + separator
		for shift := i; shift < len(unit); shift += len(separators) * long.Pick(5, 1) { // together they try every one, on the long level
			tl := newTail(r)
			tl.Write([]byte(strings.Repeat("-", shift) + separator))
			for len(tl.buf) < 2*tl.keep-len(unit) {
				tl.Write([]byte(unit))
			}
			tl.Write([]byte(unit))
			tl.Write([]byte(unit)) // drops the beginning
			if !tl.cut {
				t.Fatal("nothing was dropped")
			}
			got := tl.String()
			if got == "" || len(got) > maxTail {
				t.Fatalf("shift %d: tail of %d bytes", shift, len(got))
			}
			for _, secret := range append(known, apiKey) {
				if part := secretPart(got, secret); part != "" {
					t.Fatalf("shift %d, separator %q: tail shows %q: %.60q", shift, separator, part, got)
				}
			}
		}
	}
}

// An API key that is longer than the tail is hidden although its prefix is gone.
func TestTailInsideEndlessKey(t *testing.T) {
	tl := newTail(secret.FromEnv(nil))
	tl.Write([]byte("sk-ant-"))
	for range 1000 {
		tl.Write([]byte(strings.Repeat("k", 1000)))
	}
	tl.Write([]byte(" end"))
	if got := tl.String(); got != " end" {
		t.Errorf("got %d bytes starting %.20q, want %q", len(got), got, " end")
	}
}

func TestTail(t *testing.T) {
	line := strings.Repeat("é", 49) + "x\n" // 100 bytes
	for _, test := range []struct {
		name  string
		write []string
		want  string
	}{
		{"empty", nil, ""},
		{"short", []string{"one\n", "two"}, "one\ntwo"},
		{"whole lines", []string{strings.Repeat(line, 5000)}, strings.Repeat(line, maxTail/len(line))},
		{"one endless line", []string{strings.Repeat("é", 1<<20), "."}, strings.Repeat("é", maxTail/2-1) + "."},
	} {
		t.Run(test.name, func(t *testing.T) {
			tl := newTail(secret.FromEnv(nil))
			for _, s := range test.write {
				tl.Write([]byte(s))
			}
			if got := tl.String(); got != test.want {
				t.Errorf("got %d bytes (%.20q…), want %d", len(got), got, len(test.want))
			}
		})
	}
}
