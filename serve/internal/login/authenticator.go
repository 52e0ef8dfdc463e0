package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// ErrUnknown means that a token is unknown, expired or revoked.
var ErrUnknown = errors.New("claude: serve: unknown or expired token")

// Authenticator knows the owner of each token and cookie. Its methods may be called by
// several goroutines.
type Authenticator struct {
	records store.Records
	project string
	guesses guesses
}

// New returns the authenticator of all servers that share the records.
func New(r store.Records, project string) *Authenticator {
	return &Authenticator{records: r, project: project}
}

func (g *Authenticator) at(k Kind, id string) store.RecordKey {
	return store.RecordKey{Project: g.project, Kind: k.record(), Name: id}
}

// Issue makes a credential that works for a while, or until it is revoked if life is 0.
// It returns its text, which the server does not keep.
func (g *Authenticator) Issue(ctx context.Context, k Kind, c Credential, life time.Duration) (token string, made Credential, err error) {
	now, err := g.records.Now(ctx)
	if err != nil {
		return "", c, err
	}
	if life > 0 {
		c.Expires = now.Add(life).UTC()
	}
	id, secret := make([]byte, 8), make([]byte, 32)
	rand.Read(id) // never fails
	rand.Read(secret)
	text := base64.RawURLEncoding.EncodeToString(secret)
	c.ID, c.Hash, c.Created = k.id()+hex.EncodeToString(id), hashOf(text), now.UTC()
	_, err = recordio.Put(ctx, g.records, g.at(k, c.ID), &c, 0)
	return string(k) + hex.EncodeToString(id) + "." + text, c, err
}

// IssueToken makes a bearer token on behalf of a user.
func (g *Authenticator) IssueToken(ctx context.Context, t api.NewToken, by string) (api.CreatedToken, error) {
	c := Credential{Name: t.Name, User: t.User, Role: t.Role, By: by}
	if t.Expires != nil {
		c.Expires = t.Expires.UTC()
	}
	secret, c, err := g.Issue(ctx, Bearer, c, 0)
	return api.CreatedToken{TokenInfo: c.token(), Secret: secret}, err
}

// Check returns the credential of a valid token that is of one of the kinds, and the
// revision of its record.
func (g *Authenticator) Check(ctx context.Context, token string, kinds ...Kind) (Credential, int64, error) {
	kind, id, secret, ok := parse(token)
	if !ok || !slices.Contains(kinds, kind) {
		return Credential{}, 0, ErrUnknown
	}
	c, revision, err := recordio.Get[Credential](ctx, g.records, g.at(kind, id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return c, 0, err
	}
	if subtle.ConstantTimeCompare([]byte(c.Hash), []byte(hashOf(secret))) != 1 {
		return Credential{}, 0, ErrUnknown
	}
	now, err := g.records.Now(ctx)
	if err != nil {
		return c, 0, err
	}
	works, err := g.works(ctx, &c, now)
	if err != nil { // fail closed: the token may have been revoked
		return Credential{}, 0, err
	}
	if !works {
		_ = store.Drop(ctx, g.records, g.at(kind, id), revision, store.Fence{}) // it will never work again
		return Credential{}, 0, ErrUnknown
	}
	return c, revision, nil
}

// works reports whether a credential is valid: neither it nor the token that it was
// made with has expired or been revoked.
func (g *Authenticator) works(ctx context.Context, c *Credential, now time.Time) (bool, error) {
	if !c.Expires.IsZero() && !now.Before(c.Expires) {
		return false, nil
	}
	if c.Parent == "" {
		return true, nil
	}
	parent, _, err := recordio.Get[Credential](ctx, g.records, g.at(Bearer, c.Parent))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && (parent.Expires.IsZero() || now.Before(parent.Expires)), err
}

// LoggedIn returns the user of a login that still works. The error is
// [store.ErrNotFound] if it has ended.
func (g *Authenticator) LoggedIn(ctx context.Context, id string) (api.User, error) {
	c, _, err := recordio.Get[Credential](ctx, g.records, g.at(Cookie, id))
	if err != nil {
		return api.User{}, err
	}
	now, err := g.records.Now(ctx)
	if err != nil {
		return api.User{}, err
	}
	works, err := g.works(ctx, &c, now)
	if err == nil && !works {
		err = store.ErrNotFound
	}
	return c.Account(), err
}

// LogIn exchanges a one-time token, which it uses up, or a bearer token for a cookie of
// the browser at an address. A login does not outlive the bearer token that it was made
// with.
func (g *Authenticator) LogIn(ctx context.Context, token, address, browser string) (cookie string, u api.User, life time.Duration, err error) {
	c, err := g.redeem(ctx, token)
	if errors.Is(err, ErrUnknown) {
		c, _, err = g.Check(ctx, token, Bearer)
	}
	if err != nil {
		return "", api.User{}, 0, err
	}
	made := Credential{User: c.User, Role: c.Role, By: address, Browser: browser}
	life = CookieLife
	if c.Is(Bearer) {
		made.Parent = c.ID
		if !c.Expires.IsZero() {
			now, err := g.records.Now(ctx) // the clock that counts
			if err != nil {
				return "", api.User{}, 0, err
			}
			life = max(time.Nanosecond, min(life, c.Expires.Sub(now))) // 0 would mean no end
		}
	}
	cookie, _, err = g.Issue(ctx, Cookie, made, life)
	return cookie, c.Account(), life, err
}

// redeem uses up a one-time token.
func (g *Authenticator) redeem(ctx context.Context, token string) (Credential, error) {
	c, revision, err := g.Check(ctx, token, Once)
	if err != nil {
		return c, err
	}
	err = store.Drop(ctx, g.records, g.at(Once, c.ID), revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return Credential{}, ErrUnknown // another request has used it
	}
	return c, err
}

// Failed counts a login that failed, and reports whether there were too many of the
// address or of the token in the last minute.
func (g *Authenticator) Failed(address, token string) (tooMany bool) {
	return g.guesses.add(time.Now(), guessed(address, token)...)
}

// Renew extends the life of a cookie, once a day.
func (g *Authenticator) Renew(ctx context.Context, c Credential, revision int64) (renewed bool) {
	now, err := g.records.Now(ctx)
	if err != nil || c.Parent != "" || c.Provider != "" || c.Expires.Sub(now) > CookieLife-cookieRenew {
		return false
	}
	c.Expires = now.Add(CookieLife).UTC()
	_, err = recordio.Put(ctx, g.records, g.at(Cookie, c.ID), &c, revision)
	return err == nil
}
