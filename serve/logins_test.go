package serve_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// Users can list and end their own logins over HTTP, and admins those of all users.
// One-time tokens are not among them.
func TestLogins(t *testing.T) {
	t.Parallel()
	r := newRig(t, store.Memory(), nil)
	nobody, root := &client{rig: r}, r.as("root", api.RoleAdmin)
	login := func(user string) string {
		t.Helper()
		token, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: user, Role: api.RoleViewer})
		if err != nil {
			t.Fatal(err)
		}
		cookie, _, _ := strings.Cut(nobody.do("POST", "/v1/login", api.LoginRequest{Token: token}, "User-Agent", strings.Repeat("Browser ", 100)).header.Get("Set-Cookie"), ";")
		return cookie
	}
	phone, desk, other := login("ada"), login("ada"), login("eve")
	if _, err := r.server.Service().IssueLogin(t.Context(), api.User{Name: "ada", Role: api.RoleViewer}); err != nil {
		t.Fatal(err)
	}
	list := func(cookie string) []api.LoginInfo {
		t.Helper()
		return want[api.List[api.LoginInfo]](nobody, nobody.do("GET", "/v1/logins", nil, "Cookie", cookie), http.StatusOK).Items
	}
	mine := list(phone)
	if len(mine) != 2 || mine[0].Current || !mine[1].Current || mine[0].User != "ada" || mine[0].Address != "127.0.0.1" || mine[0].Created.IsZero() || !strings.HasPrefix(mine[0].Browser, "Browser ") || len(mine[0].Browser) > 200 {
		t.Fatalf("%+v", mine)
	}
	theirs := list(other)
	if len(theirs) != 1 {
		t.Fatalf("%+v", theirs)
	}
	if all := get[api.List[api.LoginInfo]](root, "/v1/logins").Items; len(all) != 3 {
		t.Errorf("an admin sees %+v", all)
	}
	for name, c := range map[string]struct {
		cookie, id string
		want       int
	}{
		"somebody else's": {phone, theirs[0].ID, http.StatusNotFound},
		"none":            {phone, "ccs-0000000000000000", http.StatusNotFound},
		"not a name":      {phone, "..%2f..", http.StatusNotFound},
		"without a login": {"", mine[0].ID, http.StatusUnauthorized},
		"one's other":     {phone, mine[0].ID, http.StatusNoContent},
	} {
		if got := nobody.do("DELETE", "/v1/logins/"+c.id, nil, "Cookie", c.cookie); got.status != c.want {
			t.Errorf("%s: status %d, %s", name, got.status, got.body)
		}
	}
	for cookie, want := range map[string]int{phone: http.StatusOK, desk: http.StatusUnauthorized, other: http.StatusOK} {
		if got := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); got.status != want {
			t.Errorf("status %d, want %d", got.status, want)
		}
	}
	if got := root.do("DELETE", "/v1/logins/"+theirs[0].ID, nil); got.status != http.StatusNoContent {
		t.Errorf("an admin: status %d", got.status)
	}
	if got := nobody.do("GET", "/v1/server", nil, "Cookie", other); got.status != http.StatusUnauthorized {
		t.Errorf("status %d", got.status)
	}
}

// aheadStore is a store whose clock can be set.
type aheadStore struct {
	store.Records
	ahead atomic.Int64 // by how much it is ahead of the machine
}

func (s *aheadStore) Now(ctx context.Context) (time.Time, error) {
	now, err := s.Records.Now(ctx)
	return now.Add(time.Duration(s.ahead.Load())), err
}

// A login that was made with a token does not outlive it, even if the clock of the
// server and that of its store differ. It is not listed any more either, nor is one
// whose token was revoked.
func TestLoginOfTokenThatEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		behind  time.Duration // by how much the clock of the store is behind at first
		revoked bool
	}{
		"expires": {0, false}, "expires, clocks differ": {2 * time.Hour, false}, "revoked": {0, true},
	} {
		t.Run(name, func(t *testing.T) {
			db := store.Memory()
			records := &aheadStore{Records: db}
			records.ahead.Store(-int64(c.behind))
			r := newRig(t, db, func(o *serve.Options) { o.Records = records })
			nobody, root := &client{rig: r}, r.as("root", api.RoleAdmin)
			ends := time.Now().Add(time.Hour - c.behind)
			token, err := serve.IssueToken(t.Context(), db, "p", api.NewToken{Name: "x", User: "ada", Role: api.RoleViewer, Expires: &ends})
			if err != nil {
				t.Fatal(err)
			}
			cookie, _, _ := strings.Cut(nobody.do("POST", "/v1/login", api.LoginRequest{Token: token.Secret}).header.Get("Set-Cookie"), ";")
			logins := func() int { return len(get[api.List[api.LoginInfo]](root, "/v1/logins").Items) }
			if got := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); got.status != http.StatusOK || logins() != 1 {
				t.Fatalf("status %d, %d logins", got.status, logins())
			}
			if c.revoked {
				root.do("DELETE", "/v1/tokens/"+token.ID, nil)
			} else {
				records.ahead.Add(int64(2 * time.Hour))
			}
			if n := logins(); n != 0 {
				t.Errorf("%d logins are listed", n)
			}
			if got := nobody.do("GET", "/v1/server", nil, "Cookie", cookie); got.status != http.StatusUnauthorized {
				t.Errorf("status %d", got.status)
			}
		})
	}
}
