package fleet

import (
	"errors"
	"testing"
	"testing/synctest"
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
