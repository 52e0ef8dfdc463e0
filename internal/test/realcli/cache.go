package realcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const modulePath = "github.com/claude-agent-go/claude"

// npmGrace is how long npm may take to clean up after it was told to stop.
const npmGrace = 5 * time.Second

// cache is a folder with one sub-folder per installed version.
type cache struct{ dir string }

// moduleCache is the cache of the module that the working directory is in.
// Nested modules share it: the search continues up to the go.mod of this module.
func moduleCache() (cache, error) {
	wd, err := os.Getwd()
	if err != nil {
		return cache{}, err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declares(text, modulePath) {
			return cache{filepath.Join(dir, ".cache", "claude-code")}, nil
		}
		if dir == filepath.Dir(dir) {
			return cache{}, fmt.Errorf("no go.mod of %s in %s or above", modulePath, wd)
		}
	}
}

// declares reports whether the text of a go.mod names that module.
func declares(gomod []byte, module string) bool {
	for line := range bytes.Lines(gomod) {
		if f := bytes.Fields(line); len(f) >= 2 && string(f[0]) == "module" {
			return strings.Trim(string(f[1]), `"`) == module
		}
	}
	return false
}

// find returns the executable of an installed version.
func (c cache) find(version string) (string, bool) {
	if !validVersion(version) {
		return "", false
	}
	return executable(filepath.Join(c.dir, version))
}

// executable looks for the CLI in a folder that npm installed into.
func executable(prefix string) (string, bool) {
	scope := filepath.Join(prefix, "node_modules", "@anthropic-ai")
	for _, path := range []string{
		filepath.Join(scope, "claude-code-"+platform(), binaryName()),
		filepath.Join(scope, "claude-code", "cli.js"),
	} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, true
		}
	}
	return "", false
}

// validVersion refuses what could name another folder or an npm option.
func validVersion(version string) bool {
	return version != "" && version[0] >= '0' && version[0] <= '9' && !strings.ContainsAny(version, `/\@ `)
}

func (c cache) install(ctx context.Context, version string, log io.Writer) (string, error) {
	if !validVersion(version) {
		return "", fmt.Errorf("install Claude Code: %q is not a version", version)
	}
	if path, ok := c.find(version); ok {
		return path, nil
	}
	path, err := c.fetch(ctx, version, log)
	if err != nil {
		return "", fmt.Errorf("install Claude Code %s: %w", version, err)
	}
	return path, nil
}

// fetch installs a version that is not in the cache.
func (c cache) fetch(ctx context.Context, version string, log io.Writer) (string, error) {
	if err := c.prepare(); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, filepath.Join(c.dir, version+".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if path, ok := c.find(version); ok { // another process was faster
		return path, nil
	}
	if exclusive {
		c.sweep(version)
	}
	return c.fetchLocked(ctx, version, log)
}

// sweep removes what killed installers of that version left behind.
func (c cache) sweep(version string) {
	all, _ := os.ReadDir(c.dir) // by name: the path may hold what would be a pattern
	for _, dir := range all {
		if strings.HasPrefix(dir.Name(), version+".tmp-") {
			_ = os.RemoveAll(filepath.Join(c.dir, dir.Name()))
		}
	}
}

func (c cache) fetchLocked(ctx context.Context, version string, log io.Writer) (string, error) {
	// Next to its target, so that the rename stays on one file system.
	tmp, err := os.MkdirTemp(c.dir, version+".tmp-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if err := npmInstall(ctx, tmp, version, log); err != nil {
		return "", err
	}
	if err := os.Chmod(tmp, 0o755); err != nil { // MkdirTemp makes it private
		return "", err
	}
	err = os.Rename(tmp, filepath.Join(c.dir, version))
	// Without a lock another process may have been faster. Its copy is as good as ours.
	if path, ok := c.find(version); ok {
		return path, nil
	}
	return "", err
}

// prepare makes the cache folder. It carries its own .gitignore, so that no
// checkout can commit a CLI by accident.
func (c cache) prepare() error {
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	ignore := filepath.Join(c.dir, ".gitignore")
	if _, err := os.Stat(ignore); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(ignore, []byte("*\n"), 0o644)
}

// npmInstall fills prefix with the platform package of that version or, where
// there is none, with the package that runs on node.
func npmInstall(ctx context.Context, prefix, version string, log io.Writer) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return err
	}
	var tried []error
	for _, pkg := range []string{"@anthropic-ai/claude-code-" + platform(), "@anthropic-ai/claude-code"} {
		err := runNPM(ctx, npm, prefix, pkg+"@"+version, log)
		if err == nil {
			if path, ok := executable(prefix); ok {
				return os.Chmod(path, 0o755)
			}
			err = errors.New("the package holds no CLI for " + platform())
		}
		tried = append(tried, fmt.Errorf("%s: %w", pkg, err))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(tried...)
}

func runNPM(ctx context.Context, npm, prefix, spec string, log io.Writer) error {
	// --ignore-scripts: the packages need none, and none should run here.
	cmd := exec.CommandContext(ctx, npm, "install", "--prefix", prefix,
		"--no-save", "--ignore-scripts", "--no-audit", "--no-fund", spec)
	cmd.Dir = prefix
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = npmGrace
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if log != nil {
		cmd.Stdout = io.MultiWriter(&out, log)
		cmd.Stderr = cmd.Stdout
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, tail(out.Bytes(), 2000))
	}
	return nil
}

// tail is the end of a text, where npm names the cause.
func tail(text []byte, n int) []byte {
	text = bytes.TrimSpace(text)
	if len(text) > n {
		return append([]byte("... "), text[len(text)-n:]...)
	}
	return text
}
