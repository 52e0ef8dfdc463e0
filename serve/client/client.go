package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
)

// Options select the server, and the user as whom a client acts. URL and Token are
// required.
type Options struct {
	// URL is the address of the server, such as https://agents.example.com. Its paths
	// begin at the root.
	URL string
	// Token is a bearer token.
	Token string
	// Insecure allows plain http to machines other than this one. Anyone on the path can
	// then read the token.
	Insecure bool
	// HTTP sends the requests. New copies it and leaves it as it is. Redirects are never
	// followed, whatever its CheckRedirect, and its Timeout should be 0: streams have
	// no end. Nil: a client with [http.DefaultTransport].
	HTTP *http.Client
	// Patience is how long the client tries to reach a server that does not answer, and
	// how long it waits for one answer. 0: 90 seconds, which outlives the minute for which
	// a server that crashed holds the Idempotency-Key of a request.
	Patience time.Duration
}

// Client talks to a server. Its methods may be called from any goroutine. It holds
// nothing that must be closed.
type Client struct {
	base     string
	token    string
	http     *http.Client
	patience time.Duration
}

// New makes a client. It does not talk to the server yet.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("claude: client: Options.URL is not an address such as https://agents.example.com")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, errors.New("claude: client: Options.URL has more than a scheme and a host")
	case u.Scheme == "http" && !o.Insecure && !loopback(u.Hostname()):
		return nil, errors.New("claude: client: Options.URL is http to another machine, which shows the token to everybody on the way: use https, or set Insecure")
	case o.Token == "":
		return nil, errors.New("claude: client: Options.Token is missing")
	case strings.ContainsFunc(o.Token, func(c rune) bool { return c <= ' ' || c > '~' }):
		return nil, errors.New("claude: client: Options.Token has characters that no token has")
	}
	own := http.Client{}
	if o.HTTP != nil {
		own = *o.HTTP
	}
	// The token is for this server, not for one that it redirects to.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{base: u.Scheme + "://" + u.Host, token: o.Token, http: &own, patience: o.Patience}
	if c.patience <= 0 {
		c.patience = 90 * time.Second
	}
	return c, nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback() || host == "localhost"
}

// The most that a client reads of an answer.
const (
	maxAnswer  = 64 << 20
	maxProblem = 1 << 20
)

// request is a request to the server.
type request struct {
	method, path string
	query        url.Values
	body         any
	// repeat allows the request to be sent again; keyed adds an Idempotency-Key.
	repeat, keyed bool
	// acts is set for a request that affects whatever runs at the time: repeated after
	// it may have taken effect, it would hit something else.
	acts bool
	// vanishes is set for deleting something that only its users delete: if it is gone
	// after an attempt that may have arrived, that attempt has deleted it.
	vanishes bool
}

// do sends a request, with retries, and decodes the answer into out, unless that is
// nil.
func (c *Client) do(ctx context.Context, r request, out any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("claude: client: %w", err)
		}
	}
	key := ""
	if r.keyed {
		key = rand.Text()
	}
	begun, arrived := time.Now(), false
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, &r, body, key, out)
		if err == nil || arrived && r.vanishes && isStatus(err, http.StatusNotFound) {
			return nil
		}
		arrived = arrived || mayHaveArrived(err)
		wait, again := pause(err, attempt)
		if r.acts && isType(err, storeSilent) {
			return err // it may have taken effect, and its key is forgotten
		}
		if !r.repeat || !again || time.Since(begun)+wait > c.patience {
			return err
		}
		if over := sleep(ctx, wait); over != nil {
			return fmt.Errorf("claude: client: %w; before that: %w", over, err)
		}
	}
}

// mayHaveArrived reports whether the server may have seen a request that failed. It has
// not if there was no connection.
func mayHaveArrived(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}

// isStatus reports whether an error is a problem with a status.
func isStatus(err error, status int) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Status == status
}

// isType reports whether an error is a problem of a type.
func isType(err error, kind string) bool {
	p, ok := errors.AsType[*api.Problem](err)
	return ok && p.Type == kind
}

// inProgress is the problem type of a request whose first attempt is still running, and
// storeSilent of one that may or may not have taken effect.
const (
	inProgress  = "/problems/in-progress"
	storeSilent = "/problems/store-silent"
)

// pause reports whether an error may be transient, and how long to wait before the next
// attempt.
func pause(err error, attempt int) (time.Duration, bool) {
	wait := min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
	p, ok := errors.AsType[*api.Problem](err)
	if !ok {
		return wait, errors.Is(err, errUnreached)
	}
	switch {
	case p.Type == inProgress, p.Status == http.StatusBadGateway && p.Type == blank, p.Status == http.StatusServiceUnavailable, p.Status == http.StatusGatewayTimeout:
		return max(wait, retryAfter(p)), true
	}
	return 0, false
}

// retryAfter returns how long a server asks to wait, at most a day.
func retryAfter(p *api.Problem) time.Duration {
	return time.Duration(min(p.RetryAfter, 24*60*60)) * time.Second
}

// sleep waits for a time, or returns why ctx has ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// errUnreached is the error of a request without a complete answer.
var errUnreached = errors.New("the server did not answer")

// unreached wraps an error on the way to the server or back.
func unreached(err error) error {
	if netErr, ok := errors.AsType[*url.Error](err); ok {
		err = netErr.Err // without the address, which the options have
	}
	return fmt.Errorf("claude: client: %w: %w", errUnreached, err)
}

// once sends a request once, and waits for the whole answer.
func (c *Client) once(ctx context.Context, r *request, body []byte, key string, out any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.patience, unreached(fmt.Errorf("there is no whole answer after %v", c.patience)))
	defer cancel()
	res, err := c.send(ctx, r, body, key, "")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return problemOf(res)
	}
	limited := &io.LimitedReader{R: res.Body, N: maxAnswer + 1}
	data, err := io.ReadAll(limited)
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return unreached(err)
	case limited.N == 0:
		return fmt.Errorf("claude: client: %s %s: the answer has more than %d bytes", r.method, r.path, maxAnswer)
	case out == nil:
		return nil
	}
	if text, ok := out.(*string); ok {
		if kind := kindOf(res); kind != "text/x-diff" {
			return fmt.Errorf("claude: client: %s is not a patch but %q: check the address, and what is in between", r.path, kind)
		}
		*text = string(data)
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("claude: client: %s %s: the answer is not what the API says: %w", r.method, r.path, err)
	}
	return nil
}

// kindOf returns the media type of an answer, empty if it has no valid one.
func kindOf(res *http.Response) string {
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return kind
}

// send sends a request and returns the answer, whatever its status is.
func (c *Client) send(ctx context.Context, r *request, body []byte, key, accept string) (*http.Response, error) {
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, reader)
	if err != nil {
		return nil, fmt.Errorf("claude: client: %s is not a path", r.path)
	}
	h := req.Header
	h.Set("Authorization", "Bearer "+c.token)
	if body != nil {
		h.Set("Content-Type", "application/json")
	}
	if key != "" {
		h.Set("Idempotency-Key", key)
	}
	if accept != "" {
		h.Set("Accept", accept)
	}
	res, err := c.http.Do(req)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, unreached(err)
	}
	return res, nil
}

// blank is the type of a problem that has only a status (RFC 9457).
const blank = "about:blank"

// problemOf reads the problem of an answer.
func problemOf(res *http.Response) *api.Problem {
	var p api.Problem
	after := 0
	if n, err := strconv.ParseUint(res.Header.Get("Retry-After"), 10, 31); err == nil { // not a date, which few send
		after = int(n)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxProblem))
	if kindOf(res) == "application/problem+json" && err == nil && json.Unmarshal(data, &p) == nil && p.Status == res.StatusCode {
		p.RetryAfter = max(p.RetryAfter, after)
		return &p
	}
	title := http.StatusText(res.StatusCode)
	if title == "" {
		title = fmt.Sprintf("Status %d", res.StatusCode)
	}
	return &api.Problem{Type: blank, Title: title, Status: res.StatusCode, RetryAfter: after, Detail: "the answer is not one of this API: check the address, and what is in between"}
}

// join makes the path of a resource, with its ids escaped.
func join(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}
