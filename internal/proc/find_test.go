package proc_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// tree makes programs in a new directory and returns it.
func tree(t *testing.T, programs ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range programs {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		mode := fs.FileMode(0o700)
		if strings.HasPrefix(name, "plain/") {
			mode = 0o600
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestFind(t *testing.T) {
	need.FileModes.Test(t) // they make a file a program
	root := tree(t, "a/claude", "b/claude", "b/other", "plain/claude", "dir/claude/x",
		"home/.claude/local/claude", "home/.bun/bin/claude", "bun/.bun/bin/claude", "a/cli.js", "plain/cli.js")
	in := func(name string) string { return filepath.Join(root, name) }
	t.Chdir(root)
	for _, test := range []struct {
		name    string
		path    string
		env     []string
		want    string
		wantErr error
	}{
		{name: "first in PATH", env: []string{"PATH=" + in("a") + ":" + in("b")}, want: "a/claude"},
		{name: "second in PATH", env: []string{"PATH=" + in("none") + ":" + in("b")}, want: "b/claude"},
		{name: "last PATH counts", env: []string{"PATH=" + in("a"), "PATH=" + in("b")}, want: "b/claude"},
		{name: "plain file skipped", env: []string{"PATH=" + in("plain") + ":" + in("b")}, want: "b/claude"},
		{name: "directory skipped", env: []string{"PATH=" + in("dir") + ":" + in("b")}, want: "b/claude"},
		{name: "PATH before home", env: []string{"PATH=" + in("a"), "HOME=" + in("home")}, want: "a/claude"},
		{name: "home", env: []string{"HOME=" + in("home")}, want: "home/.claude/local/claude"},
		{name: "home, later place", env: []string{"HOME=" + in("bun"), "PATH="}, want: "bun/.bun/bin/claude"},
		{name: "relative home", env: []string{"HOME=home"}, wantErr: exec.ErrNotFound},
		{name: "nothing", env: []string{}, wantErr: fs.ErrNotExist},
		{name: "dot", env: []string{"PATH=.:" + in("b")}, want: "b/claude"},
		{name: "program below a relative entry", env: []string{"PATH=a:" + in("b")}, wantErr: exec.ErrDot},
		{name: "bare name", path: "other", env: []string{"PATH=" + in("a") + ":" + in("b")}, want: "b/other"},
		{name: "bare name not in home", path: "claude", env: []string{"HOME=" + in("home")}, wantErr: exec.ErrNotFound},
		{name: "absolute", path: in("b/other"), env: []string{}, want: "b/other"},
		{name: "relative", path: "./b/other", env: []string{}, want: "b/other"},
		{name: "missing", path: "./b/none", env: []string{}, wantErr: fs.ErrNotExist},
		{name: "plain file", path: in("plain/claude"), env: []string{}, wantErr: proc.ErrNotExecutable},
		{name: "directory", path: in("dir/claude"), env: []string{}, wantErr: proc.ErrNotExecutable},
		{name: "script", path: in("plain/cli.js"), env: []string{}, want: "plain/cli.js"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if slices.Contains([]error{exec.ErrNotFound, fs.ErrNotExist}, test.wantErr) && test.path == "" {
				skipInstalled(t)
			}
			got, err := proc.Find(test.path, test.env)
			if !errors.Is(err, test.wantErr) {
				t.Fatalf("got %q, %v, want %v", got, err, test.wantErr)
			}
			if test.wantErr == nil && got != in(test.want) {
				t.Errorf("got %q, %v, want %q", got, err, in(test.want))
			}
		})
	}
}

// skipInstalled skips a test that a CLI in the places for all users would spoil.
func skipInstalled(t *testing.T) {
	for _, dir := range []string{"/usr/local/bin", "/opt/homebrew/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "claude")); err == nil {
			t.Skipf("a CLI is installed in %s", dir)
		}
	}
}

// A program in the current directory is never run because of PATH.
func TestFindNotInCurrentDirectory(t *testing.T) {
	name := "claude"
	if runtime.GOOS == "windows" {
		name = "claude.exe"
	}
	t.Chdir(tree(t, name))
	separator := string(filepath.ListSeparator)
	for _, path := range []string{".", "." + string(filepath.Separator), separator + "/none", "/none" + separator} {
		got, err := proc.Find("", []string{"PATH=" + path})
		if !errors.Is(err, exec.ErrDot) {
			t.Errorf("PATH %q: got %q, %v, want exec.ErrDot", path, got, err)
			continue
		}
		if !strings.Contains(err.Error(), "full path") {
			t.Errorf("PATH %q: the error does not say what to do: %v", path, err)
		}
	}
}

func TestNotFoundErrorNamesPlaces(t *testing.T) {
	dir := t.TempDir()
	_, err := proc.Find("no-such-program", []string{"PATH=" + dir})
	e, ok := errors.AsType[*proc.NotFoundError](err)
	if !ok {
		t.Fatalf("got %v, want a NotFoundError", err)
	}
	want := filepath.Join(dir, "no-such-program")
	if !slices.Equal(e.Tried, []string{want}) || !strings.Contains(err.Error(), want) {
		t.Errorf("got %q in %q, want %q", e.Tried, err, want)
	}
	if !errors.Is(err, exec.ErrNotFound) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not match exec.ErrNotFound and fs.ErrNotExist", err)
	}
	if (&proc.NotFoundError{Name: "x"}).Error() == "" {
		t.Error("no text without places")
	}
}
