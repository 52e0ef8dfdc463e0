package natsfleet_test

import "github.com/claude-agent-go/claude/store"

// besideStore keeps transcripts beside the stream in these tests: in a folder.
// testdata/sqlstore puts a database in its place.
type besideStore = *store.FileStore

func openBesideStore(dir string) besideStore {
	s := store.Files(dir)
	s.NoSync = true
	return s
}
