package workspace

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// minAge is the youngest that Collect removes: far older than any save that still runs.
const minAge = time.Hour

// Collect removes chunks that no snapshot names and that were put longer ago than age,
// at least an hour and twice the Timeout of a save: those of saves that broke off, of
// snapshots that were replaced and of conversations that were removed. It returns how
// many it has removed. It may run beside saves and restores of any process. If several
// projects share the blobs, name the others as well, or theirs are removed.
func (s *Snapshots) Collect(ctx context.Context, age time.Duration, otherProjects ...string) (removed int, err error) {
	if age < max(minAge, 2*s.Timeout) {
		return 0, fmt.Errorf("claude: workspace: collect: an age of %v is too young: a save may still need the chunks", age)
	}
	// The candidates come first. A save that makes one of them new, and then names it,
	// keeps it by its time; one that has named it before is among the snapshots below.
	before := time.Now().Add(-age)
	var old []string
	for name, err := range s.Blobs.List(ctx, before) {
		if err != nil {
			return 0, fmt.Errorf("claude: workspace: collect: %w", err)
		}
		old = append(old, name)
	}
	used := make(map[string]bool)
	for _, project := range append([]string{s.Project}, otherProjects...) {
		if err := s.use(ctx, project, used); err != nil {
			return 0, fmt.Errorf("claude: workspace: collect: %w", err)
		}
	}
	for _, name := range old {
		if used[name] {
			continue
		}
		if err := s.do("delete a chunk", func() error { return s.Blobs.Delete(ctx, name, before) }); err != nil {
			return removed, fmt.Errorf("claude: workspace: collect: %w", err)
		}
		removed++
	}
	return removed, nil
}

// use marks the chunks of all snapshots of a project. If one cannot be read, nothing may
// be removed.
func (s *Snapshots) use(ctx context.Context, project string, used map[string]bool) error {
	for r, err := range s.Records.Scan(ctx, store.Folder{Project: project, Kind: kindHead}, "") {
		if err != nil {
			return err
		}
		for tries := 0; ; tries++ {
			err := s.useRecord(ctx, r, used)
			if err == nil {
				break
			}
			// A snapshot that was replaced since may have lost its list to another Collect.
			now, again := store.Get(ctx, s.Records, r.Key)
			if errors.Is(again, store.ErrNotFound) {
				break
			}
			if again != nil || now.Revision == r.Revision || tries == 3 {
				return errors.Join(err, again)
			}
			r = now
		}
	}
	return nil
}

func (s *Snapshots) useRecord(ctx context.Context, r store.Record, used map[string]bool) error {
	h, err := decodeHead(r)
	if err != nil {
		return err
	}
	entries, err := s.manifest(ctx, h)
	if err != nil {
		return err
	}
	for _, c := range h.Manifest {
		used[c] = true
	}
	for i := range entries {
		for _, c := range entries[i].Chunks {
			used[c] = true
		}
	}
	return nil
}
