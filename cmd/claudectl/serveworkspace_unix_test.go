//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/serve/client"
)

// chosen is a server whose CLI notes where it was started and what it finds there, and
// leaves a file.
type chosen struct {
	home, repo, db, cli, seen string
}

func newChosen(t *testing.T) *chosen {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return filepath.Join(home, name) }
	c := &chosen{home, path("repo"), path("store"), path("cli"), path("seen")}
	repositoryIn(t, c.repo, "main.go")
	write(t, path("script.json"), `["Done.","Done."]`, os.FileMode(0o600))
	write(t, c.cli, fmt.Sprintf("#!/bin/sh\n{ echo; pwd -P; ls; } >> %q\necho by-a-turn > made\nexec %q fake %q \"$@\"\n", c.seen, built(t), path("script.json")), os.FileMode(0o700))
	return c
}

// start starts the server, and returns how to ask it.
func (c *chosen) start(t *testing.T, args ...string) *client.Client {
	t.Helper()
	var list []string
	for _, kind := range []string{"", noFolders, plainFolders, gitWorktrees, savedFolders} {
		list = append(list, fmt.Sprintf(`{"name":"p%s","roots":[%q],"workspace":%[1]q}`, kind, c.repo))
	}
	file := filepath.Join(c.home, "presets.json")
	write(t, file, `{"presets":[`+strings.Join(list, ",")+`]}`, os.FileMode(0o600))
	_, base := startServe(t, append([]string{"--store", c.db, "--presets", file, "--cli", c.cli}, args...)...)
	var token bytes.Buffer
	if code := run(t.Context(), []string{"serve", "token", "t", "--store", c.db, "--role", "operator", "--user", "ada"}, strings.NewReader(""), &token, os.Stderr, os.Environ()); code != 0 {
		t.Fatalf("no token: exit code %d", code)
	}
	api, err := client.New(client.Options{URL: base, Token: strings.TrimSpace(token.String())})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// turn lets a conversation answer once, and returns where its CLI was started and what it
// found there.
func (c *chosen) turn(t *testing.T, api *client.Client, id string) (dir string, found []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p, err := api.Send(ctx, id, prompt("Go."))
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for ; err == nil && !p.State.Done() && p.Error == ""; <-again.C {
		p, err = api.Prompt(ctx, id, p.ID)
	}
	if err != nil || p.Error != "" {
		t.Fatalf("%+v, %v", p, err)
	}
	text, err := os.ReadFile(c.seen)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSpace(string(text)), "\n\n")
	lines := strings.Split(parts[len(parts)-1], "\n")
	return lines[0], lines[1:]
}

func prompt(text string) api.NewPrompt { return api.NewPrompt{Content: api.Text(text)} }

// A preset decides which folders its conversations get, whatever the flag says. They go with
// the conversations, and the roots of the presets stay as they are.
func TestServePresetsChooseFolders(t *testing.T) {
	long.Test(t, "needs git")
	c := newChosen(t)
	ask := c.start(t, "--workspace", gitWorktrees)
	for _, tt := range []struct {
		preset, kind string
		found        []string
	}{
		{"p", gitWorktrees, []string{"main.go"}},
		{"p" + plainFolders, plainFolders, nil},
		{"p" + gitWorktrees, gitWorktrees, []string{"main.go"}},
		{"p" + savedFolders, savedFolders, nil},
		{"p" + noFolders, noFolders, []string{"main.go"}},
	} {
		begun, err := ask.Create(t.Context(), api.NewConversation{Preset: tt.preset})
		if err != nil {
			t.Fatal(err)
		}
		dir, found := c.turn(t, ask, begun.ID)
		if !slices.Equal(found, tt.found) {
			t.Errorf("%s: it finds %q, want %q", tt.preset, found, tt.found)
		}
		kept := filepath.Join(c.db, workFolder, "default", tt.kind) + "/"
		if tt.kind == noFolders && dir != c.repo || tt.kind != noFolders && !strings.HasPrefix(dir, kept) {
			t.Errorf("%s: it works in %s", tt.preset, dir)
		}
		patch, err := ask.FolderPatch(t.Context(), begun.ID)
		if has := err == nil && strings.Contains(patch, "+by-a-turn"); has != (tt.kind == gitWorktrees) {
			t.Errorf("%s: its patch is %q, %v", tt.preset, patch, err)
		}
		if err := ask.Delete(t.Context(), begun.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "made")); (err == nil) != (tt.kind == noFolders) {
			t.Errorf("%s: when it is deleted, its file is there: %v", tt.preset, err)
		}
	}
	if left := gitIn(t, c.repo, "branch", "--list", "claude/*"); left != "" {
		t.Errorf("the repository has the branches %s", left)
	}
}

// The files of a saved folder are there on a machine that has never had it, chunks that no
// folder needs are removed, and two servers do not share one place for such folders.
func TestServeSavedFolders(t *testing.T) {
	long.Test(t, "needs git")
	c := newChosen(t)
	chunk := filepath.Join(c.db, workFolder, "default", chunkFolder, "aa", strings.Repeat("a", 64))
	if err := os.MkdirAll(filepath.Dir(chunk), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, chunk, "of a save that broke off", os.FileMode(0o600))
	if old := time.Now().Add(-2 * day); os.Chtimes(chunk, old, old) != nil {
		t.Fatal("its age cannot be set")
	}
	var id string
	t.Run("one machine", func(t *testing.T) {
		ask := c.start(t, "--workspace-dir", filepath.Join(c.home, "one"))
		begun, err := ask.Create(t.Context(), api.NewConversation{Preset: "p" + savedFolders})
		if err != nil {
			t.Fatal(err)
		}
		id = begun.ID
		if dir, found := c.turn(t, ask, id); len(found) > 0 || !strings.HasPrefix(dir, filepath.Join(c.home, "one")+"/") {
			t.Errorf("it works in %s, and finds %q", dir, found)
		}
		again := time.NewTicker(20 * time.Millisecond)
		defer again.Stop()
		for over := time.Now().Add(time.Minute); ; <-again.C {
			if _, err := os.Stat(chunk); err != nil {
				break
			}
			if time.Now().After(over) {
				t.Fatal("an old chunk is still there")
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // else one that is not refused serves on
		defer cancel()
		var said strings.Builder
		args := []string{"serve", "--store", c.db, "--presets", filepath.Join(c.home, "presets.json"), "--workspace-dir", filepath.Join(c.home, "one")}
		if code := run(ctx, args, strings.NewReader(""), &said, &said, os.Environ()); code != int(exitUsage) || !strings.Contains(said.String(), "another server works in") {
			t.Errorf("a second server: exit code %d, %s", code, &said)
		}
	})
	t.Run("another machine", func(t *testing.T) {
		ask := c.start(t, "--workspace-dir", filepath.Join(c.home, "two"))
		if dir, found := c.turn(t, ask, id); !slices.Equal(found, []string{"made"}) || !strings.HasPrefix(dir, filepath.Join(c.home, "two")+"/") {
			t.Errorf("it works in %s, and finds %q", dir, found)
		}
	})
}
