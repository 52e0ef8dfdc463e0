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
	transcripts store.Transcripts
	streamed    *streamed // nil if the transcripts are in another store
}

var _ interface {
	store.Fleet
	store.Notifier
	store.RecordBatcher
	store.RecordViewer
} = (*Store)(nil)

// newStore decides where the transcripts are kept. The options have been checked.
func newStore(s *stream, o *Options) *Store {
	l := &leases{stream: s, writes: newSerial(), held: make(map[store.Fence]holding)}
	out := &Store{records: &records{leases: l, scanBytes: cmp.Or(o.scanBytes, usualScanBytes)}}
	if o.Transcripts != nil {
		l.side = &sideStore{o.Transcripts, true}
		out.transcripts = sideTranscripts{o.Transcripts, l}
		return out
	}
	if o.Archive != nil {
		l.side = &sideStore{o.Archive, false}
	}
	out.streamed = &streamed{
		leases: l, archive: o.Archive, archiveTTL: cmp.Or(o.archiveTTL, usualArchiveTTL), compactAt: cmp.Or(o.compactAt, usualCompactAt),
	}
	out.transcripts = out.streamed
	return out
}

// Close closes the connection. It may be called again.
func (s *Store) Close() error {
	s.stopWaiting()
	s.nc.Close()
	return nil
}

// Append implements [store.Transcripts].
func (s *Store) Append(ctx context.Context, k store.Key, b store.Batch) error {
	return s.transcripts.Append(ctx, k, b)
}

// Load implements [store.Transcripts].
func (s *Store) Load(ctx context.Context, k store.Key, after store.Place) iter.Seq2[store.PlacedEntry, error] {
	return s.transcripts.Load(ctx, k, after)
}

// List implements [store.Transcripts].
func (s *Store) List(ctx context.Context, project string) iter.Seq2[store.Summary, error] {
	return s.transcripts.List(ctx, project)
}

// Subagents implements [store.Transcripts].
func (s *Store) Subagents(ctx context.Context, project, session string) iter.Seq2[string, error] {
	return s.transcripts.Subagents(ctx, project, session)
}

// Delete implements [store.Transcripts].
func (s *Store) Delete(ctx context.Context, k store.Key, f store.Fence) error {
	return s.transcripts.Delete(ctx, k, f)
}

// Acquire implements [store.Leases].
func (s *Store) Acquire(ctx context.Context, project, name, who string, ttl time.Duration) (store.Lease, error) {
	return s.take(ctx, project, name, who, ttl)
}

// Renew implements [store.Leases].
func (s *Store) Renew(ctx context.Context, l store.Lease) error { return s.extend(ctx, l) }

// Now implements [store.Leases]: the clock of the server that leads the stream.
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.clock(ctx) }

// GetRecord implements [store.Records].
func (s *Store) GetRecord(ctx context.Context, k store.RecordKey) (store.Record, error) {
	return s.get(ctx, k)
}

// Scan implements [store.Records]. It finds out the names of all records of the folder
// before it yields the first, and reads large values and those of many records as it comes
// to them. Records of other folders are not read.
func (s *Store) Scan(ctx context.Context, f store.Folder, after string) iter.Seq2[store.Record, error] {
	return s.scanFrom(ctx, f, after)
}

// PutRecord implements [store.Records].
func (s *Store) PutRecord(ctx context.Context, k store.RecordKey, value []byte, revision int64, f store.Fence) (int64, error) {
	next, err := s.ChangeRecords(ctx, []store.RecordChange{{Key: k, Value: value, Revision: revision}}, f)
	if err != nil {
		return 0, err
	}
	return next[0], nil
}

// DropRecord implements [store.Records]. The message that marks the record as
// gone expires by itself.
func (s *Store) DropRecord(ctx context.Context, k store.RecordKey, revision int64, f store.Fence) error {
	_, err := s.ChangeRecords(ctx, []store.RecordChange{{Key: k, Drop: true, Revision: revision}}, f)
	return err
}

// ChangeRecords implements [store.RecordBatcher], as one atomic batch.
func (s *Store) ChangeRecords(ctx context.Context, changes []store.RecordChange, f store.Fence) ([]int64, error) {
	return s.changeAll(ctx, changes, f)
}

// ViewRecords implements [store.RecordViewer].
func (s *Store) ViewRecords(ctx context.Context, keys, folders []store.RecordKey) ([]store.Record, error) {
	return s.viewAll(ctx, keys, folders)
}

// Release implements [store.Leases]. Transcripts of many messages are compacted before.
func (s *Store) Release(ctx context.Context, l store.Lease) error {
	if err := cmp.Or(store.CheckLease(l.Project, l.Name), ctx.Err()); err != nil {
		return err
	}
	return s.release(ctx, l, func(touched map[store.Key]bool) {
		if s.streamed != nil {
			s.streamed.compactAll(ctx, l.Fence, touched)
		}
	})
}

// Batches implements [store.RecordBatcher].
func (s *Store) Batches(r store.Records) bool { return r == store.Records(s) }

// Views implements [store.RecordViewer].
func (s *Store) Views(r store.Records) bool { return r == store.Records(s) }

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
	if s.streamed == nil || s.streamed.archive == nil {
		return 0, errors.New("claude: natsfleet: Options.Archive is missing")
	}
	return s.streamed.moveCold(ctx, project, before)
}
