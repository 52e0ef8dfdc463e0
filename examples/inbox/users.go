package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"net/http"
	"sync"

	"github.com/claude-agent-go/claude/serve/api"
)

// users are the users of the application, with their logins. Yours are in a
// database, and their passwords are hashed with something slow.
type users struct {
	mu     sync.Mutex
	logins map[string]api.User // by the value of the cookie
}

func newUsers() *users { return &users{logins: make(map[string]api.User)} }

// account is a user as the application knows them.
type account struct {
	name, password, team string
}

// accounts are made up.
func accounts() []account {
	return []account{{"ada", "lovelace", "engineers"}, {"grace", "hopper", "leads"}, {"mary", "shelley", "guests"}}
}

// role returns what the user may do with agents: engineers prompt, leads decide.
func (a *account) role() api.Role {
	switch a.team {
	case "engineers":
		return api.RoleOperator
	case "leads":
		return api.RoleApprover
	}
	return api.RoleViewer
}

const cookieName = "inbox-login"

// of is serve.Options.Authenticate: it identifies the user of a request. It
// returns false without a valid cookie; the server issues no logins of its own
// here.
func (u *users) of(r *http.Request) (api.User, bool) {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return api.User{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	user, ok := u.logins[cookie.Value]
	return user, ok
}

// ServeHTTP has the application's own pages: a login.
func (u *users) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!DOCTYPE html><title>Log in</title><form method="post"><label>Name <input name="name"></label> <label>Password <input name="password" type="password"></label> <button>Log in</button></form>`)
		return
	}
	given := sha256.Sum256([]byte(r.PostFormValue("password")))
	for _, a := range accounts() {
		if known := sha256.Sum256([]byte(a.password)); a.name == r.PostFormValue("name") && subtle.ConstantTimeCompare(given[:], known[:]) == 1 {
			token := rand.Text()
			u.mu.Lock()
			u.logins[token] = api.User{Name: a.name, Role: a.role()}
			u.mu.Unlock()
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: token, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
	}
	http.Error(w, "That is not a name and its password.", http.StatusUnauthorized)
}
