//go:build race

package claude_test

// costSpare is the additional cost that a frame may have: under the race
// detector, pools of the standard library drop part of their contents.
const costSpare = 16
