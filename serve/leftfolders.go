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
func (l leftFolders) add(ctx context.Context, key string) error {
	_, err := recordio.Put(ctx, l.records, l.at(key), &leftFolder{Key: key, Host: l.host}, 0)
	if errors.Is(err, store.ErrConflict) {
		return nil // it is noted
	}
	return err
}

func (l leftFolders) drop(ctx context.Context, key string) error {
	return recordio.Drop(ctx, l.records, l.at(key))
}

// claim lets one attempt remove a folder. Nothing is left if the error is
// [store.ErrNotFound]; another attempt runs if it is [store.ErrConflict].
func (l leftFolders) claim(ctx context.Context, key string) error {
	at := l.at(key)
	f, revision, err := recordio.Get[leftFolder](ctx, l.records, at)
	if err != nil {
		return err
	}
	now, err := l.records.Now(ctx)
	if err != nil {
		return err
	}
	if now.Before(f.Until) {
		return fmt.Errorf("claude: serve: conversation %q: the folder of a deleted conversation with its name is still being removed: %w", key, store.ErrConflict)
	}
	f.Until = now.Add(leftBound + leftAgain).UTC()
	_, err = recordio.Put(ctx, l.records, at, &f, revision)
	return err
}

// unclaim lets the next attempt begin.
func (l leftFolders) unclaim(ctx context.Context, key string) error {
	at := l.at(key)
	f, revision, err := recordio.Get[leftFolder](ctx, l.records, at)
	if err != nil {
		return err
	}
	f.Until = time.Time{}
	_, err = recordio.Put(ctx, l.records, at, &f, revision)
	return err
}

// clear removes what is left of a deleted conversation, if anything is.
func (w *workspaces) clear(ctx context.Context, key string) error {
	err := w.left.claim(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, leftBound)
	defer cancel()
	if err := w.removeAll(bounded, key, store.Fence{}, nil); err != nil {
		if !errors.Is(err, removal.ErrHangs) { // a removal that hangs may still end, and then remove what is new
			err = errors.Join(err, w.left.unclaim(ctx, key))
		}
		return fmt.Errorf("claude: serve: the folder of the deleted conversation %q: %w", key, err)
	}
	return w.left.drop(ctx, key)
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
