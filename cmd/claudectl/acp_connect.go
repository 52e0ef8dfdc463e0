package main

import (
	"errors"
	"fmt"

	"github.com/claude-agent-go/claude/acp"
	"github.com/claude-agent-go/claude/serve/client"
)

// serverToken is the variable with the token for a server. A token is not an argument:
// those are shown to every user of the machine.
const serverToken = "CLAUDECTL_TOKEN"

// remote is the agent of an editor whose conversations are on a server.
func (a *acpCommand) remote(c *console) (*acp.Remote, error) {
	for _, flag := range []struct {
		name string
		set  bool
	}{{"--cli", a.CLI != ""}, {"--model", a.Model != ""}, {"--policy", a.Policy != ""}, {"--record", a.Record != ""}, {"--bypass", a.Bypass}} {
		if flag.set {
			return nil, fmt.Errorf("%s is for a CLI of this machine: with --connect the server decides that", flag.name)
		}
	}
	token := c.variable(serverToken)
	if token == "" {
		return nil, errors.New("the variable " + serverToken + " is empty: an admin of the server makes a token, see \"claudectl serve\"")
	}
	server, err := client.New(client.Options{URL: a.Connect, Token: token})
	if err != nil {
		return nil, err
	}
	return &acp.Remote{Server: server, Preset: a.Preset, Name: "claudectl"}, nil
}
