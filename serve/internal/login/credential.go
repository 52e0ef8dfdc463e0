package login

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve/api"
)

// Kind is how a token begins, so that people who find one in a log know what to revoke.
type Kind string

// The kinds of tokens.
const (
	Bearer Kind = "cct_" // in the header Authorization
	Once   Kind = "ccl_" // once, for a cookie
	Cookie Kind = "ccs_" // in a cookie
)

// How long credentials work.
const (
	OnceLife    = 5 * time.Minute
	CookieLife  = 30 * 24 * time.Hour
	cookieRenew = 24 * time.Hour // how often a cookie is renewed
)

// The kinds of the records.
const (
	kindToken = "serve-token"
	kindLogin = "serve-login"
)

// record returns the kind of the records of such tokens.
func (k Kind) record() string {
	if k == Bearer {
		return kindToken
	}
	return kindLogin
}

// id returns how the names of such records begin.
func (k Kind) id() string { return string(k[:3]) + "-" }

// parse splits a token into its kind, the name of its record and its secret.
func parse(token string) (k Kind, id, secret string, ok bool) {
	for _, k := range []Kind{Bearer, Once, Cookie} {
		if rest, found := strings.CutPrefix(token, string(k)); found {
			id, secret, ok = strings.Cut(rest, ".")
			return k, k.id() + id, secret, ok
		}
	}
	return "", "", "", false
}

// Credential is a stored token: of the secret only the hash is kept.
type Credential struct {
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
	// Provider is the name of the provider that a login was made with. Such a login is
	// not renewed, because the provider may stop to vouch for its user.
	Provider string `json:"provider,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// Account returns the user of the credential.
func (c *Credential) Account() api.User { return api.User{Name: c.User, Role: c.Role} }

// Is reports whether the credential is of a kind.
func (c *Credential) Is(k Kind) bool { return strings.HasPrefix(c.ID, k.id()) }

// managed reports whether the user may see and end a login. A token of a lesser role,
// which a program may hold, does not reach logins with a greater one.
func (c *Credential) managed(u api.User) bool {
	return c.Is(Cookie) && (u.Role == api.RoleAdmin || c.User == u.Name && u.Role.Covers(c.Role))
}

func (c *Credential) token() api.TokenInfo {
	return api.TokenInfo{ID: c.ID, Name: c.Name, User: c.User, Role: c.Role, Created: c.Created, By: c.By, Expires: c.Expires}
}

func (c *Credential) login(current string) api.LoginInfo {
	return api.LoginInfo{
		ID: c.ID, User: c.User, Role: c.Role, Created: c.Created, Expires: c.Expires, Address: c.By,
		Browser: c.Browser, Token: c.Parent, Provider: c.Provider, Current: c.ID == current,
	}
}

func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}
