package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/egress"
)

// People learn about each refused host once for each conversation, of a bounded number of hosts,
// and without what a terminal or a page could obey. What cannot be said is logged.
func TestRefusedHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := newRefusedHosts()
		var told []string
		log := new(lockedText)
		remark := func(_ context.Context, key, text string) error {
			if key == "gone" {
				return errors.New("the conversation was deleted")
			}
			told = append(told, key+": "+text)
			return nil
		}
		ended := make(chan struct{})
		go func() {
			r.tell(ctx, remark, slog.New(slog.NewTextHandler(log, nil)))
			close(ended)
		}()
		refuse := func(conversation, host string) {
			r.take(egress.Conversation{ID: conversation, Tenant: "t"}, host, "The proxy does not allow this host: the host is not on the list.")
			synctest.Wait()
		}
		for range 3 {
			refuse("a", "example.com:443")
			refuse("b", "example.com:443")
		}
		refuse("a", "\x1b[31mred:443")
		refuse("gone", "example.com:443")
		want := []string{
			"a: A command did not reach example.com:443. The proxy does not allow this host: the host is not on the list.",
			"b: A command did not reach example.com:443. The proxy does not allow this host: the host is not on the list.",
		}
		if len(told) != 3 || !slices.Equal(told[:2], want) || strings.Contains(told[2], "\x1b") || !strings.Contains(told[2], "red:443") {
			t.Errorf("told %q", told)
		}
		if !strings.Contains(log.String(), "the conversation was deleted") || !strings.Contains(log.String(), "example.com:443") {
			t.Errorf("the log has %s", log)
		}
		told = nil
		for i := range 10 * maxRefusedHosts {
			refuse("c", fmt.Sprintf("host%d.example:443", i))
		}
		if len(told) != maxRefusedHosts {
			t.Errorf("people saw %d hosts", len(told))
		}
		cancel()
		<-ended
		for i := range 2 * refusedQueue { // nobody listens: it does not block
			r.take(egress.Conversation{ID: fmt.Sprint("d", i)}, "example.com:443", "no")
		}
	})
}
