package page_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

// The page as a part of a server that has its own users.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "agents")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	// A scripted CLI; without Transport it is the one on this machine.
	options := &claude.Options{Transport: claudetest.New(claudetest.Say("Hello!"))}
	presets := []serve.Preset{{Name: "shop", Roots: []string{dir}, Options: options}}

	db := store.Memory() // or store.Files, which survives a restart
	sessions, err := serve.Sessions(db, "shop", presets, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	f, err := fleet.Open(ctx, fleet.Options{Store: db, Project: "shop", Session: sessions, Journal: dir, Gate: &approval.Options{}})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close(ctx)

	agents, err := serve.New(f, serve.Options{
		Records: db, Project: "shop", Presets: presets, Page: page.New,
		// Your own logins identify the user.
		Authenticate: func(r *http.Request) (api.User, bool) {
			name, password, _ := r.BasicAuth()
			return api.User{Name: name, Role: api.RoleOperator}, name == "ada" && password == "lovelace"
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer agents.Close()
	server := httptest.NewServer(agents) // or http.ListenAndServe
	defer server.Close()

	for _, password := range []string{"guess", "lovelace"} {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			log.Fatal(err)
		}
		r.SetBasicAuth("ada", password)
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			log.Fatal(err)
		}
		reply.Body.Close()
		fmt.Println(reply.StatusCode)
	}
	// Output:
	// 401
	// 200
}
