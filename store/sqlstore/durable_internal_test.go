package sqlstore

import (
	"path/filepath"
	"testing"
)

// Every connection to an SQLite database writes so that stored data survive a crash
// of the machine, and deleted data are gone.
func TestConnectionsAreDurable(t *testing.T) {
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		conn, err := s.db.Conn(t.Context()) // a new one, as the others are in use
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1", "secure_delete": "1"} {
			var got string
			if err := conn.QueryRowContext(t.Context(), "pragma "+pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %q, %v, want %q", pragma, got, err, want)
			}
		}
	}
}
