package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The seeds in the module are those that the recordings give.
func TestSeedsAreFresh(t *testing.T) {
	const root = "../../.."
	want, err := seeds(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 50 {
		t.Errorf("%d seeds", len(want))
	}
	size := 0
	for path, text := range want {
		size += len(text)
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != text {
			t.Errorf("%s is old or missing (%v): go run ./internal/test/corpus", path, err)
		}
	}
	if size > 1<<19 {
		t.Errorf("%d bytes of seeds", size)
	}
	for _, pkg := range []string{"", "*", "*/*"} {
		found, _ := filepath.Glob(filepath.Join(root, pkg, "testdata", "fuzz", "*", prefix+"*"))
		for _, path := range found {
			name, _ := filepath.Rel(root, path)
			if _, ok := want[filepath.ToSlash(name)]; !ok {
				t.Errorf("%s comes from no recording", name)
			}
		}
	}
}
