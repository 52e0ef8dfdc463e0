package fleet

import (
	"fmt"
	"slices"
	"testing"
)

// However many directories conversations name, the last ones are kept in mind and no
// more.
func TestTemporaryBounded(t *testing.T) {
	var all temporary
	for i := range 10 * maxTemps {
		all.add("/shared")
		all.add(fmt.Sprintf("/own/%d", i))
		all.add("")
	}
	if n := len(all.dirs); n != maxTemps {
		t.Errorf("%d directories are kept", n)
	}
	for _, dir := range []string{"/shared", fmt.Sprintf("/own/%d", 10*maxTemps-1)} {
		if !slices.Contains(all.dirs, dir) {
			t.Errorf("%s is forgotten", dir)
		}
	}
}
