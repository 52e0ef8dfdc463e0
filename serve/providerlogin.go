package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/serve/api"
)

const (
	attemptLife      = 10 * time.Minute // how long a person may take at the provider
	providerPatience = 15 * time.Second // how long the server waits for the provider
	maxAttemptTo     = 2 << 10          // bytes of the path that was asked for
)

// attempt is what the cookie of a browser remembers while a person is at the provider. The
// server keeps nothing of it, so that any replica can finish a login that another began.
type attempt struct {
	secret string
	to     string // the path to which the browser goes afterwards
}

// beginAttempt makes an attempt that cannot be guessed.
func beginAttempt(to string) attempt {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	if len(to) > maxAttemptTo {
		to = "/"
	}
	return attempt{base64.RawURLEncoding.EncodeToString(secret), to}
}

// text is the value of the cookie.
func (a attempt) text() string {
	return a.secret + "." + base64.RawURLEncoding.EncodeToString([]byte(a.to))
}

// parseAttempt reads the value of a cookie.
func parseAttempt(text string) (attempt, bool) {
	secret, rest, ok := strings.Cut(text, ".")
	to, err := base64.RawURLEncoding.DecodeString(rest)
	return attempt{secret, string(to)}, ok && err == nil && len(secret) == base64.RawURLEncoding.EncodedLen(32)
}

// derive makes a value of the secret. Those of other purposes do not follow from it.
func (a attempt) derive(purpose string) string {
	sum := sha256.Sum256([]byte("claude serve login " + purpose + " " + a.secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// public returns what the provider gets of the attempt.
func (a attempt) public(back string) LoginAttempt {
	return LoginAttempt{Return: back, State: a.derive("state"), Nonce: a.derive("nonce"), Verifier: a.derive("verifier")}
}

// providerLogin logs people in with the provider of the options.
type providerLogin struct {
	opts   *Options
	access *access
	gate   *authenticator
}

// cookieName is that of the attempt. The prefix keeps neighbouring subdomains from
// planting an attempt of their own; browsers accept it over https only.
func (p *providerLogin) cookieName() string {
	if p.opts.Secure {
		return "__Host-" + p.access.cookieName() + "-attempt"
	}
	return p.access.cookieName() + "-attempt"
}

func (p *providerLogin) cookie(text string, life time.Duration) *http.Cookie {
	c := p.access.cookie(text, life)
	c.Name = p.cookieName()
	return c
}

// back is the address to which the provider sends the browser: of the host that it has
// asked for, which is one of the server's own.
func (p *providerLogin) back(r *http.Request) string {
	scheme := "http"
	if p.opts.Secure || r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + r.Host + LoginReturn
}

// begin sends a browser to the provider.
func (p *providerLogin) begin(w http.ResponseWriter, r *http.Request, to string) (address string, err error) {
	if p.opts.Login == nil {
		return "", notFound.because("this server has no login provider")
	}
	ctx, cancel := context.WithTimeout(r.Context(), providerPatience)
	defer cancel()
	a := beginAttempt(to)
	address, err = p.opts.Login.Begin(ctx, a.public(p.back(r)))
	if err != nil {
		return "", p.problem(r, err)
	}
	http.SetCookie(w, p.cookie(a.text(), attemptLife))
	return address, nil
}

// finish logs in a browser that comes back from the provider.
func (p *providerLogin) finish(w http.ResponseWriter, r *http.Request) (to string, err error) {
	if p.opts.Login == nil {
		return "", notFound.because("this server has no login provider")
	}
	foreign := loginFailed.because("it was begun in another browser or tab, was used already, or took more than ten minutes. Log in again")
	c, err := r.Cookie(p.cookieName())
	if err != nil {
		return "", foreign
	}
	sent := r.URL.Query()
	a, ok := parseAttempt(c.Value)
	if !ok || len(sent["state"]) != 1 || subtle.ConstantTimeCompare([]byte(sent.Get("state")), []byte(a.derive("state"))) != 1 {
		return "", foreign // the attempt of this browser, if it has one, continues
	}
	http.SetCookie(w, p.cookie("", -time.Second))
	ctx, cancel := context.WithTimeout(r.Context(), providerPatience)
	defer cancel()
	u, err := p.opts.Login.Finish(ctx, a.public(p.back(r)), sent)
	if err != nil {
		return a.to, p.problem(r, err)
	}
	if !usableName(u.Name) || !u.Role.Valid() {
		p.opts.Logger.Warn("serve: a login provider returned a user without a usable name and role", "user", terminal.Line(u.Name), "role", string(u.Role))
		return a.to, internal.because("the name or the role of your account cannot be used here: an admin finds more in the server's log")
	}
	address := p.access.clientOf(r)
	login := credential{User: u.Name, Role: u.Role, By: address, Browser: browserOf(r), Provider: p.opts.Login.Name()}
	text, _, err := p.gate.issue(r.Context(), cookiePrefix, login, p.opts.LoginLife)
	if err != nil {
		return a.to, problemOf(err)
	}
	p.opts.Logger.Info("serve: logged in", "user", u.Name, "role", string(u.Role), "address", address, "provider", login.Provider)
	http.SetCookie(w, p.access.cookie(text, p.opts.LoginLife))
	return a.to, nil
}

// problem says what a person can do about an error of the provider. Its details are for
// the log: the address with which a browser comes back may hold anyone's words.
func (p *providerLogin) problem(r *http.Request, err error) *api.Problem {
	name := terminal.Line(p.opts.Login.Name())
	p.opts.Logger.Warn("serve: a login failed", "address", p.access.clientOf(r), "provider", name, "error", err)
	if unknown, ok := errors.AsType[*UnknownUserError](err); ok {
		return loginRefused.because("%s knows you as %.100s: tell an admin of this server, who can give you access", name, terminal.Line(unknown.Name))
	}
	if errors.Is(err, ErrLoginFailed) {
		return loginFailed.because("%s did not confirm who you are. Log in again; the server's log says what was wrong", name)
	}
	silent := providerSilent.because("%s cannot be asked at the moment: try again in a minute. A link from \"claudectl serve login\" works without it", name)
	silent.RetryAfter = 60
	return silent
}
