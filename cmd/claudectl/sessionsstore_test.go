package main

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

const firstSession, secondSession = "10000000-0000-4000-8000-000000000001", "20000000-0000-4000-8000-000000000001"

// putFile writes a file below the projects of a configuration directory.
func putFile(t *testing.T, config, name, text string) {
	t.Helper()
	path := filepath.Join(config, "projects", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files returns the transcripts and notes below a configuration directory.
func files(t *testing.T, config string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(config, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".jsonl") && !strings.HasSuffix(path, ".meta.json") {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(config, path)
		found[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// wantFiles wants the same files in two directories.
func wantFiles(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range maps.Keys(want) {
		if got[name] != want[name] {
			t.Errorf("%s is\n%q, want\n%q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
}

// Sessions go to a store and come back on another disk, with their subagents, byte
// for byte.
func TestSessionsExport(t *testing.T) {
	config, dir := sessionsAt(t), filepath.Join(t.TempDir(), "new", "store")
	putFile(t, config, "-work/"+firstSession+"/subagents/agent-a.jsonl", `{"type":"user","uuid":"s1","parentUuid":null,"isSidechain":true}`+"\n")
	putFile(t, config, "-work/"+firstSession+"/subagents/agent-a.meta.json", `{"toolUseId":"t","agentType":"explorer","depth":1}`)
	putFile(t, config, "-work/"+firstSession+"/subagents/workflows/w/agent-b.jsonl", `{"type":"user","uuid":"s2"}`+"\n")
	before := files(t, config)
	do := func(config string, want string, args ...string) {
		t.Helper()
		if got := manage(t, config, args...); got.code != 0 || got.stdout != want {
			t.Errorf("%q: %+v, want %q", args, got, want)
		}
	}
	do(config, "exported "+firstSession+" (7 entries)\n", "export", "1000", "--store", dir)
	do(config, "exported "+firstSession+" (0 entries)\n", "export", "1000", "--store", dir)
	do(config, "exported "+secondSession+" (4 entries)\nexported "+firstSession+" (0 entries)\n", "export", "--all", "--store", dir)

	other := filepath.Join(t.TempDir(), "config")
	do(other, "imported "+firstSession+"\n", "import", "1000", "--store", dir)
	do(other, "imported "+secondSession+"\n", "import", "--all", "--store", dir)
	do(other, "", "import", "--all", "--store", dir)
	wantFiles(t, files(t, other), before)
	if left, _ := os.ReadDir(other); len(left) != 1 {
		t.Errorf("%v is left beside the sessions", left)
	}

	// What was said since is added, and nothing else is.
	putFile(t, config, "-work/"+firstSession+".jsonl", before["projects/-work/"+firstSession+".jsonl"]+`{"type":"tag","tag":"new"}`+"\nnot an entry\n"+`{"cut":`)
	do(config, "exported "+firstSession+" (1 entries, 2 lines that cannot be read are left out)\n", "export", "1000", "--store", dir)
	work := t.TempDir()
	do(t.TempDir(), "imported "+firstSession+"\n", "import", "1000", "--store", dir, "--cwd", work)
}

// Nothing is overwritten, on either side, and nothing is left of an attempt.
func TestSessionsExportRefuses(t *testing.T) {
	config, dir := sessionsAt(t), t.TempDir()
	if got := manage(t, config, "export", "--all", "--store", dir); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	before, stored := files(t, config), files(t, dir)
	changed := sessionsAt(t)
	putFile(t, changed, "-work/"+firstSession+".jsonl", `{"type":"user","uuid":"another","parentUuid":null,"timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"Hello"}}`+"\n")
	shorter := sessionsAt(t)
	putFile(t, shorter, "-work/"+firstSession+".jsonl", strings.SplitAfter(before["projects/-work/"+firstSession+".jsonl"], "\n")[0])
	lease, err := store.Files(dir).Acquire(t.Context(), "default", secondSession, "pod-7", 1e12)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Files(dir).Release(t.Context(), lease)
	for _, tt := range []struct {
		config, args, want string
		code               exitCode
	}{
		{changed, "export 1000 --store " + dir, "with other entries", exitInput},
		{shorter, "export 1000 --store " + dir, "with other entries", exitInput},
		{changed, "export --all --store " + dir, "with other entries", exitInput},
		{config, "export 2000 --store " + dir, "pod-7", exitInput},
		{config, "import 1000 --store " + dir, "exists", exitInput},
		{config, "import 3000 --store " + dir, "no session", exitInput},
		{config, "import 1000 --store " + dir + "/none", "no such file", exitInput},
		{config, "import 1000 --store " + dir + " --project ../x", "project", exitUsage},
		{config, "import 1000 --store " + dir + " --project other", "no session", exitInput},
		{config, "export 1000 --store " + dir + " --project ../x", "project", exitUsage},
		{config, "export 3000 --store " + dir, "no session", exitInput},
		{config, "export --store " + dir, "--all", exitUsage},
		{config, "export 1000 --all --store " + dir, "--all", exitUsage},
		{config, "import --store " + dir, "--all", exitUsage},
		{config, "import ./none --store " + dir, "no such file", exitInput},
	} {
		got := manage(t, tt.config, strings.Fields(tt.args)...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.want) {
			t.Errorf("%s: %+v, want exit code %d and %q", tt.args, got, tt.code, tt.want)
		}
	}
	wantFiles(t, files(t, config), before)
	wantFiles(t, files(t, dir), stored)
	if left, _ := os.ReadDir(config); len(left) != 1 {
		t.Errorf("%v is left beside the sessions", left)
	}
}

// The ids of sessions in a store are completed from there.
func TestCompleteStored(t *testing.T) {
	config, dir := sessionsAt(t), t.TempDir()
	if got := manage(t, config, "export", "1000", "--store", dir); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	for words, want := range map[string]string{
		"run --store " + dir + " --resume 1":     firstSession,
		"run --store=" + dir + " --resume 1":     firstSession,
		"run --store " + dir + " --resume 2":     "",
		"sessions import --store " + dir + " 1":  firstSession,
		"sessions import --store " + dir + " ./": filesWanted,
		"sessions export --store " + dir + " 2":  secondSession,
	} {
		var stdout, stderr bytes.Buffer
		run(t.Context(), append([]string{"complete", "zsh", "--"}, strings.Fields(words)...), strings.NewReader(""), &stdout, &stderr, []string{"CLAUDE_CONFIG_DIR=" + config})
		if got, _, _ := strings.Cut(strings.TrimSpace(stdout.String()), "\t"); got != want {
			t.Errorf("%s: %q, want %q; %s", words, got, want, stderr.String())
		}
	}
}

// A session that run keeps in a store is continued from there on another machine,
// and so are its copies on disks.
func TestRealRunStore(t *testing.T) {
	cli := realcli.Need(t, realcli.Version)
	var agent sync.Once
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		reply := claudetest.Say("noted")
		if strings.Contains(c.Prompt, "delegate") {
			agent.Do(func() {
				reply = claudetest.UseTool("Agent", map[string]any{"description": "look", "prompt": "look: inside", "subagent_type": "general-purpose"})
			})
		}
		return reply
	})
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	// on runs a command on another machine, and returns its configuration directory.
	on := func(config string, args ...string) (outcome, string) {
		t.Helper()
		env, home := realcli.Env(t, base)
		if config == "" {
			config = filepath.Join(home, ".claude")
		}
		env = append(env, "CLAUDE_CONFIG_DIR="+config)
		if args[0] == "run" {
			args = slices.Insert(args, 1, "--cli", cli, "--cwd", t.TempDir())
		}
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &stdout, &stderr, env)
		if code != 0 {
			t.Errorf("%q: exit code %d, %s", args, code, stderr.String())
		}
		return outcome{code, stdout.String(), stderr.String()}, config
	}
	dir := t.TempDir()
	got, _ := on("", "run", "--store", dir, "delegate")
	_, rest, _ := strings.Cut(got.stderr, "claudectl run --resume ")
	id, line, _ := strings.Cut(rest, " ")
	if !strings.Contains(line, "--store "+dir) {
		t.Fatalf("it says\n%s", got.stderr)
	}
	on("", "run", "--store", dir, "--resume", id, "the second")
	on("", "run", "--store", dir, "--continue", "the third")
	_, disk := on("", "sessions", "import", id, "--store", dir)
	back := t.TempDir()
	on(disk, "sessions", "export", id, "--store", back)
	_, again := on("", "sessions", "import", id, "--store", back)
	wantFiles(t, files(t, again), files(t, disk))
	if n := len(files(t, disk)); n < 3 {
		t.Errorf("there are %d files, want the session, its subagent and a note about it", n)
	}
	on(disk, "run", "--resume", id, "the fourth")
	on("", "run", "--store", back, "--resume", id, "the fifth")
	calls := model.Calls()
	heard := string(calls[len(calls)-1].Raw)
	for _, prompt := range []string{"delegate", "the second", "the third", "the fifth"} {
		if !strings.Contains(heard, prompt) {
			t.Errorf("the model did not hear %q", prompt)
		}
	}
	if strings.Contains(heard, "the fourth") {
		t.Error("the copies are one session")
	}
}
