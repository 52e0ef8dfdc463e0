//go:build unix

package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Only regular files are opened, and no open blocks.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(
		os.WriteFile(at("file"), []byte("text"), 0o600), os.Mkdir(at("folder"), 0o700), syscall.Mkfifo(at("pipe"), 0o600),
		os.Symlink("file", at("link")), os.Symlink("pipe", at("link to a pipe")), os.Symlink("/etc/passwd", at("link out")),
	)
	if err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	read := func(open func(*os.Root, string) (*os.File, fs.FileInfo, error), name string) (string, error) {
		f, info, err := open(root, name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err == nil && int(info.Size()) != len(text) {
			t.Errorf("%s: %d bytes, and the information says %d", name, len(text), info.Size())
		}
		return string(text), err
	}
	for name, want := range map[string]struct{ follow, itself error }{
		"file":           {nil, nil},
		"folder":         {ErrNotRegular, ErrNotRegular},
		"pipe":           {ErrNotRegular, ErrNotRegular},
		"link":           {nil, ErrNotRegular},
		"link to a pipe": {ErrNotRegular, ErrNotRegular},
		"link out":       {errAny, ErrNotRegular},
		"nothing":        {fs.ErrNotExist, fs.ErrNotExist},
	} {
		check := func(how, got string, err, want error) {
			if want == nil && (err != nil || got != "text") || want != nil && (err == nil || want != errAny && !errors.Is(err, want)) {
				t.Errorf("%s of %s: %q, %v, want %v", how, name, got, err, want)
			}
		}
		got, err := read(Open, name)
		check("Open", got, err, want.follow)
		got, err = read(OpenNoFollow, name)
		check("OpenNoFollow", got, err, want.itself)
	}
}

var errAny = errors.New("any error")
