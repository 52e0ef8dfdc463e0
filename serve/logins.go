package serve

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Logins lists the browsers in which the user is logged in, the newest first, with at
// most the role that the user has here. Admins see those of everybody. Those that have
// ended, by themselves or with their token, are not among them.
func (s *Service) Logins(ctx context.Context, u api.User) (api.List[api.LoginInfo], error) {
	out := api.List[api.LoginInfo]{Items: []api.LoginInfo{}}
	if err := need(u, api.Viewer); err != nil {
		return out, err
	}
	now, err := s.opts.Records.Now(ctx)
	if err != nil {
		return out, problemOf(err)
	}
	for r, err := range s.opts.Records.Scan(ctx, store.Folder{Project: s.opts.Project, Kind: kindLogin}, "") {
		var c credential
		if err == nil {
			err = decodeRecord(r, &c)
		}
		if err != nil {
			return out, problemOf(err)
		}
		works, err := s.gate.works(ctx, &c, now)
		if err != nil {
			return out, problemOf(err)
		}
		if !works {
			_ = s.opts.Records.DropRecord(ctx, r.Key, r.Revision, store.Fence{}) // it is of no use
			continue
		}
		if !c.isLogin() || !manages(u, &c) {
			continue
		}
		out.Items = append(out.Items, api.LoginInfo{
			ID: c.ID, User: c.User, Role: c.Role, Created: c.Created, Expires: c.Expires, Address: c.By, Browser: c.Browser, Token: c.Parent, Current: c.ID == u.Login,
		})
	}
	slices.SortStableFunc(out.Items, func(a, b api.LoginInfo) int { return b.Created.Compare(a.Created) })
	return out, nil
}

// maxBrowser is how many bytes of a browser's name are kept.
const maxBrowser = 200

// browserOf is how the browser of a request calls itself.
func browserOf(r *http.Request) string {
	name := r.UserAgent()
	return strings.ToValidUTF8(name[:min(len(name), maxBrowser)], "")
}

// isLogin reports whether a credential is a login, not a one-time token for one.
func (c *credential) isLogin() bool { return strings.HasPrefix(c.ID, cookiePrefix[:3]) }

// manages reports whether the user may see and end a login. A token of a lesser role,
// which may be in the hands of a program, does not reach the logins with a greater one.
func manages(u api.User, login *credential) bool {
	return u.Role == api.Admin || login.User == u.Name && u.Role.Covers(login.Role)
}

// EndLogin ends a login that [Service.Logins] lists for the user. Its browser is
// asked to log in again with its next request, and its open streams end soon.
func (s *Service) EndLogin(ctx context.Context, u api.User, id string) error {
	if err := need(u, api.Viewer); err != nil {
		return err
	}
	k := s.gate.at(kindLogin, id)
	c, _, err := getRecord[credential](ctx, s.opts.Records, k)
	if err == nil && (!c.isLogin() || !manages(u, &c)) {
		err = store.ErrNotFound
	}
	if err == nil {
		err = dropRecord(ctx, s.opts.Records, k)
	}
	if err != nil {
		return problemOf(err)
	}
	s.opts.Logger.Info("serve: ended a login", "login", id, "of", c.User, "user", u.Name, "address", u.Address)
	return nil
}
