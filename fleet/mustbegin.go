package fleet

import (
	"context"
	"errors"
	"time"

	"github.com/claude-agent-go/claude"
)

// beginBound is how long a CLI that has a turn to continue may do nothing.
const beginBound = 20 * time.Second

// errNotBegun means that the CLI does not know what to continue.
var errNotBegun = errors.New("claude: fleet: the CLI did not continue the turn")

// mustBegin gives up a CLI that was to continue a turn and does nothing. A CLI whose
// result waits for the store is done, and its result is read when the store is back. So
// it must be idle at two looks, with nothing in between and everything stored at both:
// by then the reader has had the time to read everything.
func mustBegin(ctx context.Context, cancel context.CancelCauseFunc, s *claude.Session) {
	atOnce, ended := context.WithCancel(ctx)
	ended()
	var before claude.Activity
	for looked := false; pause(ctx, beginBound/2); {
		a := s.Activity()
		if !a.Idle() || s.Flush(atOnce) != nil {
			looked = false
			continue
		}
		if looked && a.Since.Equal(before.Since) {
			cancel(errNotBegun)
			return
		}
		looked, before = true, a
	}
}
