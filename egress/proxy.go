package egress

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/secret"
)

// Proxy is a proxy. Make it with [New]. It is an [http.Handler] for your own server, or
// serves by itself: see [Proxy.Listen]. Its methods may be called from any goroutine.
type Proxy struct {
	upstream  *url.URL
	transport http.RoundTripper
	own       *http.Transport // to close, nil if it is not ours
	price     Price
	routing   routing
	gate      gate
	purse     *purse
	book      *book
	refused   func(c Conversation, target, reason string)
	log       *slog.Logger
	bounds    Bounds
	slots     chan struct{}
	room      room

	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	active sync.WaitGroup // handlers, tunnels and servers

	mu      sync.Mutex
	closed  bool
	passes  map[[sha256.Size]byte]*Pass
	servers []*http.Server
}

// New returns a proxy. Close it.
func New(o Options) (*Proxy, error) {
	if o.Credential == nil {
		return nil, errors.New("claude: egress: Credential is missing")
	}
	if o.KeepCredential < 0 {
		return nil, errors.New("claude: egress: KeepCredential is negative")
	}
	if err := o.Bounds.check(); err != nil {
		return nil, err
	}
	p := &Proxy{price: o.Price, routing: routing{o.Settings, append([]string(nil), o.AlsoAllow...)}, log: o.Logger, bounds: o.Bounds.orDefault(), passes: make(map[[sha256.Size]byte]*Pass)}
	if err := p.routing.check(); err != nil {
		return nil, err
	}
	var err error
	if p.upstream, err = parseUpstream(o.Upstream); err != nil {
		return nil, err
	}
	if p.gate, err = o.newGate(); err != nil {
		return nil, err
	}
	if p.transport = o.Transport; p.transport == nil {
		p.own = newTransport(p.bounds)
		p.transport = p.own
	}
	keep := o.KeepCredential
	if keep == 0 {
		keep = time.Minute
	}
	p.purse = &purse{ask: o.Credential, keep: keep, bound: short, asked: make(map[Conversation]*asking)}
	limits := o.TenantBudget
	if limits == nil {
		limits = func(string) Budget { return Budget{} }
	}
	accounts := o.Accounts
	if accounts == nil {
		accounts = MemoryAccounts()
	}
	p.book = newBook(accounts, limits)
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.refused = o.Refused; p.refused == nil {
		p.refused = func(Conversation, string, string) {}
	}
	p.slots = make(chan struct{}, p.bounds.Concurrent)
	p.room.most = p.bounds.Bodies
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	return p, nil
}

// Close revokes all passes, stops listening, cuts what is under way and waits until it is
// settled. It may be called more than once.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	servers := p.servers
	p.servers = nil
	clear(p.passes)
	p.mu.Unlock()
	p.cancel(errClosed)
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.Close())
	}
	p.active.Wait()
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
	return errors.Join(errs...)
}

// Serve answers requests on a listener until Close, which closes the listener. It returns
// nil then.
func (p *Proxy) Serve(l net.Listener) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: min(p.bounds.Read, 30*time.Second),
		IdleTimeout:       p.bounds.Idle,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		_ = l.Close()
		return fmt.Errorf("claude: egress: %w", errClosed)
	}
	p.servers = append(p.servers, server)
	p.active.Add(1)
	p.mu.Unlock()
	defer p.active.Done()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("claude: egress: %w", err)
	}
	return nil
}

// Listen serves in the background, until Close. network is "tcp", with an address of this
// machine such as "127.0.0.1:0", or "unix", with the path of a socket that only this user
// may open. It returns the URL for [Pass.Env]; a socket has none, and a forwarder inside
// the sandbox has its own.
//
// Whatever the proxy is asked is not encrypted, so Listen refuses addresses that other
// machines reach. Use Serve, with TLS, if that is what you want.
func (p *Proxy) Listen(network, address string) (baseURL string, err error) {
	var l net.Listener
	switch network {
	case "tcp", "tcp4", "tcp6":
		l, err = listenHere(network, address)
	case "unix":
		l, err = listenSocket(address)
	default:
		err = fmt.Errorf("unknown network %q", network)
	}
	if err != nil {
		return "", fmt.Errorf("claude: egress: listen: %w", err)
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.active.Add(1)
	}
	p.mu.Unlock()
	if closed {
		_ = l.Close()
		return "", fmt.Errorf("claude: egress: listen: %w", errClosed)
	}
	go func() {
		defer p.active.Done()
		if err := p.Serve(l); err != nil && !errors.Is(err, errClosed) {
			p.log.Error("egress: the proxy no longer listens", "error", err)
		}
	}()
	if network == "unix" {
		return "", nil
	}
	return "http://" + l.Addr().String(), nil
}

// listenHere listens on an address of this machine.
func listenHere(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	if at, ok := l.Addr().(*net.TCPAddr); !ok || !at.IP.IsLoopback() {
		_ = l.Close()
		return nil, fmt.Errorf("%s can be reached from other machines", l.Addr())
	}
	return l, nil
}

// enter takes a place for a request, or says why there is none.
func (p *Proxy) enter(pass *Pass) (leave func(), refused *answer) {
	full := &answer{status: http.StatusTooManyRequests, kind: kindRate, text: "The proxy has too many requests at this moment.", retry: time.Second}
	select {
	case pass.slots <- struct{}{}:
	default:
		return nil, full
	}
	select {
	case p.slots <- struct{}{}:
	default:
		<-pass.slots
		return nil, full
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.slots
		<-pass.slots
		return nil, endedAnswer(errClosed)
	}
	return func() {
		<-p.slots
		<-pass.slots
	}, nil
}

// endedAnswer refuses a sentinel. Which of the reasons it was is in the log.
func endedAnswer(cause error) *answer {
	return &answer{status: http.StatusUnauthorized, kind: kindLogin, text: "The proxy does not know this key, or its conversation has ended.", cause: cause}
}

var errUnknown = errors.New("unknown sentinel")

// admit returns the pass that a request presents.
func (p *Proxy) admit(ctx context.Context, candidates []string) (*Pass, *answer) {
	pass := p.passOf(candidates)
	if pass == nil {
		return nil, endedAnswer(errUnknown)
	}
	if pass.grant.Check != nil {
		ctx, cancel := context.WithTimeout(ctx, short)
		defer cancel()
		if err := pass.grant.Check(ctx); err != nil {
			return pass, endedAnswer(err)
		}
	}
	return pass, nil
}

// record is the log entry of a request.
type record struct {
	began  time.Time
	what   string
	pass   *Pass
	attrs  []slog.Attr
	status int
	cause  error
	done   func() // Close waits for it
}

// longest is how much of what a client sends is logged.
const longest = 200

// begin begins a record. [Proxy.Close] waits until it has been logged.
func (p *Proxy) begin(what string, r *http.Request, subject string) *record {
	done := func() {}
	p.mu.Lock()
	if !p.closed { // else nothing waits any more, and the request is refused
		p.active.Add(1)
		done = p.active.Done
	}
	p.mu.Unlock()
	return &record{began: time.Now(), what: what, done: done, attrs: []slog.Attr{
		slog.String("method", r.Method[:min(len(r.Method), longest)]), slog.String("target", subject[:min(len(subject), longest)]),
	}}
}

// end logs the record.
func (p *Proxy) end(rec *record) {
	defer rec.done()
	attrs := rec.attrs
	if rec.pass != nil {
		attrs = append(attrs, slog.String("conversation", rec.pass.grant.Conversation.ID), slog.String("tenant", rec.pass.grant.Conversation.Tenant))
	}
	attrs = append(attrs, slog.Int("status", rec.status), slog.Duration("duration", time.Since(rec.began)))
	level := slog.LevelInfo
	if rec.cause != nil {
		level = slog.LevelWarn
		attrs = append(attrs, slog.String("reason", secret.FromEnv(nil).Hide(rec.cause.Error())))
	}
	p.log.LogAttrs(context.Background(), level, rec.what, attrs...)
}

// refuse answers a request with an error.
func (rec *record) refuse(w http.ResponseWriter, a *answer) {
	rec.status = a.status
	if rec.cause = a.cause; rec.cause == nil {
		rec.cause = errors.New(a.text)
	}
	a.write(w)
}

// ServeHTTP answers one request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		p.connect(w, r)
		return
	}
	rec := p.begin("egress request", r, r.URL.EscapedPath())
	defer p.end(rec)
	does := p.routing.of(r.Method, r.URL.EscapedPath())
	if r.URL.Host != "" { // a plain http request to be passed on
		does = refuse
	}
	if does == present {
		rec.status = http.StatusOK
		return
	}
	pass, refused := p.admit(r.Context(), presented(r.Header))
	rec.pass = pass
	switch {
	case refused != nil:
	case does == refuse:
		refused = &answer{status: http.StatusForbidden, kind: kindRefused, text: "The proxy does not allow this request."}
	case does == setting:
		refused = &answer{status: http.StatusNotFound, kind: "not_found_error", text: "The proxy has no settings."}
	}
	if refused != nil {
		rec.refuse(w, refused)
		return
	}
	leave, refused := p.enter(pass)
	if refused != nil {
		rec.refuse(w, refused)
		return
	}
	defer leave()
	x := &exchange{proxy: p, pass: pass, rec: rec, w: w, r: r, rc: http.NewResponseController(w), metered: does == metered}
	x.run()
}

// readBody reads a body that is neither too large nor too slow.
func readBody(r *http.Request, from io.Reader, most int64) ([]byte, *answer) {
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, &answer{status: http.StatusUnsupportedMediaType, kind: kindInvalid, text: "The proxy does not take compressed requests."}
	}
	body, err := io.ReadAll(from)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, &answer{status: http.StatusRequestEntityTooLarge, kind: kindTooLarge, text: fmt.Sprintf("The request has more than %d bytes.", most)}
	case errors.Is(err, errNoRoom):
		return nil, &answer{status: http.StatusTooManyRequests, kind: kindRate, text: "The proxy has no room for this request at this moment.", retry: time.Second}
	case err != nil:
		return nil, &answer{status: http.StatusBadRequest, kind: kindInvalid, text: "The request did not arrive.", cause: err}
	}
	return body, nil
}
