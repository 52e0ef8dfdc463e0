// Command inbox is a web application that has users of its own, and lets them
// talk to agents: package serve is a part of it, with its page and its API.
package main

import (
	"context"
	"errors"
	"log"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/page"
	"github.com/claude-agent-go/claude/store"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	app, err := start(ctx, "inbox-data", &claude.Options{PartialMessages: true})
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: app, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		app.close() // ends the streams, for which Shutdown would wait
		_ = server.Shutdown(context.Background())
	}()
	log.Print("http://127.0.0.1:8080/app/login")
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// application is the whole server.
type application struct {
	*http.ServeMux
	users *users
	close func()
}

// start opens the store in a directory, and begins to work.
func start(ctx context.Context, dir string, options *claude.Options) (*application, error) {
	work, err := filepath.Abs(filepath.Join(dir, "work"))
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return nil, err
	}
	db := store.Files(filepath.Join(dir, "store"))
	presets := []serve.Preset{{Name: "work", Roots: []string{work}, Options: options, DailyUSD: 20}}
	sessions, err := serve.Sessions(db, "inbox", presets, nil)
	if err != nil {
		return nil, err
	}
	f, err := fleet.Open(ctx, fleet.Options{Store: db, Project: "inbox", Session: sessions, Journal: filepath.Join(dir, "journal"), Gate: &approval.Options{}})
	if err != nil {
		return nil, err
	}
	app := &application{ServeMux: http.NewServeMux(), users: newUsers()}
	agents, err := serve.New(f, serve.Options{Records: db, Project: "inbox", Presets: presets, Page: page.New, Authenticate: app.users.of})
	if err != nil {
		return nil, errors.Join(err, f.Close(ctx))
	}
	app.close = func() { _ = errors.Join(agents.Close(), f.Close(context.Background())) }
	app.Handle("/app/", http.NewCrossOriginProtection().Handler(app.users)) // your own pages
	app.Handle("/", agents)                                                 // the rest
	return app, nil
}
