package main

import (
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
)

func TestChat(t *testing.T) {
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say(c.Model + " was asked: " + c.Prompt)
	}})
	var out strings.Builder
	in := strings.NewReader("I am Ada.\n/model opus\nWho am I?\n")
	if err := run(t.Context(), in, &out, cli); err != nil {
		t.Fatal(err)
	}
	want := "> scripted was asked: I am Ada.\n> \n> opus was asked: Who am I?\n> \nContinue later with"
	if got := out.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	cli.Recording().WantSent(t, "set_model", map[string]string{"model": "opus"})
}
