package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/removal"
	"github.com/claude-agent-go/claude/serve/internal/recordio"
	"github.com/claude-agent-go/claude/store"
)

const (
	// othersBound is how long a deletion waits for providers that a conversation does not
	// have now. They seldom have anything to remove.
	othersBound = 10 * time.Second
	// leftBound is how long one later attempt may take.
	leftBound = 2 * time.Minute
	// leftAgain is the pause between later attempts.
	leftAgain = time.Minute
)

// kindLeft is the kind of the records of folders that were not removed with their
// conversations.
const kindLeft = "serve-folder-left"

// leftFolder names a deleted conversation of which a folder may be left on one machine.
type leftFolder struct {
	Key  string `json:"key"`
	Host string `json:"host"`
	// Fence is that of the deletion.
	Fence store.Fence `json:"fence,omitzero"`
	// Again is whether a conversation has begun again with this name, on any machine.
	// Anything that machines share, such as a snapshot, then belongs to the new one.
	Again bool `json:"again,omitzero"`
	// Until is when the attempt to remove it is over that runs now, if one does.
	Until time.Time `json:"until,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`

	revision int64
}

// leftFolders keeps these records. Each is of one machine: folders are on the machine whose
// program could not remove them.
type leftFolders struct {
	records store.Records
	project string
	host    string
}

// thisHost names this machine.
func thisHost() string {
	name, _ := os.Hostname()
	return cmp.Or(name, "localhost")
}

func (l leftFolders) at(key, host string) store.RecordKey {
	sum := sha256.Sum256([]byte(host))
	return store.RecordKey{Project: l.project, Kind: kindLeft, Name: recordio.Place(key) + "/" + hex.EncodeToString(sum[:8])}
}

// get returns the folders that are left on a machine. The error is [store.ErrNotFound] if
// that is nothing.
func (l leftFolders) get(ctx context.Context, key, host string) (leftFolder, error) {
	f, revision, err := recordio.Get[leftFolder](ctx, l.records, l.at(key, host))
	f.revision = revision
	return f, err
}

// put writes a record. The error is [store.ErrConflict] if another process has changed it.
func (l leftFolders) put(ctx context.Context, f *leftFolder) (err error) {
	f.revision, err = recordio.Put(ctx, l.records, l.at(f.Key, f.Host), f, f.revision)
	return err
}

// hosts yields the folders of a conversation that are left on each machine.
func (l leftFolders) hosts(ctx context.Context, key string) iter.Seq2[leftFolder, error] {
	return func(yield func(leftFolder, error) bool) {
		below := recordio.Place(key) + "/"
		for r, err := range l.records.Scan(ctx, store.Folder{Project: l.project, Kind: kindLeft}, below) {
			var f leftFolder
			if err == nil && !strings.HasPrefix(r.Key.Name, below) {
				return
			}
			if err == nil {
				err = recordio.Decode(r, &f)
				f.revision = r.Revision
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// add notes that a deletion may have left a folder on this machine.
func (l leftFolders) add(ctx context.Context, key string, fence store.Fence) error {
	for {
		f, err := l.get(ctx, key, l.host)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		f.Key, f.Host, f.Fence, f.Again = key, l.host, fence, false
		if err = l.put(ctx, &f); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// settle drops the record after a deletion that has left nothing. While an attempt to remove
// what an earlier one has left runs, the record stays: nothing may be opened until then.
func (l leftFolders) settle(ctx context.Context, key string) error {
	f, err := l.get(ctx, key, l.host)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNewer) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := l.records.Now(ctx)
	if err != nil || now.Before(f.Until) {
		return err
	}
	if err = l.drop(ctx, &f); errors.Is(err, store.ErrConflict) {
		return nil // another process has claimed it
	}
	return err
}

// claim lets one attempt remove what a record names. The error is [store.ErrConflict] while
// another one runs.
func (l leftFolders) claim(ctx context.Context, f *leftFolder) error {
	now, err := l.records.Now(ctx)
	if err != nil {
		return err
	}
	if now.Before(f.Until) {
		return fmt.Errorf("claude: serve: conversation %q: the folder of a deleted conversation with its name is still being removed: %w", f.Key, store.ErrConflict)
	}
	f.Until = now.Add(leftBound + leftAgain).UTC()
	return l.put(ctx, f)
}

// unclaim lets the next attempt begin, although the time of this one may be over.
func (l leftFolders) unclaim(ctx context.Context, claimed []leftFolder) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), othersBound)
	defer cancel()
	var all error
	for i := range claimed {
		claimed[i].Until = time.Time{}
		all = errors.Join(all, l.put(ctx, &claimed[i]))
	}
	return all
}

// drop removes a record. If another process has claimed it since, because this attempt took
// too long, the error is [store.ErrConflict].
func (l leftFolders) drop(ctx context.Context, f *leftFolder) error {
	err := store.Drop(ctx, l.records, l.at(f.Key, f.Host), f.revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// clear removes what is left of a deleted conversation, before one with the same name opens
// its folder here. The first time, on whichever machine that is, everything goes, also what
// machines share. A machine that it comes to later has only folders of its own to remove:
// the fence of the deletion keeps what was saved under a later lease.
func (w *workspaces) clear(ctx context.Context, key string) (err error) {
	var claimed []leftFolder
	first, fence := false, store.Fence{}
	for f, err := range w.left.hosts(ctx, key) {
		if err == nil && f.Again && f.Host != w.left.host {
			continue
		}
		if err == nil {
			err = w.left.claim(ctx, &f)
		}
		if err != nil {
			return errors.Join(err, w.left.unclaim(ctx, claimed))
		}
		first = first || !f.Again
		fence = f.Fence
		claimed = append(claimed, f)
	}
	if len(claimed) == 0 {
		return nil
	}
	if first {
		fence = store.Fence{}
	}
	if err := w.clearClaimed(ctx, key, claimed, fence); err != nil {
		return err
	}
	for i := range claimed {
		f := &claimed[i]
		if f.Host == w.left.host {
			err = errors.Join(err, w.left.drop(ctx, f))
			continue
		}
		f.Again, f.Until = true, time.Time{}
		err = errors.Join(err, w.left.put(ctx, f))
	}
	return err
}

// clearClaimed lets all providers remove their folders of a deleted conversation. If a later
// lease has overtaken the fence, what machines share is not its own any more.
func (w *workspaces) clearClaimed(ctx context.Context, key string, claimed []leftFolder, fence store.Fence) error {
	bounded, cancel := context.WithTimeout(ctx, leftBound)
	defer cancel()
	err := w.removeAll(bounded, key, fence, nil, fence != store.Fence{})
	if err == nil {
		return nil
	}
	if !errors.Is(err, removal.ErrHangs) { // a removal that hangs may still end, and then remove what is new
		err = errors.Join(err, w.left.unclaim(ctx, claimed))
	}
	return fmt.Errorf("claude: serve: the folder of the deleted conversation %q: %w", key, err)
}

// cleared is clear, but waits while another attempt runs. A fleet that got an error at once
// would give up its prompt after a few attempts, before that one is over.
func (w *workspaces) cleared(ctx context.Context, key string) error {
	bounded, cancel := context.WithTimeout(ctx, leftBound)
	defer cancel()
	for {
		err := w.clear(ctx, key)
		if !errors.Is(err, store.ErrConflict) || bounded.Err() != nil {
			return err
		}
		waitTurn(bounded, nil, time.Second)
	}
}

// clearOften removes what deletions have left on this machine, until the context ends.
func (w *workspaces) clearOften(ctx context.Context, j *journal) {
	if len(w.all) == 0 {
		return
	}
	for ctx.Err() == nil {
		w.clearAll(ctx, j)
		waitTurn(ctx, nil, leftAgain)
	}
}

// clearsAtOnce is how many folders are removed at once: some may hang.
const clearsAtOnce = 8

func (w *workspaces) clearAll(ctx context.Context, j *journal) {
	var running sync.WaitGroup
	defer running.Wait()
	room := make(chan struct{}, clearsAtOnce)
	for r, err := range w.left.records.Scan(ctx, store.Folder{Project: w.left.project, Kind: kindLeft}, "") {
		var f leftFolder
		if err != nil {
			j.warn(ctx, "folders that deleted conversations have left cannot be read", "", err)
			return
		}
		if recordio.Decode(r, &f) != nil || f.Host != w.left.host {
			continue // of a newer program, or of another machine
		}
		room <- struct{}{}
		running.Go(func() {
			defer func() { <-room }()
			w.clearOne(ctx, j, f.Key)
		})
	}
}

// clearOne removes what one deletion has left on this machine. A conversation that has begun
// again under the same name does it itself, when it opens its folder.
func (w *workspaces) clearOne(ctx context.Context, j *journal, key string) {
	begun, err := w.clearGone(ctx, key)
	switch {
	case begun || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict): // another attempt is faster
	case err == nil:
		j.logger.Info("the folder of a deleted conversation is removed now", "conversation", key)
	default:
		j.warn(ctx, "the folder of a deleted conversation could not be removed yet", key, err)
	}
}

// clearGone removes what is left here of a conversation, unless one with its name has begun.
// One that begins meanwhile waits until the claim is given back.
func (w *workspaces) clearGone(ctx context.Context, key string) (begun bool, err error) {
	f, err := w.left.get(ctx, key, w.left.host)
	if err == nil {
		err = w.left.claim(ctx, &f)
	}
	if err != nil {
		return false, err
	}
	claimed := []leftFolder{f}
	_, _, err = w.notes.loadAny(ctx, key)
	if !errors.Is(err, store.ErrNotFound) {
		return err == nil, errors.Join(err, w.left.unclaim(ctx, claimed))
	}
	if err := w.clearClaimed(ctx, key, claimed, store.Fence{}); err != nil {
		return false, err
	}
	return false, w.left.drop(ctx, &claimed[0])
}
