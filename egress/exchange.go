package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// exchange is one request of the API and its answer.
type exchange struct {
	proxy   *Proxy
	pass    *Pass
	rec     *record
	w       http.ResponseWriter
	rc      *http.ResponseController
	r       *http.Request
	metered bool

	body       []byte
	ask        ask
	credential Credential
	names      []string // of the accounts
	request    request
	meter      *meter
	wrote      atomic.Bool // something has reached the API
	status     int         // of the API's answer
}

// run answers the request. A stream that the API cuts is cut for the client as well, which
// net/http does if a handler panics so: it must not look whole.
func (x *exchange) run() {
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.pass.ctx, func() { cancel(context.Cause(x.pass.ctx)) })()
	deadline := time.AfterFunc(x.proxy.bounds.Request, func() { cancel(errors.New("the request took too long")) })
	defer deadline.Stop()
	from := &bodyReader{from: http.MaxBytesReader(x.w, x.r.Body, x.proxy.bounds.Body), rooms: [...]*room{&x.pass.room, &x.proxy.room}}
	defer from.leave()
	if refused := x.prepare(ctx, from); refused != nil {
		x.release(ctx)
		x.rec.refuse(x.w, refused)
		return
	}
	refused, cut := x.exchange(ctx, cancel)
	x.settle(ctx)
	if refused != nil {
		x.rec.refuse(x.w, refused)
	}
	if cut != nil {
		x.rec.cause = cut
		panic(http.ErrAbortHandler)
	}
}

// prepare does everything before the API is asked, the reservation last. A request that the
// accounts would refuse anyway is not read.
func (x *exchange) prepare(ctx context.Context, from io.Reader) (refused *answer) {
	p := x.proxy
	var limits []Budget
	x.names, limits = p.book.accountsOf(x.pass.grant.Conversation, x.pass.grant.Budget)
	if refused = x.foresee(ctx, limits); refused != nil {
		return refused
	}
	_ = x.rc.SetReadDeadline(time.Now().Add(p.bounds.Read))
	if x.body, refused = readBody(x.r, from, p.bounds.Body); refused != nil {
		return refused
	}
	_ = x.rc.SetReadDeadline(time.Time{})
	var most Amount
	if x.metered {
		var err error
		if x.ask, err = readAsk(x.body); err != nil {
			return &answer{status: http.StatusBadRequest, kind: kindInvalid, text: "The proxy cannot read the request.", cause: err}
		}
		most = p.price.amount(x.ask.Model, x.ask.usage())
		x.rec.attrs = append(x.rec.attrs, slog.String("model", x.ask.Model[:min(len(x.ask.Model), longest)]))
	}
	var err error
	if x.credential, err = p.purse.of(ctx, x.pass.grant.Conversation); err != nil {
		return &answer{status: http.StatusServiceUnavailable, kind: kindInternal, text: "The proxy cannot get its credential at this moment.", retry: time.Second, cause: err}
	}
	x.request = request{id: uuid.New(), limit: limits, hold: Hold{most, time.Now().Add(p.bounds.Request + p.bounds.Wait)}}
	return x.reserve(ctx)
}

func (x *exchange) reserve(ctx context.Context) *answer {
	ctx, cancel := context.WithTimeout(ctx, x.proxy.bounds.Wait+short)
	defer cancel()
	refused, err := x.proxy.book.reserve(ctx, x.names, x.request, x.proxy.bounds.Wait)
	return refusedAnswer(refused, err, x.request.limit)
}

// foresee refuses a request whose accounts have nothing left, whatever it asks for.
func (x *exchange) foresee(ctx context.Context, limits []Budget) *answer {
	if !slices.ContainsFunc(limits, func(b Budget) bool { return b != Budget{} }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, short)
	defer cancel()
	refused, err := x.proxy.book.foresee(ctx, x.names, limits)
	return refusedAnswer(refused, err, limits)
}

// refusedAnswer returns the answer to a request that its accounts do not admit, nil if they do.
func refusedAnswer(refused *refusal, err error, limits []Budget) *answer {
	if err != nil {
		return &answer{status: http.StatusServiceUnavailable, kind: kindInternal, text: "The proxy cannot count costs at this moment.", retry: time.Second, cause: err}
	}
	if refused == nil {
		return nil
	}
	whose := "conversation"
	if refused.account > 0 {
		whose = "tenant"
	}
	switch refused.verdict {
	case tooOften:
		return &answer{status: http.StatusTooManyRequests, kind: kindRate, text: "The request rate of this " + whose + " is used up.", retry: refused.wait}
	case waits:
		return &answer{status: http.StatusTooManyRequests, kind: kindRate, text: "The rest of the budget of this " + whose + " is reserved by other requests.", retry: lookAgain}
	}
	return &answer{status: http.StatusPaymentRequired, kind: kindBilling, text: spentText(whose, refused.spent, limits[refused.account])}
}

// spentText tells the user that a budget is spent.
func spentText(whose string, a Amount, l Budget) string {
	var parts []string
	if l.USD > 0 && a.USD >= l.USD {
		parts = append(parts, fmt.Sprintf("$%.2f of $%.2f", a.USD, l.USD))
	}
	if l.Tokens > 0 && a.Tokens >= l.Tokens {
		parts = append(parts, fmt.Sprintf("%d of %d tokens", a.Tokens, l.Tokens))
	}
	text := "The budget of this " + whose + " is spent: " + strings.Join(parts, ", ") + "."
	if l.Every > 0 {
		text += fmt.Sprintf(" The next one begins at %s.", time.Now().UTC().Truncate(l.Every).Add(l.Every).Format("2006-01-02 15:04 MST"))
	}
	return text
}

// exchange asks the API and passes its answer on. refused is an answer of the proxy's own
// instead; cut says that the answer has begun and cannot be completed.
func (x *exchange) exchange(ctx context.Context, cancel context.CancelCauseFunc) (refused *answer, cut error) {
	req, err := x.upstream(ctx)
	if err != nil {
		return &answer{status: http.StatusBadGateway, kind: kindInternal, text: "The proxy cannot ask the API.", cause: err}, nil
	}
	resp, err := x.proxy.transport.RoundTrip(req)
	if err != nil {
		if x.pass.ctx.Err() != nil {
			return endedAnswer(context.Cause(x.pass.ctx)), nil
		}
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return &answer{status: http.StatusBadGateway, kind: kindInternal, text: "The proxy cannot reach the API.", cause: x.hidden(err)}, nil
	}
	defer resp.Body.Close()
	x.status = resp.StatusCode
	if id := resp.Header.Get("Request-Id"); id != "" {
		x.rec.attrs = append(x.rec.attrs, slog.String("request_id", id[:min(len(id), longest)]))
	}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return &answer{status: http.StatusBadGateway, kind: kindInternal, text: "The API has answered with a redirect, which the proxy does not follow."}, nil
	case resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden:
		x.proxy.purse.forget(x.pass.grant.Conversation) // the next request asks for a new one
	}
	if resp.StatusCode >= 400 {
		return nil, x.passError(resp)
	}
	return nil, x.passAnswer(ctx, cancel, resp)
}

// upstream makes the request for the API.
func (x *exchange) upstream(ctx context.Context) (*http.Request, error) {
	u := *x.proxy.upstream
	u.Path += x.r.URL.Path
	if !strings.Contains(x.r.URL.RawQuery, x.pass.sentinel) {
		u.RawQuery = x.r.URL.RawQuery
	}
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, x.r.Method, u.String(), bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	if len(x.body) == 0 {
		req.Body, req.GetBody = http.NoBody, nil
	}
	req.Header = upstreamHeader(x.r.Header, x.pass.sentinel)
	x.credential.set(req.Header)
	return req, nil
}

// maxError is how much of an error is passed on.
const maxError = 1 << 20

// passError passes an error of the API on as it is, but never with the secret: gateways
// are known to repeat it. A text in an encoding for which the proxy has not asked could
// hide it, and is replaced, and so is one that has it with escapes.
func (x *exchange) passError(resp *http.Response) (cut error) {
	idle := time.AfterFunc(x.proxy.bounds.Idle, func() { _ = resp.Body.Close() })
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	idle.Stop()
	if err != nil {
		return x.hidden(err)
	}
	downstreamHeader(x.w.Header(), resp.Header, x.credential.Secret)
	clean, whole := masked(text, x.credential.Secret, len(text) == maxError)
	if e := resp.Header.Get("Content-Encoding"); !whole || e != "" && e != "identity" {
		clean = []byte(unreadable)
		x.w.Header().Del("Content-Encoding")
		x.w.Header().Set("Content-Type", "application/json")
	}
	x.w.Header().Del("Content-Length")
	x.rec.status = resp.StatusCode
	x.rec.cause = errors.New("the API has answered with an error")
	x.w.WriteHeader(resp.StatusCode)
	_, _ = x.w.Write(clean)
	return nil
}

// passAnswer passes an answer on, piece by piece as it comes. The client has a piece before
// the meter looks at it.
func (x *exchange) passAnswer(ctx context.Context, cancel context.CancelCauseFunc, resp *http.Response) (cut error) {
	x.meter = newMeter(resp.Header.Get("Content-Type"), resp.Header.Get("Content-Encoding"))
	downstreamHeader(x.w.Header(), resp.Header, x.credential.Secret)
	x.rec.status = resp.StatusCode
	x.w.WriteHeader(resp.StatusCode)
	_ = x.rc.Flush()
	defer x.rc.SetWriteDeadline(time.Time{})
	idle := time.AfterFunc(x.proxy.bounds.Idle, func() { cancel(errIdle) })
	defer idle.Stop()
	buffer := make([]byte, 32<<10)
	for {
		n, err := resp.Body.Read(buffer)
		if n > 0 {
			idle.Reset(x.proxy.bounds.Idle)
			_ = x.rc.SetWriteDeadline(time.Now().Add(x.proxy.bounds.Idle))
			_, failed := x.w.Write(buffer[:n])
			if failed == nil {
				failed = x.rc.Flush()
			}
			x.meter.take(buffer[:n])
			if failed != nil && !errors.Is(failed, http.ErrNotSupported) {
				return fmt.Errorf("the client has gone: %w", failed)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			x.meter.end()
			return nil
		case err != nil:
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			return x.hidden(err)
		}
	}
}

// release takes back what a refused request may have reserved: an attempt that failed, or
// that others forestalled, can have reached one account and not the other.
func (x *exchange) release(ctx context.Context) {
	if x.request.id == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), short)
	defer cancel()
	if err := x.proxy.book.release(ctx, x.names, x.request); err != nil {
		x.proxy.log.Error("egress: it is not known whether a refused request has reserved something, which would count when its time is over",
			"conversation", x.pass.grant.Conversation.ID, "error", err)
	}
}

// settle replaces the reservation with the cost of the answer.
func (x *exchange) settle(ctx context.Context) {
	cost := x.cost()
	if x.metered {
		x.rec.attrs = append(x.rec.attrs, slog.Int64("tokens", cost.Tokens), slog.Float64("usd", cost.USD))
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), short)
	defer cancel()
	if err := x.proxy.book.settle(ctx, x.names, x.request, cost); err != nil {
		x.proxy.log.Error("egress: the cost of a request could not be written, so all that it had reserved will count",
			"conversation", x.pass.grant.Conversation.ID, "error", err)
	}
}

// cost returns the cost of the request. An unknown part counts as reserved.
func (x *exchange) cost() Amount {
	switch {
	case !x.metered:
		return Amount{}
	case x.status == 0 && x.wrote.Load():
		return x.proxy.price.amount(x.ask.Model, x.ask.taken())
	case x.meter == nil: // it did not reach the API, or the API refused it
		return Amount{}
	}
	used, known := x.meter.spent()
	if !known {
		return x.request.hold.Amount
	}
	model := x.meter.model
	if model == "" {
		model = x.ask.Model
	}
	x.rec.attrs = append(x.rec.attrs, slog.Int("input_tokens", used.InputTokens), slog.Int("output_tokens", used.OutputTokens),
		slog.Int("cache_creation_tokens", used.CacheCreationInputTokens), slog.Int("cache_read_tokens", used.CacheReadInputTokens))
	return x.proxy.price.amount(model, used)
}

// hidden returns an error without the secret.
func (x *exchange) hidden(err error) error {
	if text := err.Error(); strings.Contains(text, x.credential.Secret) {
		return errors.New(strings.ReplaceAll(text, x.credential.Secret, mask))
	}
	return err
}
