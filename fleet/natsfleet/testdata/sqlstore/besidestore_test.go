package natsfleet_test

import (
	"context"
	"path/filepath"

	"github.com/claude-agent-go/claude/store/sqlstore"
)

// besideStore keeps transcripts beside the stream in these tests: in SQLite. This
// file takes the place of the one that keeps them in a folder, see the README.
type besideStore = *sqlstore.Store

func openBesideStore(dir string) besideStore {
	s, err := sqlstore.Open(context.Background(), "sqlite:"+filepath.Join(dir, "beside.db"))
	if err != nil {
		panic(err) // the folder is the test's own
	}
	return s
}
