package fleet

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// A reply that has neither live text nor an error, as no process of this version sends,
// is as good as none.
func TestReplyWithoutLiveText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := staged(t, record{})
		f.opts.Bus = &heardBus{f: f, state: func() (string, bool) { return "null", true }}
		if state, err := f.peers.live(t.Context(), "ada"); state != nil || !errors.Is(err, ErrElsewhere) {
			t.Errorf("%v, %v", state, err)
		}
	})
}

// A request for live text is sent again until a reply comes. An instruction is sent once,
// because a process that gets it twice carries it out twice.
func TestInstructionIsSentOnce(t *testing.T) {
	for name, c := range map[string]struct {
		do          *instruction
		least, most int
	}{
		"live text":   {nil, 2, 100},
		"instruction": {&instruction{Delete: true}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				bus := new(counting)
				p := newPeers(t.Context(), &Options{Bus: bus, Project: "p"}, new(sync.WaitGroup), nil, nil)
				if _, err := p.ask(t.Context(), request{Key: "ada", Do: c.do}); !errors.Is(err, ErrElsewhere) {
					t.Error(err)
				}
				if bus.published < c.least || bus.published > c.most {
					t.Errorf("it was sent %d times", bus.published)
				}
			})
		})
	}
}

// counting is a Bus that carries nothing, and counts what it was given.
type counting struct{ published int }

func (c *counting) Publish(string, []byte) { c.published++ }

func (c *counting) Subscribe(context.Context, string, func([]byte)) (func(), error) {
	return func() {}, nil
}

// A process that is closing does not reply: it gives its leases back, and who asked carries
// out the instruction itself. Any other error is the reply.
func TestClosingProcessDoesNotReply(t *testing.T) {
	for reason, replies := range map[error]int{nil: 1, ErrClosed: 0, ErrBudget: 1} {
		var running sync.WaitGroup
		bus := new(counting)
		p := newPeers(t.Context(), &Options{Bus: bus, Project: "p"}, &running, nil, nil)
		q, err := jsonx.Marshal(request{ID: "1", From: "b", Key: "ada", Do: &instruction{Delete: true}})
		if err != nil {
			t.Fatal(err)
		}
		p.answer(q, func(context.Context, string, instruction) (bool, error) { return true, reason })
		running.Wait()
		if bus.published != replies {
			t.Errorf("%v: %d replies, want %d", reason, bus.published, replies)
		}
	}
}
