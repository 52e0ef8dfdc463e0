//go:build !race

package claudetest_test

import "github.com/claude-agent-go/claude/internal/test/long"

// stride thins out the tests byte by byte on the quick level.
func stride() int { return long.Pick(40, 1) }
