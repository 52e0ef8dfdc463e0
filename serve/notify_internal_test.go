package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
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

// Only a status of success means that a notice has arrived. After any other it is sent
// again, and the log has it in the end.
func TestNoticeStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		attempts := make(map[int]int)
		var log strings.Builder
		n := &Notifier{URL: "https://hook.example", Form: NotifyNtfy, Base: "https://claude.example", Logger: slog.New(slog.NewTextHandler(&log, nil)), Client: &http.Client{Transport: sender(func(r *http.Request) (*http.Response, error) {
			status, err := strconv.Atoi(path.Base(r.Header.Get("Click")))
			if err != nil {
				return nil, err
			}
			mu.Lock()
			attempts[status]++
			mu.Unlock()
			return &http.Response{StatusCode: status, Status: strconv.Itoa(status), Body: http.NoBody}, nil
		})}}
		tell := n.Start(t.Context())
		for status := 200; status < 600; status++ {
			tell(api.Approval{ID: strconv.Itoa(status), Kind: api.KindTool, Tool: "Bash"})
		}
		<-time.After(time.Hour)
		synctest.Wait()
		for status := 200; status < 600; status++ {
			want, logged := len(notifyPauses)+1, strings.Contains(log.String(), fmt.Sprintf("approval=%d ", status))
			if status < 300 {
				want = 1
			}
			if attempts[status] != want || logged != (status >= 300) {
				t.Errorf("status %d: %d attempts, logged: %v", status, attempts[status], logged)
			}
		}
	})
}

// A notice that is sent elsewhere arrives whole, or it has not arrived: the page at the
// other end of a redirect is not a webhook.
func TestNoticeRedirected(t *testing.T) {
	t.Parallel()
	for status, whole := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		var got []string
		mux := http.NewServeMux()
		mux.Handle("/hook", http.RedirectHandler("/elsewhere", status))
		mux.HandleFunc("/elsewhere", func(_ http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = append(got, r.Method+" "+string(body))
		})
		mux.Handle("/loop", http.RedirectHandler("/loop", status))
		hook := httptest.NewServer(mux)
		n := &Notifier{URL: hook.URL + "/hook", Form: NotifyNtfy}
		n.Start(t.Context())
		a := api.Approval{ID: "1", Kind: api.KindPlan}
		err := n.send(t.Context(), &a)
		n.URL = hook.URL + "/loop"
		loop := n.send(t.Context(), &a)
		hook.Close()
		if (err == nil) != whole || whole && !slices.Equal(got, []string{"POST " + textFor(&a)}) || !whole && len(got) != 0 || loop == nil {
			t.Errorf("%d: %q, %v; in a loop: %v", status, got, err, loop)
		}
	}
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
