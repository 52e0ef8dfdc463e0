package oidclogin

import (
	"cmp"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// Options configure a login. Issuer, ClientID and User are required.
type Options struct {
	// Issuer is the address of the provider, exactly as it calls itself, such as
	// https://accounts.google.com. Only one on this machine may do without https.
	Issuer string
	// ClientID and ClientSecret are what the provider has given to this server. A public
	// client has no secret.
	ClientID, ClientSecret string
	// Name is how people call the provider. Empty: the host of Issuer.
	Name string
	// Scopes are asked for besides openid. Nil: email and profile.
	Scopes []string
	// User returns the user of the server, and false for those who have no access. It
	// may be called from several goroutines at once. [Allow] makes one of rules.
	User func(*Claims) (api.User, bool)
	// Client makes the requests. Its timeout is at most ten seconds, and it follows no
	// redirects. Nil: one with the defaults of package http.
	Client *http.Client
}

// Login is a [serve.LoginProvider] for OpenID Connect. Its methods may be called from any
// goroutine.
type Login struct {
	opts     Options
	provider *discovery
}

// New makes a login. It checks the options, but does not ask the provider yet: see
// [Login.Discover].
func New(o Options) (*Login, error) {
	issuer, err := url.Parse(o.Issuer)
	switch {
	case err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || issuer.User != nil:
		return nil, fmt.Errorf("claude: oidclogin: the issuer %q is not an address such as https://accounts.example.com", o.Issuer)
	case !safe(issuer):
		return nil, fmt.Errorf("claude: oidclogin: the issuer %s must use https", o.Issuer)
	case o.ClientID == "":
		return nil, errors.New("claude: oidclogin: Options.ClientID is missing")
	case o.User == nil:
		return nil, errors.New("claude: oidclogin: Options.User is missing: it says who has access")
	}
	if o.Scopes == nil {
		o.Scopes = []string{oidc.ScopeEmail, oidc.ScopeProfile}
	}
	o.Name = cmp.Or(o.Name, issuer.Host)
	return &Login{o, newDiscovery(o.Issuer, o.Client)}, nil
}

// safe reports whether others cannot read what is sent to an address: https, or this
// machine.
func safe(u *url.URL) bool {
	if u.Scheme == "https" {
		return true
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

// Discover asks the provider for its endpoints, which otherwise happens with the first
// login. Call it at the start of a program to find mistakes in the options. A provider that
// does not answer is asked again with the next login.
func (l *Login) Discover(ctx context.Context) error {
	_, err := l.provider.get(ctx)
	return err
}

// Name implements [serve.LoginProvider].
func (l *Login) Name() string { return l.opts.Name }

// Begin implements [serve.LoginProvider].
func (l *Login) Begin(ctx context.Context, a serve.LoginAttempt) (string, error) {
	p, err := l.provider.get(ctx)
	if err != nil {
		return "", err
	}
	return l.config(p, a).AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

func (l *Login) config(p *provider, a serve.LoginAttempt) *oauth2.Config {
	return &oauth2.Config{
		ClientID: l.opts.ClientID, ClientSecret: l.opts.ClientSecret, RedirectURL: a.Return,
		Endpoint: p.endpoint(l.opts.ClientSecret != ""), Scopes: append([]string{oidc.ScopeOpenID}, l.opts.Scopes...),
	}
}

// Finish implements [serve.LoginProvider].
func (l *Login) Finish(ctx context.Context, a serve.LoginAttempt, sent url.Values) (api.User, error) {
	p, err := l.provider.get(ctx)
	if err != nil {
		return api.User{}, err
	}
	code, err := p.codeOf(sent)
	if err != nil {
		return api.User{}, err
	}
	ctx = oidc.ClientContext(ctx, l.provider.client)
	token, err := l.config(p, a).Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refused.Response.StatusCode < http.StatusInternalServerError {
		return api.User{}, fmt.Errorf("%w: the provider refuses the code: %.200q", serve.ErrLoginFailed, cmp.Or(refused.ErrorCode, refused.Response.Status))
	}
	if err != nil {
		return api.User{}, err
	}
	signed, err := l.verify(ctx, p, a, token)
	if err != nil {
		return api.User{}, err
	}
	claims, err := l.claims(ctx, p, signed, token)
	if err != nil {
		return api.User{}, err
	}
	u, ok := l.opts.User(claims)
	if !ok {
		return api.User{}, &serve.UnknownUserError{Name: cmp.Or(claims.Email, claims.Name, claims.Subject)}
	}
	return u, nil
}

// verify returns the id token of an answer, if it was made for this attempt.
func (l *Login) verify(ctx context.Context, p *provider, a serve.LoginAttempt, token *oauth2.Token) (*oidc.IDToken, error) {
	failed := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", serve.ErrLoginFailed, fmt.Sprintf(format, args...))
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, failed("the provider sent no id token")
	}
	signed, err := p.Verifier(&oidc.Config{ClientID: l.opts.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, failed("the id token does not count: %v", err)
	}
	var parties struct {
		Authorized string `json:"azp"`
	}
	if err := signed.Claims(&parties); err != nil {
		return nil, failed("the id token does not count: %v", err)
	}
	switch {
	case subtle.ConstantTimeCompare([]byte(signed.Nonce), []byte(a.Nonce)) != 1:
		return nil, failed("the id token was made for another login")
	case parties.Authorized != "" && parties.Authorized != l.opts.ClientID, parties.Authorized == "" && len(slices.Compact(signed.Audience)) > 1:
		return nil, failed("the id token was made for another client, %.100q of %.200q", parties.Authorized, signed.Audience)
	case signed.Subject == "":
		return nil, failed("the id token names no subject")
	}
	if signed.AccessTokenHash != "" {
		if err := signed.VerifyAccessToken(token.AccessToken); err != nil {
			return nil, failed("the id token does not count: %v", err)
		}
	}
	return signed, nil
}
