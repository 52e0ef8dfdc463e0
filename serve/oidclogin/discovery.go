package oidclogin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/claude-agent-go/claude/serve"
)

const (
	patience  = 10 * time.Second // for a request to the provider
	maxAnswer = 1 << 20          // bytes of its answer
)

// discovery finds the endpoints of a provider, once.
type discovery struct {
	issuer string
	client *http.Client
	found  chan *provider // holds one value: nil until they are found
}

func newDiscovery(issuer string, c *http.Client) *discovery {
	d := &discovery{issuer: issuer, client: bounded(c), found: make(chan *provider, 1)}
	d.found <- nil
	return d
}

// get returns the provider. While one caller asks it, the others wait.
func (d *discovery) get(ctx context.Context) (*provider, error) {
	select {
	case p := <-d.found:
		var err error
		if p == nil {
			p, err = discover(oidc.ClientContext(ctx, d.client), d.issuer)
		}
		d.found <- p
		return p, err
	case <-ctx.Done():
		return nil, fmt.Errorf("claude: oidclogin: %s has not answered: %w", d.issuer, context.Cause(ctx))
	}
}

// provider is a provider whose endpoints are known.
type provider struct {
	*oidc.Provider
	issuer      string
	authMethods []string // of the token endpoint
	namesIssuer bool     // its answers have a parameter iss
}

// discover asks a provider for its endpoints.
func discover(ctx context.Context, issuer string) (*provider, error) {
	found, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, fmt.Errorf("claude: oidclogin: %w", err)
	}
	var about struct {
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		NamesIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		Keys        string   `json:"jwks_uri"`
	}
	if err := found.Claims(&about); err != nil {
		return nil, fmt.Errorf("claude: oidclogin: %s: %w", issuer, err)
	}
	at := found.Endpoint()
	addresses := []string{at.AuthURL, at.TokenURL, about.Keys}
	if info := found.UserInfoEndpoint(); info != "" {
		addresses = append(addresses, info)
	}
	for _, address := range addresses {
		if u, err := url.Parse(address); err != nil || u.Host == "" || !safe(u) {
			return nil, fmt.Errorf("claude: oidclogin: %s has the endpoint %.200q, which does not use https", issuer, address)
		}
	}
	return &provider{found, issuer, about.AuthMethods, about.NamesIssuer}, nil
}

// endpoint returns the endpoints. The way to send the secret is chosen, not tried out: a
// code works only once.
func (p *provider) endpoint(secret bool) oauth2.Endpoint {
	e := p.Endpoint()
	e.AuthStyle = oauth2.AuthStyleInHeader // what a provider that lists nothing understands
	if !secret || len(p.authMethods) > 0 && !slices.Contains(p.authMethods, "client_secret_basic") {
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	return e
}

// codeOf returns the code with which a provider has sent the browser back. An answer that
// names another issuer was meant for another client of the browser (RFC 9207).
func (p *provider) codeOf(sent url.Values) (string, error) {
	switch issuers := sent["iss"]; {
	case len(issuers) > 1 || len(issuers) == 1 && issuers[0] != p.issuer:
		return "", fmt.Errorf("%w: the answer is from the issuer %.200q", serve.ErrLoginFailed, issuers)
	case len(issuers) == 0 && p.namesIssuer:
		return "", fmt.Errorf("%w: the answer does not name its issuer", serve.ErrLoginFailed)
	case sent.Has("error"):
		return "", fmt.Errorf("%w: the provider says %.100q: %.300q", serve.ErrLoginFailed, sent.Get("error"), sent.Get("error_description"))
	case len(sent["code"]) != 1 || sent.Get("code") == "":
		return "", fmt.Errorf("%w: the answer has no code", serve.ErrLoginFailed)
	}
	return sent.Get("code"), nil
}

// bounded returns a client whose requests end in time, and whose answers are not too large.
// It follows no redirects, which would pass on the client's secret.
func bounded(c *http.Client) *http.Client {
	if c == nil {
		c = &http.Client{}
	}
	own := *c
	if own.Timeout <= 0 || own.Timeout > patience {
		own.Timeout = patience
	}
	if own.Transport == nil {
		own.Transport = http.DefaultTransport
	}
	own.Transport = limited{own.Transport}
	own.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		return fmt.Errorf("the provider redirects to %s: use that as its address, if you trust it", r.URL.Host)
	}
	return &own
}

// limited refuses answers that are too large.
type limited struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = &limitedBody{answer.Body, maxAnswer}
	}
	return answer, err
}

type limitedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *limitedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer of the provider is too large")
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
