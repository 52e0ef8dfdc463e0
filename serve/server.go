package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Server serves the conversations of a fleet. It is an [http.Handler] whose paths
// begin at the root of its host. Its methods may be called from any goroutine. Close
// ends it; close it before the fleet.
type Server struct {
	service *Service
	mux     *http.ServeMux
	origins *http.CrossOriginProtection
	openAPI func() ([]byte, error)

	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	streams streamCount
	editors editorCount
}

// New makes a server. It begins at once to record what happens in the conversations of
// the fleet.
func New(f fleet.Conversations, o Options) (*Server, error) {
	o = o.withDefaults()
	switch {
	case f == nil:
		return nil, errors.New("claude: serve: the fleet is missing")
	case o.Records == nil:
		return nil, errors.New("claude: serve: Options.Records is missing")
	case !o.ProxyRole.Valid():
		return nil, errors.New("claude: serve: Options.ProxyRole is not a role")
	case o.ProxyHeader != "" && len(o.ProxyFrom) == 0 && !o.ProxySocket:
		return nil, errors.New("claude: serve: Options.ProxyHeader needs ProxyFrom or ProxySocket: otherwise anyone could use any name")
	}
	if err := errors.Join(checkOrigins(o.Origins), o.Push.check()); err != nil {
		return nil, err
	}
	if err := store.CheckProject(o.Project); err != nil {
		return nil, err
	}
	if err := checkPresets(o.Presets); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{ctx: ctx, cancel: cancel, mux: http.NewServeMux(), origins: http.NewCrossOriginProtection()}
	s.streams.users = make(map[string]int)
	s.service = newService(ctx, f, o)
	if err := s.start(); err != nil {
		cancel()
		return nil, err
	}
	return s, nil
}

// checkOrigins refuses an origin that no browser would send.
func checkOrigins(origins []string) error {
	for _, origin := range origins {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+strings.ToLower(u.Host) != origin {
			return fmt.Errorf("claude: serve: Options.Origins: %q is not an origin such as https://app.example", origin)
		}
	}
	return nil
}

// start makes the page and the routes, and starts the goroutines.
func (s *Server) start() error {
	var err error
	if make := s.service.opts.Page; make != nil {
		if s.service.page, err = make(s.service); err != nil {
			return err
		}
	}
	if err := s.route(); err != nil {
		return err
	}
	s.work.Go(func() { s.service.journal.watchApprovals(s.ctx) })
	s.work.Go(func() { s.service.logs.pulse.run(s.ctx) })
	if p := s.service.pusher; p != nil {
		s.work.Go(func() { p.run(s.ctx) })
	}
	s.work.Go(func() { s.service.recovery.recoverAll(s.ctx) })
	s.work.Go(func() { s.service.recovery.recoverForks(s.ctx) })
	s.work.Go(func() { s.service.recovery.forgetOften(s.ctx) })
	folders := newWorkspaces(s.service.opts.Records, s.service.opts.Project, s.service.opts.Presets, nil)
	s.work.Go(func() { folders.clearOften(s.ctx, s.service.journal) })
	return nil
}

// Service returns the service, for programs that embed the server.
func (s *Server) Service() *Service { return s.service }

// Remark adds a line to the timeline of a conversation, which is named by its key in the
// fleet, for everyone who may see it: what the program around the server knows and the
// conversation does not say, such as the reason why a proxy has refused a host. The text is
// that of the program, and the page shows it as text.
func (s *Server) Remark(ctx context.Context, key, text string) error {
	known, err := s.service.logs.exists(ctx, key)
	switch {
	case err != nil:
		return err
	case !known:
		return fmt.Errorf("claude: serve: remark: conversation %q: %w", key, store.ErrNotFound)
	}
	return s.service.journal.notice(ctx, api.User{}, key, text)
}

// LoginLink returns a link that logs a user in once, within five minutes. The token is
// in the fragment, which browsers do not send, so it reaches no log. base is the
// address of the server, such as http://127.0.0.1:8080.
func (s *Server) LoginLink(ctx context.Context, base string, u api.User) (string, error) {
	token, err := s.service.IssueLogin(ctx, u)
	if err != nil {
		return "", err
	}
	return LoginLink(base, token), nil
}

// LoginLink returns the address of the login with a one-time token.
func LoginLink(base, token string) string {
	return strings.TrimSuffix(base, "/") + "/login#t=" + url.QueryEscape(token)
}

// Close ends the event streams, the connections of editors and all background work, and
// waits for all but the streams to end. It cuts off an editor that does not answer
// after some seconds. It does not close the fleet.
func (s *Server) Close() error {
	s.cancel()
	s.editors.close()
	s.service.logs.close()
	s.work.Wait()
	s.service.logs.pulse.last()
	return nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.service.opts.Trace != nil {
		s.serveTraced(w, r)
	} else {
		s.serve(w, r)
	}
}

// serve checks the host and the origin of a request, and then serves it.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	if !s.service.access.allowedHost(r.Host) {
		write(misdirected.because("open the address that the server printed, or start it with --host %s", cleanHost(r.Host)), w, r)
		return
	}
	if s.service.access.strict(r) {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
	timeBody(w, r)
	if r, ok := s.invited(w, r); ok {
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		s.mux.ServeHTTP(w, r)
		return
	}
	if err := s.origins.Check(r); err != nil {
		write(crossSite.because("open the page of this server itself, and try again there"), w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

// invited reports whether a request to AG-UI comes from another site that the options
// name. It returns the request without anything that a browser adds by itself, so that
// only a bearer token can identify the user.
func (s *Server) invited(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	o := &s.service.opts
	origin := r.Header.Get("Origin")
	if !strings.HasPrefix(r.URL.Path, "/ag-ui/") || !slices.Contains(o.Origins, origin) {
		return r, false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
	h.Set("Access-Control-Allow-Methods", "POST")
	h.Set("Access-Control-Max-Age", "600")
	h.Add("Vary", "Origin")
	r = r.Clone(r.Context())
	r.Header.Del("Cookie")
	if o.ProxyHeader != "" {
		r.Header.Del(o.ProxyHeader)
	}
	return r, true
}

// cleanHost returns a host name that is safe to repeat in an answer.
func cleanHost(host string) string {
	clean := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(".-:[]", c) {
			return c
		}
		return -1
	}, host)
	return clean[:min(len(clean), 100)]
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	h.Set("X-Frame-Options", "DENY")
}

const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types page"

// streamCount counts the open streams.
type streamCount struct {
	mu    sync.Mutex
	all   int
	users map[string]int
}

// enter counts a stream, unless there are too many.
func (c *streamCount) enter(user string, perUser, all int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= all || c.users[user] >= perUser {
		return false
	}
	c.all++
	c.users[user]++
	return true
}

func (c *streamCount) leave(user string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.users[user]--; c.users[user] == 0 {
		delete(c.users, user)
	}
}
