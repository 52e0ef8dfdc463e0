package serve_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/store"
)

// Logins can be listed and ended over HTTP: one's own, or everybody's as an admin.
// One-time tokens are not among them.
func TestLogins(t *testing.T) {
	r := newRig(t, store.Memory(), nil)
	nobody, root := &client{rig: r}, r.as("root", serve.Admin)
	login := func(user string) string {
		t.Helper()
		token, err := r.server.Service().IssueLogin(t.Context(), serve.User{Name: user, Role: serve.Viewer})
		if err != nil {
			t.Fatal(err)
		}
		cookie, _, _ := strings.Cut(nobody.do("POST", "/v1/login", serve.LoginRequest{Token: token}, "User-Agent", strings.Repeat("Browser ", 100)).header.Get("Set-Cookie"), ";")
		return cookie
	}
	phone, desk, other := login("ada"), login("ada"), login("eve")
	if _, err := r.server.Service().IssueLogin(t.Context(), serve.User{Name: "ada", Role: serve.Viewer}); err != nil {
		t.Fatal(err)
	}
	list := func(cookie string) []serve.LoginInfo {
		t.Helper()
		return want[serve.List[serve.LoginInfo]](nobody, nobody.do("GET", "/v1/logins", nil, "Cookie", cookie), http.StatusOK).Items
	}
	mine := list(phone)
	if len(mine) != 2 || mine[0].Current || !mine[1].Current || mine[0].User != "ada" || mine[0].Address != "127.0.0.1" || mine[0].Created.IsZero() || !strings.HasPrefix(mine[0].Browser, "Browser ") || len(mine[0].Browser) > 200 {
		t.Fatalf("%+v", mine)
	}
	theirs := list(other)
	if len(theirs) != 1 {
		t.Fatalf("%+v", theirs)
	}
	if all := get[serve.List[serve.LoginInfo]](root, "/v1/logins").Items; len(all) != 3 {
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
