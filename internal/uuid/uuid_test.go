package uuid_test

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/uuid"
)

func TestNew(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := uuid.New()
		if !uuid.Valid(id) || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) {
			t.Fatalf("New = %s", id)
		}
		if seen[id] {
			t.Fatalf("%s came twice", id)
		}
		seen[id] = true
	}
}

func TestValid(t *testing.T) {
	for id, want := range map[string]bool{
		"00000000-0000-4000-8000-0123456789ab":  true,
		"ABCDEF00-0000-4000-8000-0123456789AB":  true,
		"":                                      false,
		"00000000-0000-4000-8000-0123456789a":   false,
		"00000000-0000-4000-8000-0123456789abc": false,
		"00000000-0000-4000-8000-0123456789ag":  false,
		"00000000+0000-4000-8000-0123456789ab":  false,
		"00000000-0000-4000-8000-0123456789a\n": false,
		"../00000-0000-4000-8000-0123456789ab":  false,
		"000000000-000-4000-8000-0123456789ab":  false,
	} {
		if uuid.Valid(id) != want {
			t.Errorf("Valid(%q) = %v", id, !want)
		}
	}
}
