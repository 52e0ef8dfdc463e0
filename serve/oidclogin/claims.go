package oidclogin

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/serve"
)

// Claims are the provider's statements about a person: those of the id token,
// completed by its userinfo endpoint.
type Claims struct {
	// Issuer and Subject together identify the person for good.
	Issuer, Subject string
	// Email is an address that the provider has verified, empty if there is none.
	Email string
	// Name is the person's name. People may choose it freely: give no access by it.
	Name string
	// Groups are those of the claim "groups", if the provider is set up to send it.
	Groups []string

	sources []json.RawMessage // the id token last
}

// Decode reads other claims into a struct with json tags. Where the id token and the
// userinfo endpoint differ, the id token counts.
func (c *Claims) Decode(into any) error {
	for _, source := range c.sources {
		if err := jsonx.Unmarshal(source, into); err != nil {
			return fmt.Errorf("claude: oidclogin: %w", err)
		}
	}
	return nil
}

// claims collects what the provider says about the person with an id token.
func (l *Login) claims(ctx context.Context, p *provider, signed *oidc.IDToken, token *oauth2.Token) (*Claims, error) {
	var sources []json.RawMessage
	if p.UserInfoEndpoint() != "" {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return nil, fmt.Errorf("claude: oidclogin: userinfo: %w", err)
		}
		if info.Subject != signed.Subject {
			return nil, fmt.Errorf("%w: the userinfo endpoint speaks of another person", serve.ErrLoginFailed)
		}
		var raw json.RawMessage
		if err := info.Claims(&raw); err != nil {
			return nil, fmt.Errorf("claude: oidclogin: userinfo: %w", err)
		}
		sources = append(sources, raw)
	}
	var raw json.RawMessage
	if err := signed.Claims(&raw); err != nil {
		return nil, fmt.Errorf("%w: %w", serve.ErrLoginFailed, err)
	}
	return merge(signed.Issuer, signed.Subject, append(sources, raw))
}

// merge reads the usual claims of all sources.
func merge(issuer, subject string, sources []json.RawMessage) (*Claims, error) {
	c := &Claims{Issuer: issuer, Subject: subject, sources: sources}
	for _, source := range sources {
		var said struct {
			Email    string   `json:"email"`
			Verified any      `json:"email_verified"`
			Name     string   `json:"name"`
			Groups   []string `json:"groups"`
		}
		if err := jsonx.Unmarshal(source, &said); err != nil && !jsonx.Mismatch(err) {
			return nil, fmt.Errorf("%w: %w", serve.ErrLoginFailed, err)
		}
		if said.Email != "" { // with the verification of the same source
			c.Email = ""
			if said.Verified == true || said.Verified == "true" { // a text at some providers
				c.Email = said.Email
			}
		}
		if said.Name != "" {
			c.Name = said.Name
		}
		if said.Groups != nil {
			c.Groups = said.Groups
		}
	}
	return c, nil
}
