package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// What a credential is for. The first letters of a token say so, and people who
// find one in a log know what to revoke.
const (
	bearerPrefix = "cct_" // in the header Authorization
	loginPrefix  = "ccl_" // once, for a cookie
	cookiePrefix = "ccs_" // in a cookie
)

// How long credentials work.
const (
	loginLife   = 5 * time.Minute
	cookieLife  = 30 * 24 * time.Hour
	cookieRenew = 24 * time.Hour // how often the life of a cookie starts again
)

// credential is a token as it is kept: only the hash of its secret is.
type credential struct {
	ID      string    `json:"id"`
	Hash    string    `json:"hash"`
	Name    string    `json:"name,omitzero"`
	User    string    `json:"user"`
	Role    api.Role  `json:"role"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	// Browser is how the browser of a login calls itself.
	Browser string `json:"browser,omitzero"`
	// Parent is the bearer token that a login was made with. It ends with it.
	Parent string `json:"parent,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// authenticator knows who a token or a cookie belongs to.
type authenticator struct {
	records store.Records
	project string
	guesses guesses
}

func (g *authenticator) at(kind, id string) store.RecordKey {
	return store.RecordKey{Project: g.project, Kind: kind, Name: id}
}

// kindOfToken says where a token is kept, by how it begins.
func kindOfToken(token string) (kind, rest string) {
	for prefix, kind := range map[string]string{bearerPrefix: kindToken, loginPrefix: kindLogin, cookiePrefix: kindLogin} {
		if rest, ok := strings.CutPrefix(token, prefix); ok {
			return kind, prefix[:3] + "-" + rest
		}
	}
	return "", ""
}

// issue makes a credential and returns its text, which is not kept.
func (g *authenticator) issue(ctx context.Context, prefix string, c credential, life time.Duration) (string, credential, error) {
	now, err := g.records.Now(ctx)
	if err != nil {
		return "", c, err
	}
	id, secret := make([]byte, 8), make([]byte, 32)
	rand.Read(id) // never fails
	rand.Read(secret)
	c.Created = now.UTC()
	if life > 0 {
		c.Expires = now.Add(life).UTC()
	}
	text := base64.RawURLEncoding.EncodeToString(secret)
	token := prefix + hex.EncodeToString(id) + "." + text
	kind, rest := kindOfToken(token)
	c.ID, _, _ = strings.Cut(rest, ".")
	c.Hash = hashOf(text)
	_, err = putRecord(ctx, g.records, g.at(kind, c.ID), &c, 0)
	return token, c, err
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// errCredential means that a token does not work, or not anymore.
var errCredential = errors.New("claude: serve: unknown or expired token")

// check returns the credential of a token that works now.
func (g *authenticator) check(ctx context.Context, token string, prefixes ...string) (credential, int64, error) {
	kind, rest := kindOfToken(token)
	id, secret, ok := strings.Cut(rest, ".")
	if !ok || !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(token, p) }) {
		return credential{}, 0, errCredential
	}
	c, revision, err := getRecord[credential](ctx, g.records, g.at(kind, id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return c, 0, err
	}
	if subtle.ConstantTimeCompare([]byte(c.Hash), []byte(hashOf(secret))) != 1 {
		return credential{}, 0, errCredential
	}
	now, err := g.records.Now(ctx)
	if err != nil {
		return c, 0, err
	}
	works, err := g.works(ctx, &c, now)
	if err != nil { // a token that may have been revoked lets nobody in
		return credential{}, 0, err
	}
	if !works {
		_ = g.records.DropRecord(ctx, g.at(kind, id), revision, store.Fence{}) // it is of no use
		return credential{}, 0, errCredential
	}
	return c, revision, nil
}

// works reports whether a credential has not expired, and the token that it was made
// with has neither expired nor been revoked.
func (g *authenticator) works(ctx context.Context, c *credential, now time.Time) (bool, error) {
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return false, nil
	}
	if c.Parent == "" {
		return true, nil
	}
	parent, _, err := getRecord[credential](ctx, g.records, g.at(kindToken, c.Parent))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && (parent.Expires.IsZero() || now.Before(parent.Expires)), err
}

// redeem uses up a one-time token.
func (g *authenticator) redeem(ctx context.Context, token string) (credential, error) {
	c, revision, err := g.check(ctx, token, loginPrefix)
	if err != nil {
		return c, err
	}
	err = g.records.DropRecord(ctx, g.at(kindLogin, c.ID), revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return credential{}, errCredential // somebody was faster
	}
	return c, err
}

// renew starts the life of a cookie again, once a day.
func (g *authenticator) renew(ctx context.Context, c credential, revision int64) (renewed bool) {
	now, err := g.records.Now(ctx)
	if err != nil || c.Parent != "" || c.Expires.Sub(now) > cookieLife-cookieRenew {
		return false
	}
	c.Expires = now.Add(cookieLife).UTC()
	_, err = putRecord(ctx, g.records, g.at(kindLogin, c.ID), &c, revision)
	return err == nil
}

// Login logs somebody in with a one-time token or a bearer token, and sets the
// cookie. The request is the one that carries the token.
func (s *Service) Login(w http.ResponseWriter, r *http.Request, token string) error {
	address, token := s.clientOf(r), strings.TrimSpace(token)
	ctx := r.Context()
	c, err := s.gate.redeem(ctx, token)
	if errors.Is(err, errCredential) {
		c, _, err = s.gate.check(ctx, token, bearerPrefix)
	}
	if errors.Is(err, errCredential) {
		if s.gate.guesses.add(time.Now(), guessed(address, token)...) {
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
	login, life := credential{User: c.User, Role: c.Role, By: address, Browser: browserOf(r)}, cookieLife
	if strings.HasPrefix(c.ID, bearerPrefix[:3]) { // a login does not outlive its token
		login.Parent = c.ID
		if !c.Expires.IsZero() {
			now, err := s.opts.Records.Now(ctx) // the clock that counts
			if err != nil {
				return problemOf(err)
			}
			life = max(time.Nanosecond, min(life, c.Expires.Sub(now))) // 0 would be without an end
		}
	}
	text, _, err := s.gate.issue(ctx, cookiePrefix, login, life)
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: logged in", "user", c.User, "role", c.Role, "address", address)
	http.SetCookie(w, s.cookie(text, life))
	return nil
}

// LoginUser returns whom a token would log in, without using it up. It lets a page ask
// before it changes the user of a browser. The error is a problem if the token does not
// work.
func (s *Service) LoginUser(ctx context.Context, token string) (api.User, error) {
	c, _, err := s.gate.check(ctx, strings.TrimSpace(token), loginPrefix, bearerPrefix)
	if errors.Is(err, errCredential) {
		return api.User{}, unauthorized.because("the token is unknown, was used, or has expired")
	}
	if err != nil {
		return api.User{}, problemOf(err)
	}
	return api.User{Name: c.User, Role: c.Role}, nil
}

// Logout ends the login of the request's cookie.
func (s *Service) Logout(w http.ResponseWriter, r *http.Request) error {
	if u, ok := UserOf(r.Context()); ok && u.Login != "" {
		if err := dropRecord(r.Context(), s.opts.Records, s.gate.at(kindLogin, u.Login)); err != nil {
			return problemOf(err)
		}
		s.opts.Logger.Info("serve: logged out", "user", u.Name, "address", u.Address)
	}
	http.SetCookie(w, s.cookie("", -time.Second))
	return nil
}

// cookieName has the port, because cookies do not know ports.
func (s *Service) cookieName() string {
	if s.opts.Port == 0 {
		return "claude-serve"
	}
	return "claude-serve-" + strconv.Itoa(s.opts.Port)
}

// cookie makes the cookie. It is Lax, so that links from mails and chats work.
func (s *Service) cookie(text string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: text, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.opts.Secure, SameSite: http.SameSiteLaxMode,
	}
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
	g := &authenticator{records: r, project: project}
	token, _, err = g.issue(ctx, loginPrefix, credential{User: u.Name, Role: u.Role}, loginLife)
	return token, err
}

// IssueToken makes a bearer token for a server that uses the same records, from
// another process.
func IssueToken(ctx context.Context, r store.Records, project string, t api.NewToken) (api.CreatedToken, error) {
	g := &authenticator{records: r, project: project}
	return g.token(ctx, t, "")
}

func (g *authenticator) token(ctx context.Context, t api.NewToken, by string) (api.CreatedToken, error) {
	switch {
	case t.Name == "" || len(t.Name) > maxTitle:
		return api.CreatedToken{}, badRequest.because("the token needs a name of at most %d bytes that says what it is for", maxTitle)
	case !usableName(t.User):
		return api.CreatedToken{}, badRequest.because("the token needs a user: a name of at most %d characters in one line, without any that are not seen", maxUserName)
	case !t.Role.Valid():
		return api.CreatedToken{}, badRequest.because("unknown role %q", t.Role)
	}
	c := credential{Name: t.Name, User: t.User, Role: t.Role, By: by}
	if t.Expires != nil {
		c.Expires = t.Expires.UTC()
	}
	secret, c, err := g.issue(ctx, bearerPrefix, c, 0)
	return api.CreatedToken{TokenInfo: c.info(), Secret: secret}, err
}

func (c *credential) info() api.TokenInfo {
	return api.TokenInfo{ID: c.ID, Name: c.Name, User: c.User, Role: c.Role, Created: c.Created, By: c.By, Expires: c.Expires}
}

// Tokens lists the bearer tokens.
func (s *Service) Tokens(ctx context.Context, u api.User) (api.List[api.TokenInfo], error) {
	out := api.List[api.TokenInfo]{Items: []api.TokenInfo{}}
	if err := need(u, api.Admin); err != nil {
		return out, err
	}
	for r, err := range s.opts.Records.Scan(ctx, store.Folder{Project: s.opts.Project, Kind: kindToken}, "") {
		var c credential
		if err == nil {
			err = decodeRecord(r, &c)
		}
		if err != nil {
			return out, problemOf(err)
		}
		out.Items = append(out.Items, c.info())
	}
	return out, nil
}

// IssueToken makes a bearer token.
func (s *Service) IssueToken(ctx context.Context, u api.User, t api.NewToken) (api.CreatedToken, error) {
	if err := need(u, api.Admin); err != nil {
		return api.CreatedToken{}, err
	}
	if t.User == "" {
		t.User = u.Name
	}
	made, err := s.gate.token(ctx, t, u.Name)
	if err != nil {
		return api.CreatedToken{}, problemOf(err)
	}
	s.opts.Logger.Info("serve: made a token", "token", made.ID, "for", made.User, "role", made.Role, "user", u.Name, "address", u.Address)
	return made, nil
}

// RevokeToken revokes a bearer token.
func (s *Service) RevokeToken(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.Admin); err != nil {
		return err
	}
	k := s.gate.at(kindToken, id)
	_, _, err := getRecord[credential](ctx, s.opts.Records, k)
	if err == nil {
		err = dropRecord(ctx, s.opts.Records, k)
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: revoked a token", "token", id, "user", u.Name, "address", u.Address)
	return nil
}
