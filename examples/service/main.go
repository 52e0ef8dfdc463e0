// Command service holds long conversations with many users. POST /conversations
// begins one, POST /conversations/ID continues it, GET /conversations lists them.
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
	dir := flag.String("dir", "service-data", "has a folder for each user")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root, err := filepath.Abs(*dir)
	if err != nil {
		log.Fatal(err)
	}
	l, err := net.Listen("tcp", *addr)
	if err != nil {
		log.Fatal(err)
	}
	log.Println("listening on", l.Addr())
	s := &service{login: byToken(os.Getenv("SERVICE_TOKENS")), conversations: newConversations(root, nil)}
	if err := s.serve(ctx, l, 20*time.Second); err != nil {
		log.Fatal(err)
	}
}

// serve answers requests until ctx ends. Then it takes no new ones. Those that
// are running may finish within the grace period; after that their turns are
// interrupted. When serve returns, no process is left.
func (s *service) serve(ctx context.Context, l net.Listener, grace time.Duration) error {
	turns, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	srv := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return turns },
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		defer time.AfterFunc(grace, interrupt).Stop()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+10*time.Second)
		defer cancel()
		err = srv.Shutdown(last)
	}
	interrupt()
	return errors.Join(err, s.conversations.close(), srv.Close())
}
