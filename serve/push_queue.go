package serve

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/internal/webpush"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// pushQueue holds the notices that wait for a browser. A push service that does not
// answer holds up its own notices only.
type pushQueue struct {
	waiting []string // approvals, the oldest first
}

// run puts the approvals that people are asked into the queues of their browsers, until
// ctx ends, and then waits for all that it has started.
func (p *pusher) run(ctx context.Context) {
	defer p.work.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case id := <-p.asked:
			for r, err := range p.records.Scan(ctx, store.Folder{Project: p.project, Kind: kindPush}, "") {
				if err != nil {
					p.warn(ctx, "serve: an approval is not pushed", "approval", id, "error", err)
					break
				}
				p.enqueue(ctx, r.Key.Name, id)
			}
		}
	}
}

// enqueue adds a notice to the queue of a login, and starts it if it stands still.
func (p *pusher) enqueue(ctx context.Context, login, approval string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[login]
	if q == nil {
		q = new(pushQueue)
		p.queues[login] = q
		p.work.Go(func() { p.drain(ctx, login, q) })
	}
	if len(q.waiting) == maxQueue {
		q.waiting = q.waiting[1:] // the newest tell that something waits as well
	}
	q.waiting = append(q.waiting, approval)
}

// drain sends what is in a queue, and ends with it.
func (p *pusher) drain(ctx context.Context, login string, q *pushQueue) {
	for {
		p.mu.Lock()
		if len(q.waiting) == 0 || ctx.Err() != nil {
			delete(p.queues, login)
			p.mu.Unlock()
			return
		}
		id := q.waiting[0]
		q.waiting = q.waiting[1:]
		p.mu.Unlock()
		p.deliver(ctx, login, id)
	}
}

// deliver sends a notice, with retries.
func (p *pusher) deliver(ctx context.Context, login, approval string) {
	for attempt := 0; ; attempt++ {
		pause, err := p.send(ctx, login, approval)
		if err == nil || ctx.Err() != nil {
			return
		}
		if final := (*finalError)(nil); attempt == len(notifyPauses) || errors.As(err, &final) {
			p.warn(ctx, "serve: a notice was not pushed", "approval", approval, "login", login, "error", err)
			return
		}
		waitTurn(ctx, nil, max(notifyPauses[attempt], pause))
	}
}

// finalError means that another attempt would fail as well.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }
func (e *finalError) Unwrap() error { return e.err }

// maxPause is how long a push service may ask the server to wait.
const maxPause = 5 * time.Minute

// send sends a notice once, if its reader may still decide what it is about. It returns
// how long the push service asks to wait.
func (p *pusher) send(ctx context.Context, login, approval string) (time.Duration, error) {
	select {
	case p.sends <- struct{}{}:
		defer func() { <-p.sends }()
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	t, revision, err := recordio.Get[target](ctx, p.records, p.at(kindPush, login))
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil // unsubscribed, or logged out
	}
	if err != nil {
		return 0, err
	}
	message, err := p.message(ctx, login, approval)
	if message == nil || err != nil {
		return 0, err
	}
	res, err := p.post(ctx, &t, approval, message)
	if private := (*webpush.PrivateError)(nil); errors.As(err, &private) {
		_ = store.Drop(ctx, p.records, p.at(kindPush, login), revision, store.Fence{}) // it is not a push service
		return 0, &finalError{private}
	}
	if err != nil {
		return 0, hideAddress(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	switch {
	case res.StatusCode/100 == 2:
		return 0, nil
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone: // the browser has unsubscribed
		_ = store.Drop(ctx, p.records, p.at(kindPush, login), revision, store.Fence{}) // one that has changed is another
		return 0, nil
	}
	err = fmt.Errorf("claude: serve: the push service answered %s", res.Status)
	if res.StatusCode != http.StatusTooManyRequests && res.StatusCode/100 != 5 {
		return 0, &finalError{err}
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 if it does not say
	return min(time.Duration(max(seconds, 0))*time.Second, maxPause), err
}

// message returns the notice about an approval, nil if the user of the login cannot
// decide it: it was decided, is not theirs to see, or the login has ended.
func (p *pusher) message(ctx context.Context, login, approval string) ([]byte, error) {
	u, err := p.gate.LoggedIn(ctx, login)
	if errors.Is(err, store.ErrNotFound) {
		return nil, p.forget(ctx, login)
	}
	if err != nil {
		return nil, err
	}
	q, n, err := p.answers.question(ctx, u, approval, api.RoleApprover)
	if forbidden.is(err) || notFound.is(err) || errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a := approvalOf(&q, u)
	if !a.MayDecide {
		return nil, nil
	}
	return noticeOf(&a, n.Title)
}

// noticeOf returns the notice that the script of the page shows.
func noticeOf(a *api.Approval, title string) ([]byte, error) {
	where := terminal.Line(title)
	if len(where) > maxNotified {
		where = strings.ToValidUTF8(where[:maxNotified], "") + "…"
	}
	for _, parts := range []map[string]string{{"id": a.ID, "text": textFor(a), "where": where}, {"id": a.ID, "text": textFor(a)}} {
		if data, err := jsonx.Marshal(parts); err != nil || len(data) <= webpush.MaxMessage {
			return data, err
		}
	}
	return jsonx.Marshal(map[string]string{"id": a.ID})
}

// post sends a message to a push service.
func (p *pusher) post(ctx context.Context, t *target, approval string, message []byte) (*http.Response, error) {
	if err := t.Check(p.push.Private); err != nil { // the options may have changed
		return nil, err
	}
	self, err := p.self(ctx)
	if err != nil {
		return nil, err
	}
	body, err := t.Encrypt(message)
	if err != nil {
		return nil, err
	}
	authorization, err := self.Authorization(t.Endpoint, p.push.Contact, time.Now())
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.Endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	topic := sha256.Sum256([]byte(approval)) // a repetition takes the place of the first
	for name, value := range map[string]string{
		"Authorization": authorization, "Content-Encoding": "aes128gcm", "Content-Type": "application/octet-stream",
		"TTL": "43200", "Urgency": "high", "Topic": base64.RawURLEncoding.EncodeToString(topic[:18]),
	} {
		req.Header.Set(name, value)
	}
	return p.push.Client.Do(req)
}

// hideAddress returns an error without the address of a browser, which is a secret: who
// has it can be one of those who send there.
func hideAddress(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return fmt.Errorf("claude: serve: the push service cannot be reached: %w", inner)
	}
	return err
}

// warn logs a failure, unless the server is closing.
func (p *pusher) warn(ctx context.Context, what string, args ...any) {
	if ctx.Err() == nil {
		p.logger.Warn(what, args...)
	}
}
