package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// Info describes the server to a client that begins.
func (c *Client) Info(ctx context.Context) (api.ServerInfo, error) {
	return get[api.ServerInfo](ctx, c, join("v1", "server"), nil)
}

// Conversations yields the conversations that a query selects, the newest first, page
// by page. An error is always the last.
func (c *Client) Conversations(ctx context.Context, q api.ConversationQuery) iter.Seq2[api.Conversation, error] {
	return pages[api.Conversation](ctx, c, join("v1", "conversations"), conversationValues(q))
}

// ConversationPage returns one page of them, with the cursor of the next.
func (c *Client) ConversationPage(ctx context.Context, q api.ConversationQuery) (api.List[api.Conversation], error) {
	return get[api.List[api.Conversation]](ctx, c, join("v1", "conversations"), conversationValues(q))
}

func conversationValues(q api.ConversationQuery) url.Values {
	v := values("state", string(q.State), "preset", q.Preset, "owner", q.Owner, "label", q.Label, "q", q.Text, "limit", number(q.Limit), "cursor", q.Cursor)
	if q.Archived {
		v.Set("archived", "1")
	}
	return v
}

// Conversation returns a conversation.
func (c *Client) Conversation(ctx context.Context, id string) (api.Conversation, error) {
	return get[api.Conversation](ctx, c, join("v1", "conversations", id), nil)
}

// Create begins a conversation.
func (c *Client) Create(ctx context.Context, n api.NewConversation) (api.Conversation, error) {
	return post[api.Conversation](ctx, c, join("v1", "conversations"), n)
}

// Change changes a conversation.
func (c *Client) Change(ctx context.Context, id string, ch api.Change) (api.Conversation, error) {
	var out api.Conversation
	err := c.do(ctx, request{method: http.MethodPatch, path: join("v1", "conversations", id), body: ch}, &out)
	return out, err
}

// Delete deletes a conversation and everything that was said in it.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.remove(ctx, join("v1", "conversations", id), true)
}

// Messages returns a page of messages. Next of the list is Before, or After, of the
// query for the next page.
func (c *Client) Messages(ctx context.Context, id string, q api.MessageQuery) (api.List[api.Message], error) {
	v := values("before", number(q.Before), "after", number(q.After), "limit", number(q.Limit))
	if q.HTML {
		v.Set("html", "1")
	}
	return get[api.List[api.Message]](ctx, c, join("v1", "conversations", id, "messages"), v)
}

// Commands returns the slash commands that the agent of a conversation announced when it
// last ran. Before it has run there are none.
func (c *Client) Commands(ctx context.Context, id string) ([]api.Command, error) {
	list, err := get[api.List[api.Command]](ctx, c, join("v1", "conversations", id, "commands"), nil)
	return list.Items, err
}

// MarkRead notes how far you have read a conversation.
func (c *Client) MarkRead(ctx context.Context, id string, m api.ReadMark) error {
	// A mark never moves back, so repeating one is safe. A mark without a number means
	// the end, which moves.
	return c.do(ctx, request{method: http.MethodPost, path: join("v1", "conversations", id, "read"), body: m, repeat: m.Seq > 0}, nil)
}

// Changes returns the edits of a conversation, of one prompt if it is not empty.
func (c *Client) Changes(ctx context.Context, id, prompt string) (api.Changes, error) {
	return get[api.Changes](ctx, c, join("v1", "conversations", id, "changes"), values("prompt", prompt))
}

// Patch returns the edits of a conversation as a patch for git apply, of one prompt if
// it is not empty.
func (c *Client) Patch(ctx context.Context, id, prompt string) (string, error) {
	return get[string](ctx, c, join("v1", "conversations", id, "changes.patch"), values("prompt", prompt))
}

// FolderPatch returns how the conversation's own folder differs from the state in which it
// began, as a patch for git apply: commands' changes too. A conversation without such a
// folder is not found.
func (c *Client) FolderPatch(ctx context.Context, id string) (string, error) {
	return get[string](ctx, c, join("v1", "conversations", id, "folder.patch"), nil)
}

// Send sends a prompt to a conversation. [api.Text] makes the content of a text.
func (c *Client) Send(ctx context.Context, id string, p api.NewPrompt) (api.Prompt, error) {
	return post[api.Prompt](ctx, c, join("v1", "conversations", id, "prompts"), p)
}

// Prompt returns a prompt in its current state.
func (c *Client) Prompt(ctx context.Context, id, prompt string) (api.Prompt, error) {
	return get[api.Prompt](ctx, c, join("v1", "conversations", id, "prompts", prompt), nil)
}

// Prompts returns the prompts of a conversation that have not ended.
func (c *Client) Prompts(ctx context.Context, id string) ([]api.Prompt, error) {
	list, err := get[api.List[api.Prompt]](ctx, c, join("v1", "conversations", id, "prompts"), nil)
	return list.Items, err
}

// CancelPrompt takes back a prompt that has not begun.
func (c *Client) CancelPrompt(ctx context.Context, id, prompt string) error {
	return c.remove(ctx, join("v1", "conversations", id, "prompts", prompt), true)
}

// Interrupt stops the turn of a conversation, or withdraws the question that it waits
// for.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.act(ctx, id, "interrupt")
}

// Release declines the questions that hold the process of a conversation.
func (c *Client) Release(ctx context.Context, id string) error { return c.act(ctx, id, "release") }

// Retry lets a conversation that has failed try again.
func (c *Client) Retry(ctx context.Context, id string) error { return c.act(ctx, id, "retry") }

// Prewarm starts the agent of a sleeping conversation ahead of your next prompt, and
// returns when it is ready. It does nothing if there is no room.
func (c *Client) Prewarm(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodPost, path: join("v1", "conversations", id, "prewarm"), repeat: true}, nil)
}

// Rewind restores the files that the agent has edited since a prompt.
func (c *Client) Rewind(ctx context.Context, id string, r api.RewindRequest) (api.Rewound, error) {
	return post[api.Rewound](ctx, c, join("v1", "conversations", id, "rewind"), r)
}

// Approvals yields the approvals that a query selects, the newest first, page by page.
// An error is always the last.
func (c *Client) Approvals(ctx context.Context, q api.ApprovalQuery) iter.Seq2[api.Approval, error] {
	return pages[api.Approval](ctx, c, join("v1", "approvals"), values(
		"state", string(q.State), "conversation", q.Conversation, "kind", string(q.Kind), "preset", q.Preset, "q", q.Text, "limit", number(q.Limit), "cursor", q.Cursor))
}

// Approval returns an approval.
func (c *Client) Approval(ctx context.Context, id string) (api.Approval, error) {
	return get[api.Approval](ctx, c, join("v1", "approvals", id), nil)
}

// Decide decides an approval. Its Digest is that of the approval that was shown. If
// another decision came first, the error is an [*api.Problem] with the approval.
func (c *Client) Decide(ctx context.Context, id string, d api.Decision) (api.Approval, error) {
	return post[api.Approval](ctx, c, join("v1", "approvals", id, "decision"), d)
}

// Usage sums up the cost of turns.
func (c *Client) Usage(ctx context.Context, q api.UsageQuery) (api.Usage, error) {
	var by []string
	for _, g := range q.By {
		by = append(by, string(g))
	}
	return get[api.Usage](ctx, c, join("v1", "usage"), values("from", day(q.From), "to", day(q.To), "by", strings.Join(by, ",")))
}

// Sessions lists sessions of the CLI on the server's disk, below the roots of a preset
// if it is not empty.
func (c *Client) Sessions(ctx context.Context, preset string) ([]api.SessionInfo, error) {
	list, err := get[api.List[api.SessionInfo]](ctx, c, join("v1", "sessions"), values("preset", preset))
	return list.Items, err
}

// Tokens lists the bearer tokens.
func (c *Client) Tokens(ctx context.Context) ([]api.TokenInfo, error) {
	list, err := get[api.List[api.TokenInfo]](ctx, c, join("v1", "tokens"), nil)
	return list.Items, err
}

// IssueToken makes a bearer token. If the answer is lost, [Client.Tokens] shows the
// token: revoke it, and make another.
func (c *Client) IssueToken(ctx context.Context, t api.NewToken) (api.CreatedToken, error) {
	var out api.CreatedToken
	err := c.do(ctx, request{method: http.MethodPost, path: join("v1", "tokens"), body: t}, &out)
	return out, err
}

// RevokeToken revokes a bearer token. If an answer was lost, the error may be an
// [*api.Problem] with the status 404 although the token was revoked: no other token has
// its id.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	return c.remove(ctx, join("v1", "tokens", id), false)
}

// Logins lists the browsers that are logged in.
func (c *Client) Logins(ctx context.Context) ([]api.LoginInfo, error) {
	list, err := get[api.List[api.LoginInfo]](ctx, c, join("v1", "logins"), nil)
	return list.Items, err
}

// EndLogin ends a login. As with [Client.RevokeToken], a 404 may follow a lost answer.
func (c *Client) EndLogin(ctx context.Context, id string) error {
	return c.remove(ctx, join("v1", "logins", id), false)
}

// get fetches a value.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	err := c.do(ctx, request{method: http.MethodGet, path: path, query: query, repeat: true}, &out)
	return out, err
}

// post creates something, once.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	err := c.do(ctx, request{method: http.MethodPost, path: path, body: body, repeat: true, keyed: true}, &out)
	return out, err
}

// act sends a command to a conversation.
func (c *Client) act(ctx context.Context, id, what string) error {
	return c.do(ctx, request{method: http.MethodPost, path: join("v1", "conversations", id, what), repeat: true, keyed: true, acts: true}, nil)
}

// remove deletes something. With vanishes, a 404 after a lost answer counts as success.
// Revocations do without it, because they must be certain.
func (c *Client) remove(ctx context.Context, path string, vanishes bool) error {
	return c.do(ctx, request{method: http.MethodDelete, path: path, repeat: true, vanishes: vanishes}, nil)
}

// pages yields the items of all pages of a list.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		at := url.Values{}
		for name, v := range query {
			at[name] = v
		}
		for {
			list, err := get[api.List[T]](ctx, c, path, at)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range list.Items {
				if !yield(item, nil) {
					return
				}
			}
			if list.Next == "" {
				return
			}
			at.Set("cursor", list.Next)
		}
	}
}

// values returns the parameters that are not empty.
func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	return v
}

// number formats a parameter, empty for 0.
func number[T int | int64](n T) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// day formats a parameter, empty for the zero time.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateOnly)
}
