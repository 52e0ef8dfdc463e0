package proc_test

import (
	"errors"
	"os"
	"testing"

	"github.com/claude-agent-go/claude/internal/proc"
)

// A child is measured together with what it has started, in whatever session.
func TestMeasure(t *testing.T) {
	alone := start(t, self(t, "polite"))
	read(t, alone).line()
	tree := start(t, self(t, "leave", "tidy", "session"))
	grandchild := read(t, tree).pid()
	one, err := proc.Measure(alone.PID())
	if err != nil || one.Processes != 1 || one.Memory < 100<<10 || one.Memory > 1<<30 {
		t.Errorf("one process: %+v, %v", one, err)
	}
	below, err := proc.Measure(grandchild)
	if err != nil || below.Processes != 1 {
		t.Errorf("a grandchild: %+v, %v", below, err)
	}
	two, err := proc.Measure(tree.PID())
	if err != nil || two.Processes != 2 || two.Memory <= below.Memory {
		t.Errorf("two processes: %+v, %v; the second alone: %+v", two, err, below)
	}
	if u, err := proc.Measure(1 << 30); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("no process: %+v, %v", u, err)
	}
}
