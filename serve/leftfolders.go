package serve

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
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
	// Fence is that of the deletion. What was saved for the key under a later lease belongs
	// to a conversation that has begun again, perhaps on another machine, and stays.
	Fence store.Fence `json:"fence,omitzero"`
	// Until is when the attempt to remove it is over that runs now, if one does.
	Until time.Time `json:"until,omitzero"`
	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// leftFolders keeps these records, of one machine: folders are on the machine whose program
// could not remove them.
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

func (l leftFolders) at(key string) store.RecordKey {
	sum := sha256.Sum256([]byte(l.host))
	return store.RecordKey{Project: l.project, Kind: kindLeft, Name: recordio.Place(key) + "/" + hex.EncodeToString(sum[:8])}
}

// add notes that a folder may be left.
func (l leftFolders) add(ctx context.Context, key string, fence store.Fence) error {
	_, err := recordio.Put(ctx, l.records, l.at(key), &leftFolder{Key: key, Host: l.host, Fence: fence}, 0)
	if errors.Is(err, store.ErrConflict) {
		return nil // it is noted
	}
	return err
}

// settle drops the record after a deletion that has left nothing. While an attempt to remove
// what an earlier one has left runs, the record stays: nothing may be opened until then.
func (l leftFolders) settle(ctx context.Context, key string) error {
	at := l.at(key)
	f, revision, err := recordio.Get[leftFolder](ctx, l.records, at)
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
	err = store.Drop(ctx, l.records, at, revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil // another process has dropped or claimed it
	}
	return err
}

// claimed is a record that an attempt has claimed.
type claimed struct {
	leftFolder
	revision int64
}

// claim lets one attempt remove a folder. Nothing is left if the error is
// [store.ErrNotFound]; another attempt runs if it is [store.ErrConflict].
func (l leftFolders) claim(ctx context.Context, key string) (c claimed, err error) {
	at := l.at(key)
	f, revision, err := recordio.Get[leftFolder](ctx, l.records, at)
	if err != nil {
		return c, err
	}
	now, err := l.records.Now(ctx)
	if err != nil {
		return c, err
	}
	if now.Before(f.Until) {
		return c, fmt.Errorf("claude: serve: conversation %q: the folder of a deleted conversation with its name is still being removed: %w", key, store.ErrConflict)
	}
	f.Until = now.Add(leftBound + leftAgain).UTC()
	revision, err = recordio.Put(ctx, l.records, at, &f, revision)
	return claimed{f, revision}, err
}

// unclaim lets the next attempt begin, although the time of this one may be over.
func (l leftFolders) unclaim(ctx context.Context, c claimed) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), othersBound)
	defer cancel()
	c.Until = time.Time{}
	_, err := recordio.Put(ctx, l.records, l.at(c.Key), &c.leftFolder, c.revision)
	return err
}

// drop removes a record after the attempt that has claimed it. If another attempt has claimed
// it since, because this one took too long, the error is [store.ErrConflict].
func (l leftFolders) drop(ctx context.Context, c claimed) error {
	err := store.Drop(ctx, l.records, l.at(c.Key), c.revision, store.Fence{})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// clear removes what is left of a deleted conversation, if anything is.
func (w *workspaces) clear(ctx context.Context, key string) error {
	c, err := w.left.claim(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, leftBound)
	defer cancel()
	if err := w.removeAll(bounded, key, c.Fence, nil, true); err != nil {
		if !errors.Is(err, removal.ErrHangs) { // a removal that hangs may still end, and then remove what is new
			err = errors.Join(err, w.left.unclaim(ctx, c))
		}
		return fmt.Errorf("claude: serve: the folder of the deleted conversation %q: %w", key, err)
	}
	return w.left.drop(ctx, c)
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

// clearOne removes what one deletion has left. A conversation that has begun again under the
// same name does it itself, when it opens its folder.
func (w *workspaces) clearOne(ctx context.Context, j *journal, key string) {
	_, _, err := w.notes.loadAny(ctx, key)
	if err == nil {
		return
	}
	if errors.Is(err, store.ErrNotFound) {
		err = w.clear(ctx, key)
	}
	switch {
	case err == nil:
		j.logger.Info("the folder of a deleted conversation is removed now", "conversation", key)
	case !errors.Is(err, store.ErrConflict):
		j.warn(ctx, "the folder of a deleted conversation could not be removed yet", key, err)
	}
}
