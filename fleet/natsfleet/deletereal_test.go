package natsfleet_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/internal/test/realstore"
)

// When a conversation is deleted, no message of the stream has anything of it: neither its
// data nor its header.
func TestRealDeleteLeavesNothing(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	realstore.Deleted(t, openStore(t, c.URL()), func(t *testing.T, text string) (found []string) {
		s, err := newStranger(t, c.URL()).js.Stream(t.Context(), "claude")
		if err != nil {
			t.Fatal(err)
		}
		state := s.CachedInfo().State
		for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
			m, err := s.GetMsg(t.Context(), seq)
			if errors.Is(err, jetstream.ErrMsgNotFound) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(m.Data, []byte(text)) || strings.Contains(fmt.Sprint(m.Subject, m.Header), text) {
				found = append(found, fmt.Sprintf("message %d of %s", seq, m.Subject))
			}
		}
		return found
	})
}
