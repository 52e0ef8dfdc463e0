package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// The kinds of credentials. A token begins with its kind, so that people who find one
// in a log know what to revoke.
const (
	bearerPrefix = "cct_" // in the header Authorization
	loginPrefix  = "ccl_" // once, for a cookie
	cookiePrefix = "ccs_" // in a cookie
)

// How long credentials work.
const (
	loginLife   = 5 * time.Minute
	cookieLife  = 30 * 24 * time.Hour
	cookieRenew = 24 * time.Hour // how often a cookie is renewed
)

// credential is a stored token: of the secret only the hash is kept.
type credential struct {
	ID      string    `json:"id"`
	Hash    string    `json:"hash"`
	Name    string    `json:"name,omitzero"`
	User    string    `json:"user"`
	Role    api.Role  `json:"role"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
	// Browser is the User-Agent of a login's browser.
	Browser string `json:"browser,omitzero"`
	// Parent is the bearer token that a login was made with. The login ends with it.
	Parent string `json:"parent,omitzero"`
	// Provider is the name of the [LoginProvider] that a login was made with. It is not
	// renewed, because the provider may stop to vouch for its user.
	Provider string `json:"provider,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// authenticator knows the owner of each token and cookie.
type authenticator struct {
	records store.Records
	project string
	guesses guesses
}

func (g *authenticator) at(kind, id string) store.RecordKey {
	return store.RecordKey{Project: g.project, Kind: kind, Name: id}
}

// kindOfToken returns where a token is kept, by its prefix.
func kindOfToken(token string) (kind, rest string) {
	for prefix, kind := range map[string]string{bearerPrefix: kindToken, loginPrefix: kindLogin, cookiePrefix: kindLogin} {
		if rest, ok := strings.CutPrefix(token, prefix); ok {
			return kind, prefix[:3] + "-" + rest
		}
	}
	return "", ""
}

// issue makes a credential and returns its text, which the server does not keep.
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
	_, err = recordio.Put(ctx, g.records, g.at(kind, c.ID), &c, 0)
	return token, c, err
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// errCredential means that a token is unknown, expired or revoked.
var errCredential = errors.New("claude: serve: unknown or expired token")

// check returns the credential of a valid token.
func (g *authenticator) check(ctx context.Context, token string, prefixes ...string) (credential, int64, error) {
	kind, rest := kindOfToken(token)
	id, secret, ok := strings.Cut(rest, ".")
	if !ok || !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(token, p) }) {
		return credential{}, 0, errCredential
	}
	c, revision, err := recordio.Get[credential](ctx, g.records, g.at(kind, id))
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
	if err != nil { // fail closed: the token may have been revoked
		return credential{}, 0, err
	}
	if !works {
		_ = store.Drop(ctx, g.records, g.at(kind, id), revision, store.Fence{}) // it will never work again
		return credential{}, 0, errCredential
	}
	return c, revision, nil
}

// works reports whether a credential is valid: neither it nor the token that it was
// made with has expired or been revoked.
func (g *authenticator) works(ctx context.Context, c *credential, now time.Time) (bool, error) {
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return false, nil
	}
	if c.Parent == "" {
		return true, nil
	}
	parent, _, err := recordio.Get[credential](ctx, g.records, g.at(kindToken, c.Parent))
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
	err = store.Drop(ctx, g.records, g.at(kindLogin, c.ID), revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return credential{}, errCredential // another request has used it
	}
	return c, err
}

// renew extends the life of a cookie, once a day.
func (g *authenticator) renew(ctx context.Context, c credential, revision int64) (renewed bool) {
	now, err := g.records.Now(ctx)
	if err != nil || c.Parent != "" || c.Provider != "" || c.Expires.Sub(now) > cookieLife-cookieRenew {
		return false
	}
	c.Expires = now.Add(cookieLife).UTC()
	_, err = recordio.Put(ctx, g.records, g.at(kindLogin, c.ID), &c, revision)
	return err == nil
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

// isLogin reports whether a credential is a login, not a one-time token for one.
func (c *credential) isLogin() bool { return strings.HasPrefix(c.ID, cookiePrefix[:3]) }

// manages reports whether the user may see and end a login. A token of a lesser role,
// which a program may hold, does not reach logins with a greater one.
func manages(u api.User, login *credential) bool {
	return u.Role == api.RoleAdmin || login.User == u.Name && u.Role.Covers(login.Role)
}
