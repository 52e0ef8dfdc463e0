package store

import (
	"strings"
	"testing"
)

// Every name has a file name of its own, even where case does not count, and the
// way back leads to it.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{"a", "A", "con", "CON", "nul.x", "a.b", "x@y+z=1:2,3~4", strings.Repeat("Z", maxName)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if checkName("name", name) != nil {
			if got, ok := fromFileName(name); ok && checkName("name", got) != nil {
				t.Errorf("%q is a file name of %q", name, got)
			}
			return
		}
		file := fileName(name)
		if back, ok := fromFileName(file); !ok || back != name {
			t.Errorf("%q became %q, and that %q", name, file, back)
		}
		if strings.ToLower(file) != file || strings.ContainsAny(file, `/\:*?"<>|. `) || len(file) > 250 || device(file) {
			t.Errorf("%q became %q", name, file)
		}
	})
}

func TestDeviceNames(t *testing.T) {
	for name, want := range map[string]string{"con": "^^con", "Com1.txt": "^^^com1^0txt", "com10": "com10", "a.B": "a^0^b"} {
		if got := fileName(name); got != want {
			t.Errorf("%s became %s, want %s", name, got, want)
		}
	}
}
