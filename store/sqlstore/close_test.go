package sqlstore_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/store/sqlstore"
)

// A database that is closed leaves no goroutine: the bubble would not end.
func TestCloseEndsAll(t *testing.T) {
	at := "sqlite:" + filepath.Join(t.TempDir(), "s.db")
	synctest.Test(t, func(t *testing.T) {
		s, err := sqlstore.Open(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
