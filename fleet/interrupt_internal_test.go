package fleet

import (
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/lease"
)

// A turn does not begin before all interrupts of the one before have been made or given
// up, and from then on that one cannot be interrupted.
func TestNextTurnWaitsForInterrupts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &conversation{key: "ada"}
		f := assemble(t.Context(), Options{})
		f.roster.active["ada"] = c
		w := newWaking(f.house, c, &owned{Held: new(lease.Held)}, nil)
		w.setTurn(w.newTurn("first", send))
		first := c.turn
		first.interrupts.Add(1)
		begun := make(chan struct{})
		go func() {
			w.setTurn(w.newTurn("second", send))
			close(begun)
		}()
		synctest.Wait()
		select {
		case <-begun:
			t.Error("the next turn did not wait")
		default:
		}
		if first.ctx.Err() == nil {
			t.Error("an interrupt continues although its turn is over")
		}
		if err := f.endings.interruptTurn(t.Context(), "ada", "first", nil); err != nil || c.interrupted != "" {
			t.Errorf("interrupted: %v, word is left for %q", err, c.interrupted)
		}
		first.interrupts.Done()
		<-begun
		w.setTurn(nil)
	})
}
