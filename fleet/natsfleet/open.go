package natsfleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
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
	// Name is the name of the fleet: of its stream, and what its subjects begin
	// with. Fleets with different names are separate. Empty: "claude".
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

// Store keeps conversations in a JetStream stream: transcripts, records and
// leases. It implements [store.Fleet]. Its methods may be called from any
// goroutine; Close ends it.
type Store struct {
	nc      *nats.Conn
	layout  layout
	stream  string
	id      string // of this process
	writes  *serial
	floors  floors
	horizon horizon

	refusals    refusals
	waiting     waiting
	replies     *replies
	stopWaiting func()
	transcripts store.Transcripts
	side        *sideStore
	archive     store.Sessions // nil if there is none
	compactAt   int
	archiveTTL  time.Duration
	scanBytes   int
	log         *slog.Logger

	mu    sync.Mutex
	moved time.Time // when another node was last tried
	held  map[store.Fence]holding
}

var _ store.Fleet = (*Store)(nil)

// The versions of the servers and of the stream's layout.
const (
	// The first minor version with atomic batches. Version 2.12.0 refuses some of them
	// for good; this is the first that was tested.
	minVersion    = "2.12.15"
	layoutVersion = "1"
)

// Errors of [OpenStore], [Connect] and [Store], to be found with [errors.Is].
var (
	// ErrOldServer means that the server lacks what a fleet needs.
	ErrOldServer = errors.New("the server is too old")
	// ErrForeignStream means that the server has a stream of that name that
	// another version made, or that does not belong to a fleet.
	ErrForeignStream = errors.New("the stream was not made by this version")
	// ErrOtherTranscripts means that the transcripts of the fleet are not in
	// Options.Transcripts.
	ErrOtherTranscripts = errors.New("the transcripts are not there")
	// ErrRefused means that the server does not accept the credentials, or that they
	// do not allow what a fleet needs. They may have expired or been revoked since the
	// connection was made: it is made again as soon as they are accepted.
	ErrRefused = errors.New("the server does not accept the credentials")
	// ErrTooLarge means that a write is larger than the server can store at once:
	// a thousand messages of max_payload. Nothing of it was stored.
	ErrTooLarge = errors.New("too large for the server")
	// ErrFull means that the stream, its account or the server has no room for a
	// write. Nothing was stored, and nothing old is lost.
	ErrFull = errors.New("the stream is full")
)

// fail prefixes an error with its origin, once.
func fail(what any, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("claude: natsfleet: %v: %w", what, err)
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

// archiveAfter is when a conversation is archived.
func (o *Options) archiveAfter() time.Duration { return cmp.Or(o.ArchiveAfter, 7*24*time.Hour) }

// OpenStore connects to the servers, and makes the stream of the fleet if there is
// none. Options.Project is not needed. A server that cannot be reached is an error,
// as are one that is too old and a stream that another version made.
func OpenStore(ctx context.Context, o Options) (*Store, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := o.checkLeases(ctx); err != nil {
		return nil, err
	}
	nc, err := dial(ctx, &o)
	if err != nil {
		return nil, err
	}
	s := &Store{nc: nc, layout: layout{o.Name}, stream: o.Name, id: rand.Text(), writes: newSerial(), held: make(map[store.Fence]holding)}
	s.place(&o)
	s.refusals.watch(nc, func() error {
		if !nc.IsConnected() {
			return nil // it is gone again; the server of the next connection is looked at
		}
		err := s.checkServer()
		if err != nil {
			s.log.Error("NATS: the connection was made to a server that cannot be used", "error", err)
		}
		return err
	})
	if err := errors.Join(s.checkServer(), ctx.Err()); err != nil {
		nc.Close()
		return nil, err
	}
	if err := s.ensure(ctx, &o); err != nil {
		nc.Close()
		return nil, err
	}
	if s.replies, err = newReplies(nc); err != nil {
		nc.Close()
		return nil, fail("subscribe", err)
	}
	s.stopWaiting = s.waiting.watch(nc)
	return s, nil
}

// place decides where the transcripts are kept. The options have been checked.
func (s *Store) place(o *Options) {
	s.transcripts, s.log = streamed{s}, o.Logger
	s.compactAt = cmp.Or(o.compactAt, usualCompactAt)
	s.archiveTTL = cmp.Or(o.archiveTTL, usualArchiveTTL)
	s.scanBytes = cmp.Or(o.scanBytes, usualScanBytes)
	if o.Transcripts != nil {
		s.transcripts, s.side = sideTranscripts{o.Transcripts, s}, &sideStore{o.Transcripts, true}
	}
	if o.Archive != nil {
		s.archive, s.side = o.Archive, &sideStore{o.Archive, false}
	}
}

// Close closes the connection. It may be called again.
func (s *Store) Close() error {
	s.stopWaiting()
	s.nc.Close()
	return nil
}

// dial connects. A broken connection is retried for ever; meanwhile every write
// fails at once instead of being buffered, because a late delivery would surprise
// its caller.
func dial(ctx context.Context, o *Options) (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("claude fleet " + o.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, time.Second),
		nats.SyncQueueLen(2 * pageCount), // its default is half a megabyte for every read
		nats.ReconnectBufSize(-1), nats.PingInterval(3 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(), nats.Timeout(5 * time.Second),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { o.Logger.Warn("NATS", "error", err) }),
	}
	type result struct {
		nc  *nats.Conn
		err error
	}
	done := make(chan result, 1)
	go func() {
		nc, err := nats.Connect(o.URL, append(opts, o.NATS...)...)
		done <- result{nc, err}
	}()
	select {
	case r := <-done:
		return r.nc, explain(r.err)
	case <-ctx.Done():
		go func() {
			if r := <-done; r.err == nil {
				r.nc.Close()
			}
		}()
		return nil, fail("connect", ctx.Err())
	}
}

// explain names the errors that people can do something about. The URL is not in
// them: it may hold a password.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case isRefusal(err):
		return fmt.Errorf("claude: natsfleet: %w: %w", ErrRefused, err)
	case strings.Contains(err.Error(), "parse "):
		return errors.New("claude: natsfleet: Options.URL cannot be read: want \"nats://HOST:PORT\"")
	}
	return fail("connect", err)
}

// checkServer refuses a server that lacks a required feature.
func (s *Store) checkServer() error {
	version := s.nc.ConnectedServerVersion()
	if !atLeast(version, minVersion) {
		return fmt.Errorf("claude: natsfleet: %w: it has version %s, and %s is needed", ErrOldServer, version, minVersion)
	}
	if s.nc.MaxPayload() < 2*room {
		return fmt.Errorf("claude: natsfleet: the server takes messages of %d bytes; max_payload must be at least %d", s.nc.MaxPayload(), 2*room)
	}
	return nil
}

// room is the space in a message for its subject and headers.
const room = 16 << 10

// part is how many bytes a message carries. Another server of the cluster may take
// less than the one before.
func (s *Store) part() int { return max(int(s.nc.MaxPayload())-room, room) }

// atLeast compares a version such as "2.15.2" or "2.12.0-RC.1" with one of numbers only.
func atLeast(version, least string) bool {
	release, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), "-")
	parts, wanted := strings.Split(release, "."), strings.Split(least, ".")
	if len(parts) != len(wanted) {
		return false
	}
	for i, w := range wanted {
		has, err := strconv.Atoi(parts[i])
		want, err2 := strconv.Atoi(w)
		if err != nil || err2 != nil {
			return false
		}
		if has != want {
			return has > want
		}
	}
	return true
}
