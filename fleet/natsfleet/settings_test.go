package natsfleet_test

import (
	"context"
	"log"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/store"
)

// A worker that moves the transcripts of conversations unused for a month to
// another store. Clients need the same archive.
func ExampleOptions_archive() {
	ctx := context.Background()
	archive := store.Files("/mnt/shared/archive") // or sqlstore.Open, s3store.Open, redisstore.Open
	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: "nats://a:4222,nats://b:4222", Project: "prod", Archive: archive, ArchiveAfter: 30 * 24 * time.Hour},
		Fleet: fleet.Options{Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Cwd: "/work"}, nil
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close(ctx)
}

// A worker that keeps the transcripts in a store of their own. Clients need the same
// setting.
func ExampleOptions_transcripts() {
	ctx := context.Background()
	transcripts := store.Files("/mnt/shared/transcripts") // or sqlstore.Open, s3store.Open, redisstore.Open
	w, err := natsfleet.StartWorker(ctx, natsfleet.WorkerOptions{
		Options: natsfleet.Options{URL: "nats://a:4222,nats://b:4222", Project: "prod", Transcripts: transcripts},
		Fleet: fleet.Options{Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Cwd: "/work"}, nil
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close(ctx)
}
