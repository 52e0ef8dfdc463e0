package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
)

// memory says which test caught a mutant the last time. That test is tried
// first, so a second run takes a fraction of the first. It is only a hint, and
// may be missing.
type memory map[string]string

// memoryFile is where the memory of a package is, outside of the repository.
func memoryFile(pkg string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "claude-agent-go-mutation", regexp.MustCompile(`\W`).ReplaceAllString(pkg, "-")+".json")
}

func recall(pkg string) memory {
	m := make(memory)
	if data, err := os.ReadFile(memoryFile(pkg)); err == nil {
		_ = json.Unmarshal(data, &m) // a broken one remembers nothing
	}
	return m
}

// keep notes what a run has found.
func (m memory) keep(f *finding) {
	for _, t := range f.tried {
		if t.by != "" {
			m[t.key()] = t.by
		}
	}
	path := memoryFile(f.pkg)
	if data, err := json.Marshal(m); err == nil && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		_ = os.WriteFile(path, data, 0o666)
	}
}
