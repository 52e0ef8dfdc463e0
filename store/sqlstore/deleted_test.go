package sqlstore_test

import (
	"bytes"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/realstore"
	"github.com/claude-agent-go/claude/internal/test/server"
)

// When a conversation is deleted, no file of an SQLite database has anything of it after a
// checkpoint, and no file of Postgres but its write-ahead log after a VACUUM FULL.
func TestRealDeleteLeavesNothing(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) {
		dir := t.TempDir()
		at := filepath.Join(dir, "s.db")
		realstore.Deleted(t, open(t, "sqlite:"+at), func(t *testing.T, text string) []string {
			command(t, "sqlite", "file:"+at, "PRAGMA wal_checkpoint(TRUNCATE)")
			return filesWith(t, dir, text)
		})
	})
	for _, major := range []int{15, 18} {
		t.Run(fmt.Sprint("Postgres ", major), func(t *testing.T) {
			source := server.Postgres(t, major)
			s := open(t, source)
			realstore.Deleted(t, s, func(t *testing.T, text string) []string {
				command(t, "pgx", source, "VACUUM FULL", "CHECKPOINT")
				var dir string
				found := rowsWith(t, source, text)
				ask(t, source, func(db *sql.DB) error { return db.QueryRowContext(t.Context(), "SHOW data_directory").Scan(&dir) })
				return append(found, filesWith(t, dir, text)...)
			})
		})
	}
}

// command gives commands to a database.
func command(t *testing.T, driver, source string, commands ...string) {
	t.Helper()
	db, err := sql.Open(driver, source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, c := range commands {
		if _, err := db.ExecContext(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func ask(t *testing.T, source string, question func(*sql.DB) error) {
	t.Helper()
	db, err := sql.Open("pgx", source)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := question(db); err != nil {
		t.Fatal(err)
	}
}

// rowsWith lists the tables of Postgres whose rows have a text, even if they are compressed.
func rowsWith(t *testing.T, source, text string) (found []string) {
	t.Helper()
	ask(t, source, func(db *sql.DB) error {
		var names string
		err := db.QueryRowContext(t.Context(), "SELECT coalesce(string_agg(quote_ident(tablename), ' '), '') FROM pg_tables WHERE schemaname = 'public'").Scan(&names)
		if err != nil {
			return err
		}
		for name := range strings.FieldsSeq(names) {
			var n int
			err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+name+" t WHERE t::text LIKE $1 OR t::text LIKE $2",
				"%"+text+"%", "%"+hex.EncodeToString([]byte(text))+"%").Scan(&n)
			if err != nil {
				return err
			}
			if n > 0 {
				found = append(found, fmt.Sprintf("table %s: %d rows", name, n))
			}
		}
		return nil
	})
	return found
}

// filesWith lists the files below a folder that have a text, but for write-ahead logs of
// Postgres, which are kept for as long as its administrator likes.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || strings.Contains(path, "pg_wal") {
			return nil //nolint // what is gone has nothing
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
