//go:build !race

package claudetest_test

import "github.com/claude-agent-go/claude/internal/test/long"

// stride thins out what is tested byte by byte on the quick level.
func stride() int { return long.Pick(16, 1) }
