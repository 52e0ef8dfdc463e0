// Command service holds long conversations with many users, on a handful of
// CLIs. It may be killed at any time: what it has accepted is answered.
//
//	POST /conversations/NAME/prompts       accepts a prompt; an Idempotency-Key (a UUID) makes it safe to repeat
//	GET  /conversations/NAME/prompts/ID    shows how it stands, and the answer
//	GET  /conversations/NAME/events        follows the conversation, after Last-Event-ID
//	GET  /conversations                    lists them
//	GET  /questions                        shows what waits for the user
//	POST /questions/ID                     decides: {"allow": true, "digest": "…"}
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "where to listen")
	dir := flag.String("dir", "service-data", "has the conversations, and a folder for each user")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := filepath.Abs(*dir)
	if err != nil {
		log.Fatal(err)
	}
	f, err := openFleet(ctx, root, nil)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("listening on", l.Addr())
	s := &service{login: byToken(os.Getenv("SERVICE_TOKENS")), fleet: f}
	if err := s.serve(ctx, l); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until ctx ends. Turns may then finish within the grace
// period of the fleet. Unanswered prompts stay in the store.
func (s *service) serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx }, // ends the streams of events
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	var err error
	last := context.WithoutCancel(ctx)
	select {
	case err = <-failed:
	case <-ctx.Done():
		bounded, cancel := context.WithTimeout(last, 10*time.Second)
		defer cancel()
		err = srv.Shutdown(bounded)
	}
	return errors.Join(err, s.fleet.Close(last), srv.Close())
}
