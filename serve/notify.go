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

// NotifyForm is how a [Notifier] says what it has to say.
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
	Base   string
	Client *http.Client // nil: one that waits 10 seconds
	Logger *slog.Logger // nil: slog.Default()

	queue chan api.Approval
}

// notifyQueue is how many notifications may wait to be sent.
const notifyQueue = 1000

// Start starts a goroutine that sends, until ctx ends, and returns the function for
// Options.Notify. That function may be called from any goroutine and never waits: if
// too many notices are waiting, the log says that one is left out.
func (n *Notifier) Start(ctx context.Context) func(api.Approval) {
	n.queue = make(chan api.Approval, notifyQueue)
	if n.Client == nil {
		n.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if n.Logger == nil {
		n.Logger = slog.Default()
	}
	go func() {
		for {
			select {
			case a := <-n.queue:
				n.deliver(ctx, &a)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func(a api.Approval) {
		select {
		case n.queue <- a:
		default:
			n.Logger.Warn("serve: too many notifications are waiting, so one is left out", "approval", a.ID)
		}
	}
}

// notifyAttempts is how often a notification is sent before it is given up.
const notifyAttempts = 4

// deliver sends a notification, again if need be.
func (n *Notifier) deliver(ctx context.Context, a *api.Approval) {
	var err error
	for attempt := range notifyAttempts {
		if attempt > 0 {
			waitTurn(ctx, nil, time.Second<<(2*attempt))
		}
		if err = n.send(ctx, a); err == nil || ctx.Err() != nil {
			return
		}
	}
	n.Logger.Warn("serve: a notification was not delivered", "approval", a.ID, "error", err)
}

// send sends a notification once.
func (n *Notifier) send(ctx context.Context, a *api.Approval) error {
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

// textFor says in one line what waits, without what the agent wrote.
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

// maxNotified is how many bytes of a tool's name a notification has. MCP servers
// choose such names.
const maxNotified = 80

// shortName is the name of a tool in one line. The link leads to all of it.
func shortName(tool string) string {
	if len(tool) <= maxNotified {
		return terminal.Line(tool)
	}
	return terminal.Line(strings.ToValidUTF8(tool[:maxNotified], "")) + "…"
}
