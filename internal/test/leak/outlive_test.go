package leak

import (
	"crypto/rand"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/need"
)

// A process that stays is named when the bound is over, and one that ends is gone.
func TestOutlive(t *testing.T) {
	need.Processes.Test(t)
	mark := Mark() + "." + rand.Text()
	child := exec.Command(os.Args[0], "-test.run=^TestChild$")
	child.Env = append(os.Environ(), "LEAK_CHILD=1", mark)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	const bound = 50 * time.Millisecond
	o := Outlive(mark)
	if took, err := o.Within(bound); err == nil || took < bound || !strings.Contains(err.Error(), "TestChild") {
		t.Errorf("%v, %v, want the process after %v", took, err, bound)
	}
	in.Close()
	if took, err := Outlive(mark).Within(time.Minute); err != nil {
		t.Errorf("%v, %v, want nothing left", took, err)
	}
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// Only what a thread waits for a processor during the measurement is left out of it, and
// a thread that is gone has waited too.
func TestWaits(t *testing.T) {
	w := waits{"a": {from: 5, to: 5}, "b": {from: 7, to: 7}}
	w.note(map[string]time.Duration{"a": 6, "b": 7, "c": 20})
	w.note(map[string]time.Duration{"a": 9})
	if got := w.sum(); got != 24 {
		t.Errorf("waited %d, want 4 of a, none of b and 20 of c", got)
	}
}
