package serve

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/internal/login"
)

// providerPatience is how long the server waits for the provider.
const providerPatience = 15 * time.Second

// attemptOf returns the part of an attempt that the provider gets.
func attemptOf(a login.Attempt, back string) LoginAttempt {
	return LoginAttempt{Return: back, State: a.State(), Nonce: a.Derive("nonce"), Verifier: a.Derive("verifier")}
}

// providerLogin logs people in with the provider of the options.
type providerLogin struct {
	opts   *Options
	access *access
	gate   *login.Authenticator
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
	a := login.BeginAttempt(to)
	address, err = p.opts.Login.Begin(ctx, attemptOf(a, p.back(r)))
	if err != nil {
		return "", p.problem(r, err)
	}
	http.SetCookie(w, p.cookie(a.Text(), login.AttemptLife))
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
	a, ok := login.ParseAttempt(c.Value)
	if !ok || !a.SentBack(sent["state"]) {
		return "", foreign // the attempt of this browser, if it has one, continues
	}
	http.SetCookie(w, p.cookie("", -time.Second))
	ctx, cancel := context.WithTimeout(r.Context(), providerPatience)
	defer cancel()
	u, err := p.opts.Login.Finish(ctx, attemptOf(a, p.back(r)), sent)
	if err != nil {
		return a.To(), p.problem(r, err)
	}
	if !usableName(u.Name) || !u.Role.Valid() {
		p.opts.Logger.Warn("serve: a login provider returned a user without a usable name and role", "user", terminal.Line(u.Name), "role", string(u.Role))
		return a.To(), internal.because("the name or the role of your account cannot be used here: an admin finds more in the server's log")
	}
	address := p.access.clientOf(r)
	provider := p.opts.Login.Name()
	made := login.Credential{User: u.Name, Role: u.Role, By: address, Browser: browserOf(r), Provider: provider}
	text, _, err := p.gate.Issue(r.Context(), login.Cookie, made, p.opts.LoginLife)
	if err != nil {
		return a.To(), problemOf(err)
	}
	p.opts.Logger.Info("serve: logged in", "user", u.Name, "role", string(u.Role), "address", address, "provider", provider)
	http.SetCookie(w, p.access.cookie(text, p.opts.LoginLife))
	return a.To(), nil
}

// problem tells people how to deal with an error of the provider. Its details are for
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
