package realcli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program builds the program in the current directory, and returns its path and
// the environment, made by [Env], in which it finds the CLI under the name that
// users have it under.
func Program(tb TB, env []string) (program string, found []string) {
	tb.Helper()
	cli := Need(tb, Tested())
	bin := tb.TempDir()
	program = filepath.Join(bin, "program")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		tb.Fatalf("realcli: %v\n%s", err, out)
	}
	if err := os.Symlink(cli, filepath.Join(bin, "claude")); err != nil {
		tb.Fatalf("realcli: %v", err)
	}
	for _, entry := range env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			entry = "PATH=" + bin + string(filepath.ListSeparator) + path
		}
		found = append(found, entry)
	}
	return program, found
}
