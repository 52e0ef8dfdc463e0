package fleet

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// Wait looks at the store as soon as a prompt has ended, even if it reads the end together
// with messages before it. After messages alone, it waits for the next poll.
func TestUntilNews(t *testing.T) {
	said, ended := watched{msg: &message.Result{}}, watched{}
	const poll = time.Minute
	for name, test := range map[string]struct {
		items []watched
		after time.Duration
	}{
		"the end":                 {[]watched{ended}, 0},
		"the end behind messages": {[]watched{said, said, ended}, 0},
		"messages":                {[]watched{said, said}, poll},
		"nothing":                 {nil, poll},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := assemble(t.Context(), Options{Store: store.Memory(), Project: "p", StoreTimeout: patient, Poll: poll})
			f.ear.hears.Store(true)
			w := f.roster.watch("ada", "x")
			for _, it := range test.items {
				w.put(it)
			}
			began := time.Now()
			if err := f.reports.untilNews(t.Context(), w); err != nil || time.Since(began) != test.after {
				t.Errorf("%s: after %v, want %v (%v)", name, time.Since(began), test.after, err)
			}
		})
	}
}
