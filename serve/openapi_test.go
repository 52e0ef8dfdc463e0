package serve_test

import (
	"flag"
	"os"
	"testing"

	"github.com/claude-agent-go/claude/store"
)

var update = flag.Bool("update", false, "write testdata/openapi.json")

// The API is what the golden file says: a change of it is a change of that file.
func TestOpenAPI(t *testing.T) {
	r := newRig(t, store.Memory(), nil)
	got := (&client{rig: r}).do("GET", "/openapi.json", nil).body
	const file = "testdata/openapi.json"
	if *update {
		if err := os.WriteFile(file, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got)+"\n" {
		t.Errorf("the document differs from %s: look at the difference, and write it with -update", file)
	}
	for path, methods := range openAPI(&client{rig: r}).Paths {
		for method, op := range methods {
			if op.Role != "" && !op.Role.Valid() {
				t.Errorf("%s %s needs %q", method, path, op.Role)
			}
		}
	}
}
