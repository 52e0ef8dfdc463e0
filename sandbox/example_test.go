package sandbox_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/sandbox"
)

func Example() {
	sandbox.Init() // first in main: this program is also the helper inside
	result, err := ask(context.Background(), "/srv/work/ticket-4711", "Fix the bug in ticket 4711.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
}

// ask lets an agent work on a folder. It has neither the key nor a network: whatever it
// sends goes through the proxy, which knows the key.
func ask(ctx context.Context, dir, prompt string) (string, error) {
	proxy, err := egress.New(egress.Options{
		Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
			return egress.Credential{Secret: os.Getenv("ANTHROPIC_API_KEY")}, nil
		},
	})
	if err != nil {
		return "", err
	}
	defer proxy.Close()
	url, err := proxy.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	pass, err := proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: dir}, Budget: egress.Budget{USD: 5}})
	if err != nil {
		return "", err
	}
	defer pass.Revoke()
	helper, err := os.Executable()
	if err != nil {
		return "", err
	}
	result, err := claude.Ask(ctx, prompt, &claude.Options{
		Cwd:       dir,
		Env:       pass.Env(url, nil),
		Transport: &sandbox.Bubblewrap{Helper: helper},
	})
	if err != nil {
		return "", err
	}
	return result.Text, nil
}
