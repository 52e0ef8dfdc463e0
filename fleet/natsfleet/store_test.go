package natsfleet_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

func openStore(t testing.TB, url string) *natsfleet.Store {
	t.Helper()
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// A store in NATS keeps the contract of every store, on one server and on three.
func TestStore(t *testing.T) {
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			storetest.Run(t, storetest.Target{
				Open:    func(t *testing.T) store.Store { return openStore(t, c.URL()) },
				Again:   func(t *testing.T, _ store.Store) store.Store { return openStore(t, c.URL()) },
				Process: func(*testing.T, store.Store) *exec.Cmd { return owner(c.URL()) },
			})
		})
	}
}

// owner is another process with a store of the same data.
func owner(url string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_OWN="+url)
	return cmd
}

// TestMain lets the test binary be the other process of a test.
func TestMain(m *testing.M) {
	if url := os.Getenv("WORKER_TEST_URL"); url != "" {
		os.Exit(work(url))
	}
	url := os.Getenv("STORE_TEST_OWN")
	if url == "" {
		os.Exit(m.Run())
	}
	s, err := natsfleet.OpenStore(context.Background(), natsfleet.Options{URL: url})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(storetest.Own(s))
}

func newID() string { return uuid.New() }
