package natsfleet_test

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

func openStore(t testing.TB, url string) *natsfleet.Store {
	t.Helper()
	return openBeside(t, url, beside{})
}

func openBeside(t testing.TB, url string, b beside) *natsfleet.Store {
	t.Helper()
	s, err := natsfleet.OpenStore(t.Context(), b.options(natsfleet.Options{URL: url}, nil))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A store in NATS keeps the contract of every store, on one server and on three.
func TestStore(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			storetest.Run(t, storetest.Target{
				Open:    func(t *testing.T) store.Fleet { return openStore(t, c.URL()) },
				Again:   func(t *testing.T, _ store.Fleet) store.Fleet { return openStore(t, c.URL()) },
				Process: func(*testing.T, store.Fleet) *exec.Cmd { return roles{Owner: c.URL()}.command() },

				NoSummaries: true,
			})
		})
	}
}

// A store that wraps one in NATS also keeps the contract.
func TestStoreWrapped(t *testing.T) {
	t.Parallel()
	long.Test(t, "tests the whole contract twice more")
	c := natstest.Start(t, natstest.Options{})
	storetest.RunWrapped(t, storetest.Target{
		Open:        func(t *testing.T) store.Fleet { return openStore(t, c.URL()) },
		Again:       func(t *testing.T, _ store.Fleet) store.Fleet { return openStore(t, c.URL()) },
		NoSummaries: true,
	})
}

// A fleet whose transcripts are in another store keeps the same contract. Leases and
// records are in the stream, and a fence of the stream is one for both.
func TestStoreOutside(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	b := beside{Transcripts: t.TempDir(), Plain: true}
	storetest.Run(t, storetest.Target{
		Open:    func(t *testing.T) store.Fleet { return openBeside(t, c.URL(), b) },
		Again:   func(t *testing.T, _ store.Fleet) store.Fleet { return openBeside(t, c.URL(), b) },
		Process: func(*testing.T, store.Fleet) *exec.Cmd { return roles{Owner: c.URL(), Beside: b}.command() },
	})
}

func newID() string { return uuid.New() }
