//go:build !race

package claude_test

const costSpare = 0
