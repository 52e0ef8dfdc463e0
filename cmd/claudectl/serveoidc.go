package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/oidclogin"
)

// serveOIDC are the flags of a login with OpenID Connect.
type serveOIDC struct {
	Issuer   string        `name:"oidc-issuer" placeholder:"URL" help:"Let people log in with OpenID Connect, at this provider. Register the server's address and /login/return there."`
	ClientID string        `name:"oidc-client-id" placeholder:"ID" help:"The id that the provider has given to this server."`
	Secret   string        `name:"oidc-secret" placeholder:"FILE" complete:"file" help:"A file with the secret of the client. Default: CLAUDECTL_OIDC_SECRET, or none for a public client."`
	Allow    []string      `name:"oidc-allow" sep:"none" placeholder:"WHO=ROLE" help:"Who has access, as what: an e-mail address, @DOMAIN, group:NAME, sub:SUBJECT or *. Again for more."`
	Name     string        `name:"oidc-name" placeholder:"NAME" help:"How people call the provider. Default: its host."`
	Life     time.Duration `name:"oidc-life" default:"24h" placeholder:"TIME" help:"How long such a login lasts."`
}

// discoverWithin is how long the start of a server waits for the provider.
const discoverWithin = 5 * time.Second

// open makes the login, nil without the flags. A provider that does not answer yet is asked
// again when people log in.
func (s *serveOIDC) open(ctx context.Context, c *console, logger *slog.Logger) (serve.LoginProvider, error) {
	if s.Issuer == "" {
		if s.ClientID != "" || s.Secret != "" || len(s.Allow) > 0 || s.Name != "" {
			return nil, errors.New("the other flags of --oidc need --oidc-issuer")
		}
		return nil, nil
	}
	if len(s.Allow) == 0 {
		return nil, errors.New("--oidc-issuer needs --oidc-allow, to name those who have access, such as --oidc-allow @example.com=operator")
	}
	var rules []oidclogin.Access
	for _, text := range s.Allow {
		r, err := oidclogin.ParseAccess(text)
		if err != nil {
			return nil, fmt.Errorf("--oidc-allow: %w", err)
		}
		rules = append(rules, r)
	}
	secret := c.variable("CLAUDECTL_OIDC_SECRET")
	if s.Secret != "" {
		text, err := os.ReadFile(s.Secret)
		if err != nil {
			return nil, fmt.Errorf("--oidc-secret: %w", err)
		}
		secret = strings.TrimSpace(string(text))
	}
	login, err := oidclogin.New(oidclogin.Options{Issuer: s.Issuer, ClientID: s.ClientID, ClientSecret: secret, Name: s.Name, User: oidclogin.Allow(rules...)})
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, discoverWithin)
	defer cancel()
	if err := login.Discover(ctx); err != nil {
		logger.Warn("serve: the login provider does not answer; it is asked again when people log in", "error", err)
	}
	return login, nil
}
