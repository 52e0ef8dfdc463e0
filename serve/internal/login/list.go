package login

import (
	"context"
	"slices"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

// each calls a function with every credential that is kept in a folder.
func (g *Authenticator) each(ctx context.Context, kind string, do func(r store.Record, c *Credential) error) error {
	for r, err := range g.records.Scan(ctx, store.Folder{Project: g.project, Kind: kind}, "") {
		var c Credential
		if err == nil {
			err = recordio.Decode(r, &c)
		}
		if err == nil {
			err = do(r, &c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Tokens lists the bearer tokens.
func (g *Authenticator) Tokens(ctx context.Context) ([]api.TokenInfo, error) {
	out := []api.TokenInfo{}
	err := g.each(ctx, kindToken, func(_ store.Record, c *Credential) error {
		out = append(out, c.token())
		return nil
	})
	return out, err
}

// Logins lists the browsers whose logins the user may see and end, the newest first.
// Logins that have expired, or ended with their token, are left out.
func (g *Authenticator) Logins(ctx context.Context, u api.User) ([]api.LoginInfo, error) {
	out := []api.LoginInfo{}
	now, err := g.records.Now(ctx)
	if err != nil {
		return out, err
	}
	err = g.each(ctx, kindLogin, func(r store.Record, c *Credential) error {
		works, err := g.works(ctx, c, now)
		switch {
		case err != nil:
			return err
		case !works:
			_ = store.Drop(ctx, g.records, r.Key, r.Revision, store.Fence{}) // it will never work again
		case c.managed(u):
			out = append(out, c.login(u.Login))
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b api.LoginInfo) int { return b.Created.Compare(a.Created) })
	return out, err
}

// Revoke ends a bearer token, and with it the logins that were made with it.
func (g *Authenticator) Revoke(ctx context.Context, id string) error {
	k := g.at(Bearer, id)
	if _, _, err := recordio.Get[Credential](ctx, g.records, k); err != nil {
		return err
	}
	return recordio.Drop(ctx, g.records, k)
}

// End ends a login that [Authenticator.Logins] lists for the user, and returns whose it
// was.
func (g *Authenticator) End(ctx context.Context, u api.User, id string) (of string, err error) {
	c, _, err := recordio.Get[Credential](ctx, g.records, g.at(Cookie, id))
	if err != nil {
		return "", err
	}
	if !c.managed(u) {
		return "", store.ErrNotFound
	}
	return c.User, g.LogOut(ctx, id)
}

// LogOut ends a login, if there is one.
func (g *Authenticator) LogOut(ctx context.Context, id string) error {
	return recordio.Drop(ctx, g.records, g.at(Cookie, id))
}
