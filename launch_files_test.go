package claude_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// Whatever the SDK makes for a CLI can be placed elsewhere: with At no argument and no
// variable names a path of this machine's temporary folder, and what they name instead is
// in the archive.
func TestLaunchFiles(t *testing.T) {
	tmp, config := t.TempDir(), t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // the last two on Windows
		t.Setenv(name, tmp)
	}
	if err := os.WriteFile(filepath.Join(config, ".credentials.json"), []byte(`{"token":"t"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	mem := store.Memory()
	put(t, mem, mainKey, `{"type":"user","uuid":"a","parentUuid":null}`)
	d := &double{t: t}
	var at *claude.Launch
	var archive bytes.Buffer
	d.play = func(c *cli) {
		at = d.launch.At("/run/claude")
		if err := d.launch.WriteFiles(&archive); err != nil {
			c.t.Error(err)
		}
		c.greet()
		c.idle()
	}
	s := connect(t, &claude.Options{
		Transport: d, Logger: harness.Logger(t), Resume: mainKey.Session, Cwd: "/there/work", FileCheckpointing: true,
		Env:        []string{"HOME=/there", "CLAUDE_CONFIG_DIR=" + config},
		Settings:   map[string]any{"model": "opus"},
		MCPServers: claude.MCPServers{"docs": claude.HTTPServer{URL: "https://docs.example"}},
		Store:      &claude.StoreOptions{Store: mem, Project: "tenant-7", Journal: t.TempDir(), Private: true},
	})
	placed := unpack(t, &archive)
	for _, text := range slices.Concat(at.Args, at.Env) {
		if strings.Contains(text, tmp) {
			t.Errorf("%q names a path of this machine", text)
		}
		if _, there, ok := strings.Cut(text, "/run/claude/"); ok && placed[there] == "" {
			t.Errorf("%q names what is not in the archive", text)
		}
	}
	for _, want := range []string{"--settings", "/run/claude/settings.json", "--mcp-config=/run/claude/mcp.json"} {
		if !slices.Contains(at.Args, want) {
			t.Errorf("%q lacks %q", at.Args, want)
		}
	}
	for _, want := range []string{"HOME=/there", "CLAUDE_CONFIG_DIR=/run/claude/config", "CLAUDE_CODE_TMPDIR=/run/claude/tmp"} {
		if !slices.Contains(at.Env, want) {
			t.Errorf("%q lacks %q", at.Env, want)
		}
	}
	for name, want := range map[string]string{
		"settings.json":            `"model":"opus"`,
		"mcp.json":                 "https://docs.example",
		"tmp":                      "folder",
		"config/.credentials.json": `"token"`,
	} {
		if !strings.Contains(placed[name], want) {
			t.Errorf("%s is %q in the archive, want %q", name, placed[name], want)
		}
	}
	// The folder is named by the working directory, to which Windows adds a drive.
	if !slices.ContainsFunc(slices.Collect(maps.Keys(placed)), func(name string) bool {
		return strings.HasSuffix(name, "-there-work/"+mainKey.Session+".jsonl") && strings.Contains(placed[name], `"uuid":"a"`)
	}) {
		t.Error("the session is not in the archive")
	}
	if link, ok := placed["config/file-history"]; ok {
		t.Errorf("the checkpoints of this machine are in the archive: %q", link)
	}
	if !slices.ContainsFunc(d.launch.Args, func(arg string) bool { return strings.Contains(arg, tmp) }) {
		t.Error("At changed the launch itself")
	}
	finish(t, s)
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("the session has left %v, %v", left, err)
	}
}

// A session that needs no file has none to place.
func TestLaunchWithoutFiles(t *testing.T) {
	t.Parallel()
	d := &double{t: t, play: func(c *cli) { c.greet(); c.idle() }}
	finish(t, connect(t, &claude.Options{Transport: d, Logger: harness.Logger(t)}))
	if len(d.launch.Files) > 0 {
		t.Errorf("files = %+v", d.launch.Files)
	}
	var archive bytes.Buffer
	if err := d.launch.WriteFiles(&archive); err != nil || len(unpack(t, &archive)) > 0 {
		t.Errorf("the archive is not empty, or %v", err)
	}
}

// A path is not taken for one that it begins with, whatever the order.
func TestLaunchAtPrefix(t *testing.T) {
	t.Parallel()
	l := &claude.Launch{
		Args: []string{"--a=/s/tmp/x", "/s/tmpfile", "/s/tmp", "/elsewhere/tmp"},
		Files: []claude.LaunchFile{
			{Name: "tmp", Path: "/s/tmp", Dir: true}, {Name: "file", Path: "/s/tmpfile"},
		},
	}
	want := []string{"--a=/f/tmp/x", "/f/file", "/f/tmp", "/elsewhere/tmp"}
	if got := l.At("/f").Args; !slices.Equal(got, want) {
		t.Errorf("args = %q, want %q", got, want)
	}
}

// A file that is gone, or has become a link, is an error that names it.
func TestLaunchFileGone(t *testing.T) {
	t.Parallel()
	need.Symlinks.Test(t)
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "gone"), link} {
		l := &claude.Launch{Files: []claude.LaunchFile{{Name: "settings.json", Path: path}}}
		if err := l.WriteFiles(io.Discard); err == nil || !strings.Contains(err.Error(), "settings.json") {
			t.Errorf("%s: error = %v", path, err)
		}
	}
}

// unpack returns the contents by name, "folder" for a folder, and wants modes that let
// only the owner in.
func unpack(t *testing.T, r io.Reader) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if fs.FileMode(h.Mode)&0o077 != 0 {
			t.Errorf("%s has mode %o", h.Name, h.Mode)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeDir {
			data = []byte("folder")
		}
		found[strings.TrimSuffix(h.Name, "/")] = string(data)
	}
}
