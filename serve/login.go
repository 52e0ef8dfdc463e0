package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/login"
	"github.com/claude-agent-go/claude/store"
)

// Login logs a user in with a one-time token or a bearer token, and sets the cookie.
// The request is the one that carries the token.
func (s *Service) Login(w http.ResponseWriter, r *http.Request, token string) error {
	address, token := s.access.clientOf(r), strings.TrimSpace(token)
	text, u, life, err := s.gate.LogIn(r.Context(), token, address, browserOf(r))
	if errors.Is(err, login.ErrUnknown) {
		if s.gate.Failed(address, token) {
			p := limited.because("too many logins have failed; wait a minute. A link or token that works is accepted at any time")
			p.RetryAfter = 60
			return p
		}
		s.opts.Logger.Warn("serve: a login failed", "address", address)
		return unauthorized.because("the token is unknown, was used, or has expired: \"claudectl serve login\" prints another")
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: logged in", "user", u.Name, "role", u.Role, "address", address)
	http.SetCookie(w, s.access.cookie(text, life))
	return nil
}

// LoginUser returns the user whom a token would log in, without using it up, so that a
// page can ask before it changes the user of a browser. The error is a problem if the
// token does not work.
func (s *Service) LoginUser(ctx context.Context, token string) (api.User, error) {
	c, _, err := s.gate.Check(ctx, strings.TrimSpace(token), login.Once, login.Bearer)
	if errors.Is(err, login.ErrUnknown) {
		return api.User{}, unauthorized.because("the token is unknown, was used, or has expired")
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	return c.Account(), nil
}

// ProviderName returns the name of the login provider, empty if there is none.
func (s *Service) ProviderName() string {
	if s.opts.Login == nil {
		return ""
	}
	return s.opts.Login.Name()
}

// LoginReturn is the path to which a [LoginProvider] sends browsers back. A page calls
// [Service.FinishLogin] there. People register it with the provider.
const LoginReturn = "/login/return"

// BeginLogin begins a login with the provider of the options. It sets a cookie that
// remembers the attempt, and returns the address to which the page must send the browser.
// After the login, FinishLogin returns to.
func (s *Service) BeginLogin(w http.ResponseWriter, r *http.Request, to string) (address string, err error) {
	return s.provider.begin(w, r, to)
}

// FinishLogin logs a browser in that the provider has sent back, and sets the cookie. It
// returns where the user wanted to go; this comes from the browser, so check it.
func (s *Service) FinishLogin(w http.ResponseWriter, r *http.Request) (to string, err error) {
	return s.provider.finish(w, r)
}

// Logout ends the login of the request's cookie.
func (s *Service) Logout(w http.ResponseWriter, r *http.Request) error {
	if u, ok := UserOf(r.Context()); ok && u.Login != "" {
		if err := s.gate.LogOut(r.Context(), u.Login); err != nil {
			return problemOf(err)
		}
		if err := s.pusher.forget(r.Context(), u.Login); err != nil {
			return problemOf(err)
		}
		s.opts.Logger.Info("serve: logged out", "user", u.Name, "address", u.Address)
	}
	http.SetCookie(w, s.access.cookie("", -time.Second))
	return nil
}

// IssueLogin makes a one-time token that logs a user in, within five minutes.
func (s *Service) IssueLogin(ctx context.Context, u api.User) (token string, err error) {
	return IssueLogin(ctx, s.opts.Records, s.opts.Project, u)
}

// IssueLogin makes a one-time token for a server that uses the same records, from
// another process.
func IssueLogin(ctx context.Context, r store.Records, project string, u api.User) (token string, err error) {
	if !usableName(u.Name) || !u.Role.Valid() {
		return "", fmt.Errorf("claude: serve: a login needs a name of at most %d characters in one line and a role, not %.120q and %q", maxUserName, u.Name, u.Role)
	}
	token, _, err = login.New(r, project).Issue(ctx, login.Once, login.Credential{User: u.Name, Role: u.Role}, login.OnceLife)
	return token, err
}

// IssueToken makes a bearer token for a server that uses the same records, from
// another process.
func IssueToken(ctx context.Context, r store.Records, project string, t api.NewToken) (api.CreatedToken, error) {
	return issueToken(ctx, login.New(r, project), t, "")
}

func issueToken(ctx context.Context, g *login.Authenticator, t api.NewToken, by string) (api.CreatedToken, error) {
	switch {
	case t.Name == "" || len(t.Name) > maxTitle:
		return api.CreatedToken{}, badRequest.because("the token needs a name of at most %d bytes that says what it is for", maxTitle)
	case !usableName(t.User):
		return api.CreatedToken{}, badRequest.because("the token needs a user: a name of at most %d characters in one line, without any that are not seen", maxUserName)
	case !t.Role.Valid():
		return api.CreatedToken{}, badRequest.because("unknown role %q", t.Role)
	}
	return g.IssueToken(ctx, t, by)
}

// Tokens lists the bearer tokens.
func (s *Service) Tokens(ctx context.Context, u api.User) (api.List[api.TokenInfo], error) {
	if err := need(u, api.RoleAdmin); err != nil {
		return api.List[api.TokenInfo]{Items: []api.TokenInfo{}}, err
	}
	items, err := s.gate.Tokens(ctx)
	if err != nil {
		return api.List[api.TokenInfo]{Items: items}, problemOf(err)
	}
	return api.List[api.TokenInfo]{Items: items}, nil
}

// IssueToken makes a bearer token.
func (s *Service) IssueToken(ctx context.Context, u api.User, t api.NewToken) (api.CreatedToken, error) {
	if err := need(u, api.RoleAdmin); err != nil {
		return api.CreatedToken{}, err
	}
	if t.User == "" {
		t.User = u.Name
	}
	made, err := issueToken(ctx, s.gate, t, u.Name)
	if err != nil {
		return api.CreatedToken{}, problemOf(err)
	}
	s.opts.Logger.Info("serve: made a token", "token", made.ID, "for", made.User, "role", made.Role, "user", u.Name, "address", u.Address)
	return made, nil
}

// RevokeToken revokes a bearer token.
func (s *Service) RevokeToken(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.RoleAdmin); err != nil {
		return err
	}
	if err := s.gate.Revoke(ctx, id); err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: revoked a token", "token", id, "user", u.Name, "address", u.Address)
	return nil
}

// Logins lists the browsers in which the user is logged in, the newest first, with at
// most the role that the user has here. Admins see those of all users. Logins that have
// expired, or ended with their token, are left out.
func (s *Service) Logins(ctx context.Context, u api.User) (api.List[api.LoginInfo], error) {
	if err := need(u, api.RoleViewer); err != nil {
		return api.List[api.LoginInfo]{Items: []api.LoginInfo{}}, err
	}
	items, err := s.gate.Logins(ctx, u)
	if err != nil {
		return api.List[api.LoginInfo]{Items: items}, problemOf(err)
	}
	return api.List[api.LoginInfo]{Items: items}, nil
}

// EndLogin ends a login that [Service.Logins] lists for the user. Its browser must log
// in again with its next request, and its open streams end soon.
func (s *Service) EndLogin(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.RoleViewer); err != nil {
		return err
	}
	of, err := s.gate.End(ctx, u, id)
	if err == nil {
		err = s.pusher.forget(ctx, id)
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: ended a login", "login", id, "of", of, "user", u.Name, "address", u.Address)
	return nil
}

// PushKey returns the public key with which a browser subscribes to this server, empty if
// there are no pushes.
func (s *Service) PushKey(ctx context.Context) (string, error) {
	if s.pusher == nil {
		return "", nil
	}
	self, err := s.pusher.self(ctx)
	if err != nil {
		return "", problemOf(err)
	}
	return self.Public()
}

// Subscribe lets the browser of the user's login receive notices of approvals, until the
// login ends. A browser has one subscription: a newer one takes its place.
func (s *Service) Subscribe(ctx context.Context, u api.User, t PushTarget) error {
	if err := need(u, api.RoleApprover); err != nil {
		return err
	}
	switch {
	case s.pusher == nil:
		return unsupported.because("this server does not push notices")
	case u.Login == "":
		return badRequest.because("only a browser that has logged in here can subscribe: the subscription ends with its login")
	}
	if err := s.pusher.subscribe(ctx, u.Login, t); err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: subscribed", "user", u.Name, "address", u.Address)
	return nil
}

// Unsubscribe ends the subscription of the user's login. It is not an error if there is
// none.
func (s *Service) Unsubscribe(ctx context.Context, u api.User) error {
	if err := need(u, api.RoleViewer); err != nil || u.Login == "" {
		return err
	}
	if err := s.pusher.forget(ctx, u.Login); err != nil {
		return problemOf(err)
	}
	return nil
}
