package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// cliName is the name of the CLI in PATH.
const cliName = "claude"

// Find returns the absolute path of the program to run.
//
// A path with a separator is taken as it is: it must be a program. A bare name
// is looked up in PATH. An empty path means the CLI: "claude" in PATH, then in
// the places where its installers put it.
//
// PATH and the home directory come from env, in the form of [os.Environ]; nil
// means the environment of this process. When PATH leads to the current
// directory, the error matches [exec.ErrDot]. A program that does not exist is
// a [*NotFoundError], one that cannot be run a [*StartError].
func Find(path string, env []string) (string, error) {
	if env == nil {
		env = os.Environ()
	}
	if path == "" {
		return search(cliName, env, installDirs(env))
	}
	if filepath.Base(path) == path && !strings.Contains(path, ":") {
		return search(path, env, nil)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", path, err)
	}
	return check(abs, path)
}

// search looks for a bare name in PATH and then in more directories.
func search(name string, env []string, more []string) (string, error) {
	notFound := &NotFoundError{Name: name}
	var refused error
	for _, dir := range slices.Concat(filepath.SplitList(variable(env, "PATH")), more) {
		if dir == "" {
			dir = "." // what Unix shells take an empty entry for
		}
		candidate, err := filepath.Abs(filepath.Join(dir, name))
		if err != nil {
			continue // there is no current directory to be relative to
		}
		found, err := check(candidate, candidate)
		if err == nil && !filepath.IsAbs(dir) {
			return "", fmt.Errorf("find %s: %w: PATH has the relative entry %q; give the full path to run this one", name, exec.ErrDot, dir)
		}
		if err == nil {
			return found, nil
		}
		if refused == nil && errors.Is(err, ErrBatchFile) {
			refused = err
		}
		notFound.Tried = append(notFound.Tried, candidate)
	}
	if refused != nil {
		return "", refused
	}
	return "", notFound
}

// check makes sure that path, which is absolute, can be run. The name is for
// errors.
func check(path, name string) (string, error) { return checkOn(runtime.GOOS, path, name) }

// checkOn is check for a system, so that what it refuses on Windows is tested on
// every system.
func checkOn(goos, path, name string) (string, error) {
	found, err := exec.LookPath(path)
	if err == nil {
		if err := refuseBatch(goos, found); err != nil {
			return "", err
		}
		return found, nil
	}
	info, statErr := os.Stat(path)
	switch {
	case errors.Is(statErr, fs.ErrNotExist), errors.Is(statErr, syscall.ENOTDIR):
		return "", &NotFoundError{Name: name, Tried: []string{path}}
	case statErr == nil && info.IsDir():
		return "", &StartError{Path: path, Reason: ErrNotExecutable, Err: syscall.EISDIR}
	case statErr == nil && isScript(path):
		return path, nil // node reads it, so it need not be executable
	}
	if execErr, ok := errors.AsType[*exec.Error](err); ok {
		err = execErr.Err
	}
	return "", &StartError{Path: path, Reason: ErrNotExecutable, Err: err}
}

// isScript reports whether node has to run the file.
func isScript(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".js", ".mjs", ".cjs":
		return true
	}
	return false
}

// refuseBatch returns an error for a program that the system would run through
// cmd.exe, which reads arguments in its own way: a prompt could run commands.
func refuseBatch(goos, path string) error {
	if goos != "windows" || !runsThroughCmd(path) {
		return nil
	}
	return &StartError{Path: path, Reason: ErrBatchFile}
}

// runsThroughCmd reports whether Windows runs a file through cmd.exe. It decides
// by the name alone, on any system.
func runsThroughCmd(path string) bool {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if i := strings.IndexByte(name, ':'); i > 0 {
		name = name[:i] // a stream of the file
	}
	// Windows ignores dots and blanks at the end of a name.
	name = strings.ToLower(strings.TrimRight(name, ". "))
	return strings.HasSuffix(name, ".cmd") || strings.HasSuffix(name, ".bat")
}

// variable returns the value of an environment variable. The last entry counts,
// as it does for a child started by os/exec.
func variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		key, value, ok := strings.Cut(entry, "=")
		if ok && (key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name)) {
			return value
		}
	}
	return ""
}

// installDirs lists the places where the installers of the CLI put it.
func installDirs(env []string) []string {
	if runtime.GOOS == "windows" {
		return slices.Concat(
			under(variable(env, "USERPROFILE"), `.claude\local`, `.local\bin`, `.yarn\bin`, `.bun\bin`),
			under(variable(env, "APPDATA"), `npm`),
		)
	}
	home := variable(env, "HOME")
	return slices.Concat(
		under(home, ".claude/local", ".local/bin", ".npm-global/bin"),
		[]string{"/usr/local/bin", "/opt/homebrew/bin"},
		under(home, "node_modules/.bin", ".yarn/bin", ".bun/bin"),
	)
}

// under joins each name to root; an unset or relative root gives nothing.
func under(root string, names ...string) []string {
	if !filepath.IsAbs(root) {
		return nil
	}
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, filepath.Join(root, name))
	}
	return dirs
}
