package takeover

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/claude-agent-go/claude/store"
)

// noteLease adds a lease to the file of those that a process has got, before the process
// can die with it.
func noteLease(file string, l store.Lease) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(l), f.Close())
}

// free gives back the leases of the process that is dead, as if their time were up.
func (r *run) free(ctx context.Context) error {
	f, err := os.Open(r.role.Leases)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it has died before it got one
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	for all := json.NewDecoder(f); ; {
		var l store.Lease
		if err := all.Decode(&l); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := r.db.Release(ctx, l); err != nil {
			return err
		}
	}
}
