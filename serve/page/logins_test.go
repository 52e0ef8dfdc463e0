package page_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve/api"
)

var logOut = regexp.MustCompile(`action="(/logins/[^"]+/end)"`)

// A browser that was lost is logged out from another one, without a script. Only
// admins see or end the logins of others.
func TestLoginsOnPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	bob := api.User{Name: "bob", Role: api.RoleViewer}
	lost, desk, root := r.client(bob), r.client(bob), r.client(ada)
	forms := func(c *http.Client, want int) []string {
		t.Helper()
		status, body := get(t, c, r.http.URL+"/logins")
		found := logOut.FindAllStringSubmatch(body, -1)
		if status != http.StatusOK || len(found) != want || strings.Count(body, "This browser") != 1 || !strings.Contains(body, "127.0.0.1") && want > 0 {
			t.Fatalf("%d, and %d can be logged out, want %d:\n%s", status, len(found), want, body)
		}
		var all []string
		for _, m := range found {
			all = append(all, m[1])
		}
		return all
	}
	theirs := forms(desk, 1)[0]
	if all := forms(root, 2); len(all) != 2 {
		t.Errorf("an admin can end %q", all)
	}
	eve := r.client(api.User{Name: "eve", Role: api.RoleOperator})
	forms(eve, 0)
	if status, _ := post(t, eve, r.http.URL+theirs, nil); status != http.StatusNotFound {
		t.Errorf("somebody else's login ends with %d", status)
	}
	if status, body := post(t, desk, r.http.URL+theirs, nil); status != http.StatusOK || !strings.Contains(body, "That browser is logged out.") {
		t.Errorf("%d:\n%s", status, body)
	}
	if status, _ := get(t, lost, r.http.URL+"/"); status != http.StatusUnauthorized {
		t.Errorf("the lost browser gets %d", status)
	}
	if status, _ := get(t, desk, r.http.URL+"/"); status != http.StatusOK {
		t.Errorf("the other browser gets %d", status)
	}
	if status, _ := post(t, desk, r.http.URL+theirs, nil); status != http.StatusNotFound {
		t.Errorf("a second time: %d", status)
	}
}
