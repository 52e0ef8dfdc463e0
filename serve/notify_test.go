package serve_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// MCP servers choose the names of their tools, so a notice shows them short and without
// invisible characters.
func TestNotifyOfLongName(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	defer hook.Close()
	for _, form := range []serve.NotifyForm{serve.NotifyJSON, serve.NotifyNtfy} {
		n := &serve.Notifier{URL: hook.URL, Form: form, Base: "https://claude.example/", Logger: slog.New(slog.DiscardHandler)}
		n.Start(t.Context())(api.Approval{ID: "1", Kind: api.KindTool, Tool: "mcp__\u202e\x1b[31m" + strings.Repeat("é", 1<<20)})
		if body := <-got; len(body) > 1000 || !strings.Contains(body, "…") || strings.ContainsAny(body, "\u202e\x1b\ufffd") {
			t.Errorf("%s: %.300q", form, body)
		}
	}
}

// watching is a fleet whose inbox reports some questions, one after the other.
type watching struct {
	*fleet.Fleet
	questions []approval.Question
}

func (w watching) Approvals() approval.Inbox { return watchingInbox{w.Fleet.Approvals(), w.questions} }

type watchingInbox struct {
	approval.Inbox
	questions []approval.Question
}

func (i watchingInbox) Watch(ctx context.Context, _ approval.Filter) iter.Seq2[approval.Question, error] {
	return func(yield func(approval.Question, error) bool) {
		for _, q := range i.questions {
			if !yield(q, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

// Each question is notified once, even when others of its conversation wait.
func TestNotifyOfEach(t *testing.T) {
	t.Parallel()
	got := make(chan string, 10)
	r := newRig(t, store.Memory(), func(o *serve.Options) { o.Notify = func(a api.Approval) { got <- a.ID } })
	question := func(id, conversation string) approval.Question {
		return approval.Question{ID: id, Conversation: conversation, State: approval.StateOpen}
	}
	r.onto(watching{r.fleet, []approval.Question{
		question("1", "ada/1"), question("2", "ada/1"), question("1", "ada/1"), question("3", "ada/1"), question("last", "ada/2"),
	}})
	var notified []string
	for id := range got {
		if notified = append(notified, id); id == "last" {
			break
		}
	}
	if want := []string{"1", "2", "3", "last"}; !slices.Equal(notified, want) {
		t.Errorf("notified of %q, want %q", notified, want)
	}
}

// A person who is asked something is notified once, with a link and without the agent's
// text. The notice is signed as its receiver got it.
func TestNotify(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	type notice struct {
		header http.Header
		body   string
	}
	for _, form := range []serve.NotifyForm{serve.NotifyJSON, serve.NotifyNtfy} {
		t.Run(string(form), func(t *testing.T) {
			got := make(chan notice, 10)
			hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got <- notice{r.Header, string(body)}
			}))
			defer hook.Close()
			n := &serve.Notifier{URL: hook.URL, Form: form, Base: "https://claude.example/", Secret: secret, Logger: slog.New(slog.DiscardHandler)}
			r := newRig(t, store.Memory(), func(o *serve.Options) { o.Notify = n.Start(t.Context()) })
			ada := r.as("ada", api.RoleOperator)
			own := ada.begin("tool secret")
			asked := ada.pending(1)[0]
			first := <-got
			link := "https://claude.example/a/" + asked.ID
			if !strings.Contains(first.body, "Bash") || strings.Contains(first.body, "secret") {
				t.Errorf("the notice is %s", first.body)
			}
			if form == serve.NotifyNtfy && (first.header.Get("Click") != link || first.header.Get("Title") == "") ||
				form == serve.NotifyJSON && (!strings.Contains(first.body, link) || first.header.Get("Content-Type") != "application/json") {
				t.Errorf("%v %s", first.header, first.body)
			}
			if got, want := first.header.Get("webhook-signature"), signatureOf(t, secret, first.header, first.body); got != want || first.header.Get("webhook-id") != "approval_"+asked.ID {
				t.Errorf("it is signed %q, and the receiver has %q: %v", got, want, first.header)
			}
			want[api.Approval](ada, ada.do("POST", "/v1/approvals/"+asked.ID+"/decision", api.Decision{Decision: "allow", Digest: asked.Digest}), http.StatusOK)
			ada.follow("/v1/conversations/"+own.ID+"/events", untilTurns(1))
			if len(got) != 0 {
				t.Errorf("%d more notices", len(got))
			}
		})
	}
}

// signatureOf computes the signature of a notice as its receiver does, by Standard Webhooks.
func signatureOf(t *testing.T, secret string, h http.Header, body string) string {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := h.Get("webhook-timestamp")
	if at, err := strconv.ParseInt(stamp, 10, 64); err != nil || time.Since(time.Unix(at, 0)).Abs() > 5*time.Minute {
		t.Errorf("it was sent at %q", stamp)
	}
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(h.Get("webhook-id") + "." + stamp + "." + body)) // never fails
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
