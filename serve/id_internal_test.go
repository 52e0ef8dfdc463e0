package serve

import (
	"strings"
	"testing"
)

// The ids of conversations in addresses can be read back, whatever their keys are.
func TestIDs(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"a", "a/b", "a~b", "a~/b", "a/b~", "a~~/b~~c", "ada@x.org/7f"} {
		id := idOf(key)
		if strings.Contains(id, "/") || keyOf(id) != key {
			t.Errorf("%s becomes %s becomes %s", key, id, keyOf(id))
		}
	}
	if key := keyOf("a/b"); key != "" {
		t.Errorf("an id with a slash is the key %s", key)
	}
}
