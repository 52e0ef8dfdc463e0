package terminal

import (
	"bytes"
	"os"
	"testing"
)

// Nothing but a terminal counts as one.
func TestIs(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, stream := range map[string]any{"pipe": w, "null device": null, "buffer": new(bytes.Buffer), "nothing": nil} {
		if columns, ok := Width(stream); ok || columns != 0 {
			t.Errorf("%s: %d columns, %v, want no terminal", name, columns, ok)
		}
		if SupportsEscapes(stream) {
			t.Errorf("%s: obeys sequences, want no terminal", name)
		}
		DropInput(stream) // does nothing, and in particular does not fail
	}
}
