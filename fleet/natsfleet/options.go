package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/claude-agent-go/claude/store"
)

// Options names the servers and configures the store. URL and Project are
// required; every other zero value is useful.
type Options struct {
	// URL names the servers: "nats://a:4222,nats://b:4222", or "tls://" for TLS.
	URL string
	// NATS are further options of the connection: credentials, certificates.
	NATS []nats.Option
	// Name is the name of the fleet: of its stream, and the prefix of its subjects.
	// Fleets with different names are separate. Empty: "claude".
	Name string
	// Project is the project of all keys in the store.
	Project string

	// Replicas is how many servers keep each message when the stream is made: 3
	// in a cluster, 1 if there is only one server.
	Replicas int
	// MaxBytes bounds the stream when it is made. A full stream refuses new
	// messages and never drops old ones. Zero: as much as the server has.
	MaxBytes int64

	// Transcripts keeps the transcripts instead of the stream: a database, an object
	// store. It must have leases, and all clients and workers of the fleet need the same one. A
	// worker then has the lease of a conversation in both, and writes to neither
	// once it has lost one. Close it after the client or worker.
	Transcripts store.Sessions

	// Archive takes the transcripts of conversations that have not been used for
	// ArchiveAfter, which is a week if it is zero, so that the stream does not
	// keep growing. It must be a store that Transcripts would accept; set only
	// one of the two. Workers move the transcripts there. Such conversations
	// continue as before: archived entries are read from the archive, and new
	// ones go to the stream.
	Archive      store.Sessions
	ArchiveAfter time.Duration

	// Logger logs what happens. Nil: slog.Default().
	Logger *slog.Logger

	// Tests set these; see usualCompactAt, usualArchiveTTL and usualScanBytes.
	compactAt  int
	archiveTTL time.Duration
	scanBytes  int
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// check refuses options that cannot work, and fills in the others.
func (o *Options) check() error {
	if o.Name == "" {
		o.Name = "claude"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.URL == "":
		return errors.New("claude: natsfleet: Options.URL is missing")
	case !nameForm.MatchString(o.Name):
		return fmt.Errorf("claude: natsfleet: Options.Name: %q does not consist of 1 to 40 letters, digits, underscores and hyphens", o.Name)
	case o.Replicas < 0 || o.Replicas > 5 || o.Replicas%2 == 0 && o.Replicas != 0:
		return fmt.Errorf("claude: natsfleet: Options.Replicas: %d is not 1, 3 or 5", o.Replicas)
	case o.MaxBytes < 0:
		return errors.New("claude: natsfleet: Options.MaxBytes is negative")
	}
	return o.checkArchive()
}

func (o *Options) checkArchive() error {
	switch {
	case o.Archive == nil && o.ArchiveAfter != 0:
		return errors.New("claude: natsfleet: Options.ArchiveAfter needs Options.Archive")
	case o.Archive == nil:
		return nil
	case o.Transcripts != nil:
		return errors.New("claude: natsfleet: Options.Archive and Options.Transcripts exclude each other: with the second, the stream has no transcripts")
	case o.ArchiveAfter < 0:
		return errors.New("claude: natsfleet: Options.ArchiveAfter is negative")
	}
	return nil
}

// checkLeases refuses stores beside the stream that have no leases.
func (o *Options) checkLeases(ctx context.Context) error {
	if o.Transcripts != nil {
		if err := hasLeases(ctx, o.Transcripts); err != nil {
			return fail("Options.Transcripts", err)
		}
	}
	if o.Archive != nil {
		return fail("Options.Archive", hasLeases(ctx, o.Archive))
	}
	return nil
}

// hasLeases refuses a store beside the stream that has no leases.
func hasLeases(ctx context.Context, s store.Sessions) error {
	if _, err := s.Now(ctx); errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("a %T cannot be used: %w", s, err)
	}
	return nil
}

// archiveAfter is when a conversation is archived.
func (o *Options) archiveAfter() time.Duration { return cmp.Or(o.ArchiveAfter, 7*24*time.Hour) }
