//go:build race

package claude_test

// costSpare is what a frame may cost besides: under the race detector pools of
// the standard library drop a part of what is put into them.
const costSpare = 16
