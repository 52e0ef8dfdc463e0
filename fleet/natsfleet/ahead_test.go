package natsfleet_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// A replica may have a change before the leader shows it. Still, a reader who sees in a
// folder that a record is gone finds what was stored in its place. Without the second
// barrier of pageReader about one read in ten thousand fails here.
func TestReadAfterScan(t *testing.T) {
	t.Parallel()
	const folders, records = 16, 300
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	writer, reader := openStore(t, c.URL()), openStore(t, c.URL())
	key := func(name string) store.RecordKey { return store.RecordKey{Project: "p", Kind: "k", Name: name} }
	var wg sync.WaitGroup
	for f := range folders {
		wg.Go(func() {
			folder := fmt.Sprint("queue-", f)
			for i := range records {
				waiting, ended := fmt.Sprintf("%s/%d", folder, i), fmt.Sprintf("outcome-%d/%d", f, i)
				revision, err := store.Put(t.Context(), writer, key(waiting), []byte(waiting), 0, store.Fence{})
				if err != nil {
					t.Error(err)
					return
				}
				written := make(chan error, 1)
				go func() {
					_, err := writer.Change(t.Context(), store.Fence{}, []store.RecordChange{
						{Key: key(ended), Value: []byte(ended)}, {Key: key(waiting), Drop: true, Revision: revision},
					}...)
					written <- err
				}()
				for waits := true; waits && err == nil; {
					waits, err = contains(t, reader, folder, waiting)
				}
				if err == nil {
					_, err = store.Get(t.Context(), reader, key(ended))
				}
				if err != nil {
					t.Errorf("%s is gone, and then: %v", waiting, err)
				}
				if err := <-written; err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// contains reports whether a folder has a record.
func contains(t *testing.T, s store.Records, folder, name string) (found bool, err error) {
	for r, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "k", Name: folder}, "") {
		if err != nil {
			return false, err
		}
		found = found || r.Key.Name == name
	}
	return found, nil
}
