//go:build unix

package natsfleet_test

import (
	"syscall"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/example"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// Two workers and a service. The worker that runs the conversation is killed in the
// middle of a turn: the other one finishes it, with all that was said before. That one is
// told to end by SIGTERM in the middle of a turn: it finishes the turn first.
func TestExample(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	const key = "acme/user-42"
	workers := make(map[string]*process)
	for _, name := range []string{"one", "two"} {
		workers[name] = startProcess(t, roles{Example: &exampleRole{name, c.URL(), t.TempDir()}})
	}
	ask := func(prompt, want string) (done chan struct{}) {
		done = make(chan struct{})
		go func() {
			defer close(done)
			if text, err := example.Ask(t.Context(), c.URL(), key, prompt); err != nil || text != want {
				t.Errorf("%s: %q, %v; want %q", prompt, text, err, want)
			}
		}()
		return done
	}
	first, err := example.Ask(t.Context(), c.URL(), key, "hello")
	if err != nil || first != "one!" && first != "two!" {
		t.Fatalf("%q, %v", first, err)
	}
	who, other := "one", "two"
	if first == "two!" {
		who, other = other, who
	}

	done := ask("hold", other+"!!")
	workers[who].says("asked hold")
	workers[who].signal(syscall.SIGKILL)
	<-done

	done = ask("slow", other+"!!!")
	workers[other].says("asked slow")
	workers[other].signal(syscall.SIGTERM)
	<-done
	<-workers[other].end
	if state := workers[other].cmd.ProcessState; !state.Success() {
		t.Errorf("a worker that was told to end: %v", state)
	}
}
