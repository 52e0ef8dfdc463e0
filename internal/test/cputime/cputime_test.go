//go:build unix || windows

package cputime_test

import (
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/cputime"
)

// Work counts. Waiting does not, which no test can see on a machine that is busy.
func TestUsed(t *testing.T) {
	const work = 20 * time.Millisecond
	before := cputime.Used()
	for begin := time.Now(); cputime.Used()-before < work; {
		if time.Since(begin) > time.Minute {
			t.Fatalf("a minute of work is %v", cputime.Used()-before)
		}
	}
}
