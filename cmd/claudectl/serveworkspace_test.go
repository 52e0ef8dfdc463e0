package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/sandbox"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// gitIn runs git in a folder.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// repositoryIn makes a folder a repository with one file.
func repositoryIn(t *testing.T, dir, file string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, file), []byte("text\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	gitIn(t, dir, "init", "--quiet")
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "--quiet", "--message=first")
}

// Each conversation works on a branch of the repository that it was begun in, and neither
// is left when it is deleted.
func TestServeWorktrees(t *testing.T) {
	long.Test(t, "needs git")
	home := t.TempDir()
	outer, inner := filepath.Join(home, "outer"), filepath.Join(home, "outer", "inner")
	repositoryIn(t, inner, "inner.txt")
	repositoryIn(t, outer, "outer.txt")
	begun := map[string]string{"o": outer, "i": inner, "away": home}
	sessions := func(_ context.Context, key string) (*claude.Options, error) {
		if begun[key] == "" {
			return nil, store.ErrNotFound
		}
		return &claude.Options{Cwd: begun[key]}, nil
	}
	setup := &serveSetup{
		dir: filepath.Join(home, "store"), folders: new(openFolders),
		presets: []serve.Preset{{Name: "a", Roots: []string{outer, inner}}, {Name: "b", Roots: []string{inner}}},
		kinds:   map[string]string{"a": gitWorktrees, "b": gitWorktrees, "plain": gitWorktrees},
	}
	open := func() error {
		_, err := new(serveWorkspace).open(t.Context(), setup, "p", sessions, slog.Default())
		return err
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	files := setup.presets[0].Workspace
	if files != setup.presets[1].Workspace {
		t.Error("the presets do not share the worktrees")
	}
	for key, file := range map[string]string{"o": "outer.txt", "i": "inner.txt"} {
		d, err := files.Open(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(d.Path(), file)); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if got := gitIn(t, d.Path(), "branch", "--show-current"); !strings.HasPrefix(got, "claude/"+key+"-") {
			t.Errorf("%s works on the branch %q", key, got)
		}
		if err := os.WriteFile(filepath.Join(d.Path(), "by-a-command"), []byte("made\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if patch, err := setup.patch(t.Context(), key); err != nil || !strings.Contains(string(patch), "+++ b/by-a-command\n@@ -0,0 +1 @@\n+made\n") {
			t.Errorf("%s: the patch is %q, %v", key, patch, err)
		}
		if setup.folders.of(key) != d.Path() {
			t.Errorf("the folder of %s is %q, want %q", key, setup.folders.of(key), d.Path())
		}
		if err := d.Close(); err != nil || setup.folders.of(key) != "" {
			t.Errorf("when it sleeps, the folder of %s is %q, %v", key, setup.folders.of(key), err)
		}
		delete(begun, key) // a deleted conversation has no preset any more
		if err := files.Remove(t.Context(), key, store.Fence{}); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(d.Path()); err == nil {
			t.Errorf("%s is still there", d.Path())
		}
		if _, err := setup.patch(t.Context(), key); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the patch of a folder that is gone: %v", key, err)
		}
	}
	for _, dir := range []string{outer, inner} {
		if left := gitIn(t, dir, "branch", "--list", "claude/*"); left != "" {
			t.Errorf("%s has the branches %s", dir, left)
		}
	}
	if _, err := files.Open(t.Context(), "away"); err == nil || !strings.Contains(err.Error(), "in no root") {
		t.Errorf("a conversation outside of all roots: %v", err)
	}
	if _, err := files.Open(t.Context(), "gone"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a conversation that is not known: %v", err)
	}
	setup.presets = append(setup.presets, serve.Preset{Name: "plain", Roots: []string{t.TempDir()}})
	err := open()
	if refused, ok := errors.AsType[*failure](err); !ok || refused.code != exitUsage || !strings.Contains(err.Error(), `preset "plain"`) || !strings.Contains(err.Error(), "not a git repository") {
		t.Errorf("a root that is not a repository: %v", err)
	}
}

// Conversations with the same key in two projects of a store have folders of their own,
// and rules of a preset are about files of the conversation's folder.
func TestServeFolders(t *testing.T) {
	dir := t.TempDir()
	setup := &serveSetup{dir: dir, folders: new(openFolders), presets: []serve.Preset{{Name: "a", Roots: []string{dir}}}, kinds: map[string]string{"a": plainFolders}}
	var paths []string
	for _, project := range []string{"p", "q"} {
		if _, err := new(serveWorkspace).open(t.Context(), setup, project, nil, slog.Default()); err != nil {
			t.Fatal(err)
		}
		d, err := setup.presets[0].Workspace.Open(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, d.Path())
	}
	if paths[0] == paths[1] {
		t.Errorf("both projects have %s", paths[0])
	}
	without := &serveSetup{dir: dir, presets: []serve.Preset{{Name: "a", Roots: []string{dir}}}}
	if files, err := new(serveWorkspace).open(t.Context(), without, "p", nil, slog.Default()); files != nil || err != nil {
		t.Errorf("without the flag: %v, %v", files, err)
	}

	root := t.TempDir()
	p := newServePresets(plainFolders)
	text := `{"presets":[{"name":"shop","roots":["` + filepath.ToSlash(root) + `"],"allowed_tools":["Edit(/out/**)"]},
		{"name":"here","workspace":"none","roots":["` + filepath.ToSlash(root) + `"],"allowed_tools":["Edit(/out/**)"]}]}`
	if err := p.parse(&console{}, "", []byte(text)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		folder, cwd, file string
		asks              bool
	}{
		"allowed in its folder":           {paths[0], paths[0], paths[0] + "/out/f", false},
		"another file of its folder":      {paths[0], paths[0], paths[0] + "/f", true},
		"the same file of another":        {paths[0], paths[0], paths[1] + "/out/f", true},
		"in the folder of another":        {paths[0], paths[1], paths[1] + "/out/f", true},
		"in the root of the preset":       {paths[0], root, root + "/out/f", true},
		"a conversation without a folder": {"", paths[0], paths[0] + "/out/f", true},
		"a preset without folders":        {"", root, root + "/out/f", false},
	} {
		input, err := json.Marshal(map[string]string{"file_path": filepath.ToSlash(c.file), "content": "x"})
		if err != nil {
			t.Fatal(err)
		}
		p.folder = func(context.Context) string { return c.folder }
		p.of = func(context.Context) (string, error) {
			if c.folder == "" && c.cwd == root {
				return "here", nil
			}
			return "shop", nil
		}
		call := &hook.PreToolUseInput{Base: hook.Base{Cwd: c.cwd}, ToolBase: hook.ToolBase{ToolName: "Write", ToolInput: input}}
		if reason, asks := p.needs(t.Context(), call); asks != c.asks {
			t.Errorf("%s: it asks: %v (%s)", name, asks, reason)
		}
	}
}

// The sandbox of a preset has the directories that its conversations may use.
func TestServeSandbox(t *testing.T) {
	t.Setenv("PATH", programs(t, "bwrap"))
	presets := []serve.Preset{{Name: "a", Options: &claude.Options{AddDirs: []string{"/srv/more"}}}, {Name: "b", Options: new(claude.Options)}}
	if err := (&serveSandbox{}).apply(presets, true, false); err != nil || presets[0].Options.Transport != nil {
		t.Errorf("without the flag: %v, %v", presets[0].Options.Transport, err)
	}
	if err := (&serveSandbox{Sandbox: "bubblewrap"}).apply(presets, false, true); err != nil {
		t.Fatal(err)
	}
	for i, mounts := range []int{1, 0} {
		b, ok := presets[i].Options.Transport.(*sandbox.Bubblewrap)
		if !ok || b.Helper == "" || b.Network || len(b.Mounts) != mounts {
			t.Errorf("preset %d: %+v", i, presets[i].Options.Transport)
		}
	}
	t.Setenv("PATH", programs(t, "podman", "docker"))
	for _, program := range []string{"podman", "docker"} {
		flags := &serveSandbox{Sandbox: program, SandboxImage: "tools", SandboxCLI: "/opt/claude", SandboxArg: []string{"--runtime=runsc"}}
		if err := flags.apply(presets, false, true); err != nil {
			t.Fatal(err)
		}
		for i, mounts := range []int{1, 0} {
			c, ok := presets[i].Options.Transport.(*sandbox.Container)
			if !ok || c.Program != program || c.Image != "tools" || c.CLI != "/opt/claude" || c.Helper == "" || c.Network != "" || len(c.Mounts) != mounts {
				t.Fatalf("preset %d: %+v", i, presets[i].Options.Transport)
			}
			if c.User != fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()) || !slices.Contains(c.Args, "--runtime=runsc") {
				t.Errorf("preset %d: user %s, arguments %q", i, c.User, c.Args)
			}
			if keeps := slices.Contains(c.Args, "--userns=keep-id"); keeps != (program == "podman" && os.Getuid() != 0) {
				t.Errorf("preset %d of %s: arguments %q", i, program, c.Args)
			}
		}
	}
	t.Setenv("PATH", programs(t, "bwrap"))
	presets[1].Options.AddDirs = []string{"../more"}
	if err := (&serveSandbox{Sandbox: "bubblewrap"}).apply(presets, false, true); err == nil || !strings.Contains(err.Error(), "../more") {
		t.Errorf("a relative directory: %v", err)
	}
}

// programs is a search path with programs that do nothing.
func programs(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		for _, suffix := range []string{"", ".exe"} {
			if err := os.WriteFile(filepath.Join(dir, name+suffix), []byte("#!/bin/sh\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// What cannot be is refused before anything is served.
func TestServeElsewhereRefuses(t *testing.T) {
	plain := t.TempDir()
	presets := filepath.Join(plain, "presets.json")
	if err := os.WriteFile(presets, []byte(`{"presets":[{"name":"shop","roots":["`+filepath.ToSlash(plain)+`"]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args, path string
		code       exitCode
		want       []string
	}{
		{"--workspace=folders --demo", os.Getenv("PATH"), exitUsage, []string{"--demo"}},
		{"--workspace=worktrees", os.Getenv("PATH"), exitUsage, []string{`preset "shop"`, "not a git repository"}},
		{"--workspace-dir=x", os.Getenv("PATH"), exitUsage, []string{"--workspace-dir needs"}},
		{"--workspace=elsewhere", os.Getenv("PATH"), exitUsage, []string{"folders", "worktrees"}},
		{"--sandbox=bubblewrap", os.Getenv("PATH"), exitUsage, []string{"--egress"}},
		{"--sandbox=bubblewrap --demo", os.Getenv("PATH"), exitUsage, []string{"--demo"}},
		{"--sandbox=bubblewrap --egress", programs(t), exitUsage, []string{"bwrap", "install"}},
		{"--sandbox=jail --egress", os.Getenv("PATH"), exitUsage, []string{"bubblewrap"}},
		{"--sandbox=podman --egress", programs(t, "podman"), exitUsage, []string{"--sandbox-image"}},
		{"--sandbox=docker --sandbox-image=x --egress", programs(t, "podman"), exitUsage, []string{"docker", "install"}},
		{"--sandbox=bubblewrap --sandbox-image=x --egress", os.Getenv("PATH"), exitUsage, []string{"--sandbox podman"}},
		{"--sandbox-arg=--privileged", os.Getenv("PATH"), exitUsage, []string{"--sandbox podman"}},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Setenv("PATH", tt.path)
			args := append([]string{"serve", "--store", t.TempDir()}, strings.Fields(tt.args)...)
			if !strings.Contains(tt.args, "--demo") {
				args = append(args, "--presets", presets)
			}
			var said strings.Builder
			code := run(t.Context(), args, strings.NewReader(""), io.Discard, &said, []string{"HOME=" + t.TempDir(), "USER=ada", "ANTHROPIC_API_KEY=k"})
			if code != int(tt.code) {
				t.Errorf("exit %d: %s", code, &said)
			}
			for _, want := range tt.want {
				if !strings.Contains(said.String(), want) {
					t.Errorf("it says %s, want %s", &said, want)
				}
			}
		})
	}
}

var _ workspace.Provider = (*ownFolders)(nil)
