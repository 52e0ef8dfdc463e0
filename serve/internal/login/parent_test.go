package login

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A login that was made with a bearer token ends with it, also for the notices that are
// pushed to its browser: when the token is revoked, and when it expires.
func TestLoginEndsWithItsToken(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, g *Authenticator, token string){
		"revoked": func(t *testing.T, g *Authenticator, token string) {
			if err := g.Revoke(t.Context(), token); err != nil {
				t.Fatal(err)
			}
		},
		"expired": func(*testing.T, *Authenticator, string) { <-time.After(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(store.Memory(), "p")
				expires := time.Now().Add(time.Hour)
				made, err := g.IssueToken(t.Context(), api.NewToken{Name: "phone", User: "ada", Role: api.RoleApprover, Expires: &expires}, "root")
				if err != nil {
					t.Fatal(err)
				}
				cookie, _, _, err := g.LogIn(t.Context(), made.Secret, "127.0.0.1", "a browser")
				if err != nil {
					t.Fatal(err)
				}
				c, _, err := g.Check(t.Context(), cookie, Cookie)
				if err != nil {
					t.Fatal(err)
				}
				if u, err := g.LoggedIn(t.Context(), c.ID); err != nil || u.Name != "ada" || u.Role != api.RoleApprover {
					t.Fatalf("before: %+v, %v", u, err)
				}
				end(t, g, made.ID)
				if u, err := g.LoggedIn(t.Context(), c.ID); !errors.Is(err, store.ErrNotFound) {
					t.Errorf("after: %+v, %v", u, err)
				}
				if _, _, err := g.Check(t.Context(), cookie, Cookie); !errors.Is(err, ErrUnknown) {
					t.Errorf("the cookie still works: %v", err)
				}
			})
		})
	}
}
