package natsfleet

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Store keeps conversations in a JetStream stream: transcripts, records and
// leases. It implements [store.Fleet]. Its methods may be called from any
// goroutine; Close ends it.
type Store struct {
	*records
	streamed *streamed
	joined   store.Fleet // the stream with another store of transcripts; nil if they are in the stream
}

var _ store.Fleet = (*Store)(nil)

// newStore decides where the transcripts are kept. The options have been checked.
func newStore(s *stream, o *Options) *Store {
	l := &leases{stream: s, writes: newSerial(), held: make(map[store.Fence]holding)}
	if o.Archive != nil {
		l.side = &sideStore{o.Archive}
	}
	out := &Store{
		records:  &records{leases: l, scanBytes: cmp.Or(o.scanBytes, usualScanBytes)},
		streamed: &streamed{leases: l, archive: o.Archive, archiveTTL: cmp.Or(o.archiveTTL, usualArchiveTTL), compactAt: cmp.Or(o.compactAt, usualCompactAt)},
	}
	if o.Transcripts != nil {
		rest := *out
		out.joined = store.Join(o.Transcripts, &rest)
	}
	return out
}

// sessions are the transcripts and leases, wherever they are.
func (s *Store) sessions() store.Sessions {
	if s.joined != nil {
		return s.joined
	}
	return s.streamed
}

// Close closes the connection. It may be called again.
func (s *Store) Close() error {
	s.stopWaiting()
	s.nc.Close()
	return nil
}

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return s.sessions().Append(ctx, k, b)
}

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return s.sessions().Load(ctx, k, after)
}

// List implements [store.Transcripts].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return s.sessions().List(ctx, project)
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return s.sessions().Subagents(ctx, project, session)
}

// Delete implements [store.Transcripts].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return s.sessions().Delete(ctx, k, f)
}

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, project, name, who string, ttl time.Duration) (store.Lease, error) {
	return s.sessions().Acquire(ctx, project, name, who, ttl)
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, l store.Lease) error { return s.sessions().Renew(ctx, l) }

// Release implements [store.Leases]. Transcripts of many messages are compacted before.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	return s.sessions().Release(ctx, l)
}

// Now implements [store.Leases]: the clock of the server that leads the stream.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.clock(ctx) }

// Scan implements [store.Records]. It finds out the names of all records of the folder
// before it yields the first, and reads large values and those of many records as it comes
// to them. Records of other folders are not read.
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return s.scanFrom(ctx, f, after)
}

// View implements [store.Records]. One of several records or folders that is to be as new
// as any change costs a small write.
func (s *Store) View(ctx context.Context, v store.View) ([]store.Record, error) {
	return s.viewAll(ctx, v)
}

// Change implements [store.Records], as one atomic batch. The message that marks a dropped
// record as gone expires by itself.
func (s *Store) Change(ctx context.Context, f store.Fence, changes ...store.RecordChange) ([]int64, error) {
	return s.changeAll(ctx, changes, f)
}

// Archive moves transcripts that have not been appended to since the given time
// from the stream to Options.Archive, and returns how many sessions it has
// moved. Sessions that are running, and those that were written without a
// lease, stay. An archived session is read from both, by every process with the
// same Options.Archive. Several processes may call Archive at once, at any
// time, and one of them may die: a half-archived transcript is read from the
// stream.
func (s *Store) Archive(ctx context.Context, project string, before time.Time) (moved int, err error) {
	if err := cmp.Or(store.CheckProject(project), ctx.Err()); err != nil {
		return 0, err
	}
	if s.streamed.archive == nil {
		return 0, errors.New("claude: natsfleet: Options.Archive is missing")
	}
	return s.streamed.moveCold(ctx, project, before)
}
