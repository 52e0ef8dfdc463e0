package harness

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

// TB is the part of [testing.TB] that this package needs.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	TempDir() string
	Output() io.Writer
}

// Logger logs to the test's output.
func Logger(t TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// Script writes a program under a name: a shell script, which has no recognisable
// version.
func Script(t TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatalf("%v", err)
	}
	return path
}
