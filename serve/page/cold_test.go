package page_test

import (
	"fmt"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// A conversation without followers costs the same to open, however long it is: at most 1.5
// times as much. The short one is longer than what a page shows, so both read all of that.
func TestColdLoadDoesNotGrow(t *testing.T) {
	long.Test(t, "compares loads again and again; TestCostDoesNotGrow does so on the quick level")
	var talks []*dialogue
	for i, n := range []int{lengths()[0] + segment, lengths()[1]} {
		talks = append(talks, newRig(t).dialogue(fmt.Sprintf("00000000-0000-4000-8000-30000000000%d", i), n))
	}
	compare(t, "a load without followers", talks, 10, func(d *dialogue) {
		d.see(fmt.Sprintf("Answer <strong>%d</strong>", d.length-1))
	})
}
