package claude_test

import (
	"os"
	"testing"
)

// TestMain lets the test binary play a CLI.
func TestMain(m *testing.M) {
	role := os.Getenv("CLAUDE_TEST_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	if role == hostRole {
		playHost()
	}
	playCLI(role)
}
