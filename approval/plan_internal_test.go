package approval

import (
	"os"
	"path/filepath"
	"testing"
)

// A plan is written again where it was lost. One that is there is newer, and stays.
func TestRestorePlan(t *testing.T) {
	config := t.TempDir()
	transcript := filepath.Join(config, "projects", "-work", "session.jsonl")
	at := filepath.Join(config, "plans", "plan.md")
	for _, c := range []struct{ plan, want string }{{"first", "first"}, {"second", "first"}} {
		if err := restorePlan(transcript, "plan.md", c.plan); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != c.want {
			t.Errorf("the plan is %q, %v, want %q", got, err, c.want)
		}
	}
	if err := restorePlan(transcript, "../projects/plan.md", "elsewhere"); err == nil {
		t.Error("a plan was written outside of its folder")
	}
}
