package claude

import (
	"os"
	"path/filepath"
	"testing"
)

// The version of a missing CLI is not that of some package in the working
// directory.
func TestInstalledVersionOfNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"@anthropic-ai/claude-code","version":"1.2.3"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	if got := installedVersion("no-such-cli", []string{"PATH=" + filepath.Join(dir, "bin")}); got != "" {
		t.Errorf("version %q of a CLI that is not there", got)
	}
}
