package page_test

import (
	"fmt"
	"testing"
)

// coldLoads sees that a conversation without followers costs the same to open, however long
// it is: at most 1.5 times as much. The short one is longer than what a page shows, so both
// read all of that.
func coldLoads(t *testing.T, whole *dialogue) {
	t.Helper()
	short := newRig(t).dialogue("00000000-0000-4000-8000-300000000000", lengths()[0]+segment)
	compare(t, "a load without followers", []*dialogue{short, whole}, 10, func(d *dialogue) {
		d.see(fmt.Sprintf("Answer <strong>%d</strong>", d.length-1))
	})
}
