package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
)

// resultCache remembers which test caught a mutant the last time. That test is
// tried first, so a second run takes a fraction of the first. It is only a hint,
// and may be missing.
type resultCache map[string]string

// resultFile is where the results of a package are kept, outside of the repository.
func resultFile(pkg string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir()
	}
	return filepath.Join(dir, "claude-agent-go-mutation", regexp.MustCompile(`\W`).ReplaceAllString(pkg, "-")+".json")
}

func loadResults(pkg string) resultCache {
	m := make(resultCache)
	if data, err := os.ReadFile(resultFile(pkg)); err == nil {
		_ = json.Unmarshal(data, &m) // a broken one remembers nothing
	}
	return m
}

// save notes what a run has found.
func (m resultCache) save(f *finding) {
	for _, t := range f.tried {
		if t.by != "" {
			m[t.key()] = t.by
		}
	}
	path := resultFile(f.pkg)
	if data, err := json.Marshal(m); err == nil && os.MkdirAll(filepath.Dir(path), 0o777) == nil {
		_ = os.WriteFile(path, data, 0o666)
	}
}
