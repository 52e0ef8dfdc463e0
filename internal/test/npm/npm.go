// Package npm installs what tests need from npm, at pinned versions, into the
// folder .cache of this module. Nothing of it is committed.
package npm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// Package is a package of npm at a version.
type Package struct {
	Name    string
	Version string
	// Has is a file of the package that is there when it is installed.
	Has string
	// Flags are passed to npm, such as "--omit=optional".
	Flags []string
}

// grace is how long npm may take to clean up after it was told to stop.
const grace = 5 * time.Second

// T is the part of testing.T that is needed here.
type T interface {
	long.T
	Context() context.Context
	Fatal(args ...any)
}

// Need returns the folder whose node_modules hold a package, for a test of the long
// level: see package long. A package that is missing is installed.
func Need(t T, p Package) string {
	t.Helper()
	long.Test(t, "needs "+p.Name+" from npm")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	dir, err := Install(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Find returns the folder whose node_modules hold a package, and whether it is
// installed there.
func Find(p Package) (dir string, installed bool, err error) {
	dir, err = prefixOf(p)
	if err != nil {
		return "", false, err
	}
	_, err = os.Stat(p.Path(dir, p.Has))
	return dir, err == nil, nil
}

// Path returns the path of a file of the package, below the folder that Find
// returned.
func (p Package) Path(dir, file string) string {
	return filepath.Join(dir, "node_modules", filepath.FromSlash(p.Name), filepath.FromSlash(file))
}

func prefixOf(p Package) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".cache", strings.ReplaceAll(strings.TrimPrefix(p.Name, "@"), "/", "-"), p.Version), nil
}

// Install returns the folder of Find. The package is fetched unless it is there.
// Several processes may install at once.
func Install(ctx context.Context, p Package) (dir string, err error) {
	dir, installed, err := Find(p)
	if installed || err != nil {
		return dir, err
	}
	if err := fetch(ctx, dir, p); err != nil {
		return "", fmt.Errorf("install %s %s: %w", p.Name, p.Version, err)
	}
	return dir, nil
}

// fetch installs into a folder that appears by one rename, so that one that exists
// is complete.
func fetch(ctx context.Context, prefix string, p Package) error {
	cache := filepath.Dir(prefix)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	// The folder keeps itself out of every commit.
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	lock, err := os.OpenFile(prefix+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := filelock.Lock(ctx, lock); err != nil {
		return err
	}
	if _, err := os.Stat(p.Path(prefix, p.Has)); err == nil {
		return nil // another process was faster
	}
	tmp, err := os.MkdirTemp(cache, p.Version+".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := run(ctx, tmp, p); err != nil {
		return err
	}
	if _, err := os.Stat(p.Path(tmp, p.Has)); err != nil {
		return fmt.Errorf("the package lacks what it should have: %w", err)
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // MkdirTemp makes it private
		return err
	}
	return os.Rename(tmp, prefix)
}

// run lets npm install. Scripts do not run: the packages need none.
func run(ctx context.Context, prefix string, p Package) error {
	args := append([]string{"install", "--prefix", prefix, "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"}, p.Flags...)
	cmd := exec.CommandContext(ctx, "npm", append(args, p.Name+"@"+p.Version)...)
	cmd.Dir = prefix
	cmd.WaitDelay = grace
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		out = bytes.TrimSpace(out)
		return fmt.Errorf("npm install: %w\n%s", err, out[max(0, len(out)-2000):]) // npm names the cause at the end
	}
	return nil
}

// Root returns the folder of this module, which the working directory is in.
// Modules that are nested in it share its cache.
func Root() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module "+modulePath+"\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod of %s in %s or above", modulePath, wd)
		}
	}
}

const modulePath = "github.com/claude-agent-go/claude"
