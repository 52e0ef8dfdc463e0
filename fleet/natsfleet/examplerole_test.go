package natsfleet_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/example"
)

// exampleRole is the worker of the example in another process.
type exampleRole struct{ Name, URL, Home string }

// run is the program of that worker, as a user would write it. Its CLI answers with its
// name and as many exclamation marks as there were prompts. The one that has answered
// "hello" never answers "hold", and "slow" takes a second.
func (r exampleRole) run() int {
	if err := os.Setenv("HOME", r.Home); err != nil { // it uses the usual journal
		fmt.Println(err)
		return 1
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	first := false
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(call *claudetest.ModelCall) claudetest.Reply {
		fmt.Println("asked", call.Prompt)
		n := 0
		for _, m := range call.Messages {
			if m.Role == "user" && m.Text != "" {
				n++
			}
		}
		reply := claudetest.Say(r.Name + strings.Repeat("!", n))
		switch {
		case call.Prompt == "hello":
			first = true
		case call.Prompt == "hold" && first:
			<-call.Context().Done()
		case call.Prompt == "slow":
			reply = reply.After(time.Second)
		}
		return reply
	}})
	err := example.RunWorker(ctx, r.URL, func(string) *claude.Options {
		return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}
	})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}
