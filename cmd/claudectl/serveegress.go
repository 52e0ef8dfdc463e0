package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/fleet"
)

// serveEgress are the flags of the proxy that keeps the key of a server.
type serveEgress struct {
	Egress     bool     `help:"Keep the API key out of the CLIs: a proxy in the server has it, and counts what they spend."`
	EgressHost []string `placeholder:"HOST" help:"A host that commands may reach through the proxy, such as github.com or *.github.com."`
}

// credentialForms are the variables that hold a credential, in the order in which the CLI
// looks for them.
var credentialForms = [...]struct {
	variable string
	form     egress.Form
}{{"ANTHROPIC_AUTH_TOKEN", egress.FormBearer}, {"ANTHROPIC_API_KEY", egress.FormAPIKey}, {"CLAUDE_CODE_OAUTH_TOKEN", egress.FormOAuth}}

// forgetCredentials removes the credentials, under whatever name, from the environment that
// programs started by the server inherit. Claude's commands run as the same user as those,
// for example as git, and could read their environment.
func (c *console) forgetCredentials() {
	for _, f := range credentialForms {
		secret := c.variable(f.variable)
		if secret == "" {
			continue
		}
		for _, entry := range os.Environ() {
			name, value, _ := strings.Cut(entry, "=")
			if name == f.variable || strings.Contains(value, secret) && len(secret) >= 8 {
				_ = os.Unsetenv(name)
			}
		}
	}
}

// open starts the proxy. It returns nil without the flag; otherwise call end when the fleet
// is closed.
func (s *serveEgress) open(c *console, setup *serveSetup, project string, demo bool, logger *slog.Logger) (e *fleet.Egress, end func(), err error) {
	end = func() {}
	switch {
	case !s.Egress && len(s.EgressHost) > 0:
		return nil, end, &failure{exitUsage, errors.New("--egress-host needs --egress")}
	case !s.Egress:
		return nil, end, nil
	case demo:
		return nil, end, &failure{exitUsage, errors.New("--egress: the simulated agent of --demo needs no key")}
	}
	var key egress.Credential
	for _, f := range credentialForms {
		if secret := c.variable(f.variable); secret != "" && key.Secret == "" {
			key = egress.Credential{Form: f.form, Secret: secret}
		}
	}
	if key.Secret == "" {
		return nil, end, &failure{exitUsage, errors.New("--egress needs the key in the environment of the server: set ANTHROPIC_API_KEY, ANTHROPIC_AUTH_TOKEN or CLAUDE_CODE_OAUTH_TOKEN")}
	}
	proxy, err := egress.New(egress.Options{
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) { return key, nil },
		Upstream:   c.variable("ANTHROPIC_BASE_URL"),
		Accounts:   egress.RecordAccounts(setup.store, project),
		Hosts:      s.EgressHost, Refused: setup.refused.take, Logger: logger,
	})
	if err != nil {
		return nil, end, &failure{exitUsage, fmt.Errorf("--egress: %w", err)}
	}
	end = func() { _ = proxy.Close() }
	url, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		end()
		return nil, func() {}, &failure{exitFailed, err}
	}
	return &fleet.Egress{Proxy: proxy, URL: url, Form: key.Form}, end, nil
}
