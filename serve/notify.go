package serve

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/serve/api"
)

// NotifyForm is the form in which a [Notifier] sends its notices.
type NotifyForm string

// The forms of a notification.
const (
	// NotifyJSON is a POST of a JSON object with the members type ("approval"),
	// id, conversation, kind, tool, text and link.
	NotifyJSON NotifyForm = "json"
	// NotifyNtfy is a message for an ntfy server: the text is the body, and a
	// click opens the link.
	NotifyNtfy NotifyForm = "ntfy"
)

// Notifier tells people outside the page that an approval is waiting. The
// notice does not contain the tool's input, and its link holds no secret:
// anyone who opens it must log in. Set its fields before Start, and start it once.
type Notifier struct {
	URL  string
	Form NotifyForm
	// Base is the address of the server, for links.
	Base string
	// Secret signs the notices by Standard Webhooks: whsec_ and base64 of 24 to 64
	// bytes. The header webhook-signature then proves that a notice comes from this
	// server, and webhook-id, which all attempts share, marks a repetition. Empty:
	// notices are not signed.
	Secret string
	Client *http.Client // nil: one that waits 10 seconds, and follows no redirect that would lose the notice
	Logger *slog.Logger // nil: slog.Default()

	key   []byte
	queue chan struct{} // a place for each notice that waits
	sends chan struct{} // a place for each notice that is being sent
}

const (
	notifyQueue = 1000 // notifications that may wait to be sent
	notifySends = 8    // at the same time
)

// Start returns the function for Options.Notify. It sends notices in the background,
// until ctx ends. The function may be called from any goroutine and never waits: if too
// many notices are queued, it drops the new one and logs that. A notice that fails
// holds up no other. With an unusable secret it logs an error and sends nothing: see
// [Notifier.Check].
func (n *Notifier) Start(ctx context.Context) func(api.Approval) {
	n.queue, n.sends = make(chan struct{}, notifyQueue), make(chan struct{}, notifySends)
	if n.Client == nil {
		n.Client = &http.Client{Timeout: 10 * time.Second, CheckRedirect: onlyWhole}
	}
	if n.Logger == nil {
		n.Logger = slog.Default()
	}
	var broken error
	n.key, broken = signingKey(n.Secret)
	return func(a api.Approval) {
		if broken != nil {
			n.Logger.Error("serve: a notification cannot be signed and is not sent", "approval", a.ID, "error", broken)
			return
		}
		select {
		case n.queue <- struct{}{}:
			go func() {
				defer func() { <-n.queue }()
				n.deliver(ctx, &a)
			}()
		default:
			n.Logger.Warn("serve: too many notifications are waiting, so one is left out", "approval", a.ID)
		}
	}
}

// Check returns an error if the secret cannot be used. It may be called at any time.
func (n *Notifier) Check() error {
	_, err := signingKey(n.Secret)
	return err
}

// notifyPauses are the pauses before each retry.
var notifyPauses = [...]time.Duration{2 * time.Second, 8 * time.Second, 30 * time.Second, 2 * time.Minute}

// deliver sends a notice, with retries. Others are sent during its pauses.
func (n *Notifier) deliver(ctx context.Context, a *api.Approval) {
	for attempt := 0; ; attempt++ {
		err := n.send(ctx, a)
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case attempt == len(notifyPauses):
			n.Logger.Warn("serve: a notification was not delivered", "approval", a.ID, "error", err)
			return
		}
		waitTurn(ctx, nil, notifyPauses[attempt])
	}
}

// send sends a notice once.
func (n *Notifier) send(ctx context.Context, a *api.Approval) error {
	select {
	case n.sends <- struct{}{}:
		defer func() { <-n.sends }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	link := strings.TrimSuffix(n.Base, "/") + "/a/" + a.ID
	text := textFor(a)
	body, kind := text, "text/plain; charset=utf-8"
	if n.Form != NotifyNtfy {
		data, err := jsonx.Marshal(map[string]string{
			"type": "approval", "id": a.ID, "conversation": a.Conversation, "kind": string(a.Kind), "tool": shortName(a.Tool), "text": text, "link": link,
		})
		if err != nil {
			return err
		}
		body, kind = string(data), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	sign(req.Header, n.key, "approval_"+a.ID, time.Now(), body)
	if n.Form == NotifyNtfy {
		req.Header.Set("Title", "Claude waits for you")
		req.Header.Set("Click", link)
		req.Header.Set("Tags", "hourglass")
	}
	res, err := n.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("claude: serve: the webhook answered %s", res.Status)
	}
	return nil
}

// onlyWhole follows a redirect only if it keeps the notice. After 301, 302 and 303 a
// client would fetch a page instead, such as a login page, and take that for success.
func onlyWhole(req *http.Request, via []*http.Request) error {
	if req.Method != http.MethodPost || len(via) >= 10 {
		return http.ErrUseLastResponse
	}
	return nil
}

// textFor returns one line about what waits, without anything that the agent wrote.
func textFor(a *api.Approval) string {
	switch a.Kind {
	case api.KindQuestion:
		return "The agent has a question"
	case api.KindPlan:
		return "A plan waits for your approval"
	case api.KindElicitation:
		return "An MCP server has a question"
	}
	return "A call of " + shortName(a.Tool) + " waits for your approval"
}

// maxNotified limits the bytes of a tool's name in a notice, because MCP servers choose
// such names.
const maxNotified = 80

// shortName returns the name of a tool in one line. The link leads to the full name.
func shortName(tool string) string {
	if len(tool) <= maxNotified {
		return terminal.Line(tool)
	}
	return terminal.Line(strings.ToValidUTF8(tool[:maxNotified], "")) + "…"
}
