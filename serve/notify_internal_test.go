package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// sender answers requests in a test.
type sender func(*http.Request) (*http.Response, error)

func (s sender) RoundTrip(r *http.Request) (*http.Response, error) { return s(r) }

// A notice whose webhook fails or hangs holds up no other. It is sent again, later each
// time, with the same id, until it is given up.
func TestNoticesDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var mu sync.Mutex
		at := make(map[string][]time.Duration)
		ids := make(map[string]bool)
		n := &Notifier{URL: "https://hook.example", Logger: slog.New(slog.DiscardHandler), Client: &http.Client{Timeout: 10 * time.Second, Transport: sender(func(r *http.Request) (*http.Response, error) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			which := map[bool]string{true: "bad", false: "good"}[strings.Contains(string(body), `"bad"`)]
			mu.Lock()
			at[which] = append(at[which], time.Since(begun))
			ids[r.Header.Get("webhook-id")] = true
			mu.Unlock()
			if which == "bad" {
				select {
				case <-time.After(5 * time.Second):
				case <-r.Context().Done():
				}
				return nil, errors.New("it fails")
			}
			return &http.Response{StatusCode: http.StatusNoContent, Body: http.NoBody}, nil
		})}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		tell := n.Start(ctx)
		tell(api.Approval{ID: "bad", Kind: api.KindTool, Tool: "Bash"})
		tell(api.Approval{ID: "good", Kind: api.KindTool, Tool: "Bash"})
		<-time.After(time.Hour)
		synctest.Wait()
		if len(at["good"]) != 1 || at["good"][0] != 0 {
			t.Errorf("the good one was sent after %v", at["good"])
		}
		want := []time.Duration{0, 7 * time.Second, 20 * time.Second, 55 * time.Second, 3 * time.Minute}
		for i, d := range at["bad"] {
			if i >= len(want) || d != want[i] {
				t.Errorf("the bad one was sent after %v, want %v", at["bad"], want)
				break
			}
		}
		if len(at["bad"]) != len(want) || len(ids) != 2 {
			t.Errorf("%d attempts with %v", len(at["bad"]), ids)
		}
	})
}

// The signature is that of Standard Webhooks: their own example.
func TestSignature(t *testing.T) {
	t.Parallel()
	key, err := signingKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	h := make(http.Header)
	sign(h, key, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), `{"test": 2432232314}`)
	if got := h.Get("webhook-signature"); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" || h.Get("webhook-timestamp") != "1614265330" {
		t.Errorf("%v", h)
	}
	for _, secret := range []string{"whsec_x", "whsec_" + strings.Repeat("A", 8), "whsec_%%%%"} {
		if err := (&Notifier{Secret: secret}).Check(); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", secret, err)
		}
	}
}
