package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

var stepForm = regexp.MustCompile(`(?m)^ *- run: (.*)\n(?: *working-directory: (.*)\n)?`)

// script is a step of a workflow.
type script struct{ text, dir string }

// releaseScript finds the step of the workflow for releases that begins with a word.
func releaseScript(t *testing.T, word string) script {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, ".github", "workflows", "release.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, form := range stepForm.FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(form[1], word+" ") {
			return script{form[1], form[2]}
		}
	}
	t.Fatalf("release.yml has no step %s", word)
	return script{}
}

// run runs a step in a folder, as the workflow does.
func (s script) run(t *testing.T, dir string, env ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", s.text)
	cmd.Dir = filepath.Join(dir, s.dir)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The steps between a tag and a published release do what they are there for: a tag of
// another version, a build that differs and a file that was changed stop it.
func TestReleaseScripts(t *testing.T) {
	long.Test(t, "needs bash, diff, grep and sha256sum")
	version := releaseScript(t, "grep")
	if out, err := version.run(t, top, "GITHUB_REF_NAME=v"+current(t)); err != nil {
		t.Errorf("the tag of this version: %v\n%s", err, out)
	}
	for _, tag := range []string{"v9.9.9", "v" + current(t) + "-rc.1"} {
		if _, err := version.run(t, top, "GITHUB_REF_NAME="+tag); err == nil {
			t.Errorf("the tag %s passes for version %s", tag, current(t))
		}
	}

	dir := t.TempDir()
	files := map[string][]byte{"a.tar.gz": []byte("program"), "a.cdx.json": []byte("{}")}
	files[checksumFile] = []byte(checksums(sums(files)))
	for name, text := range files {
		write(t, filepath.Join(dir, "first", name), text)
		write(t, filepath.Join(dir, "second", name), text)
	}
	for _, word := range []string{"diff", "sha256sum"} {
		step := releaseScript(t, word)
		if out, err := step.run(t, dir); err != nil {
			t.Errorf("%s: %v\n%s", step.text, err, out)
		}
		write(t, filepath.Join(dir, "first", "a.tar.gz"), []byte("another"))
		if _, err := step.run(t, dir); err == nil {
			t.Errorf("%s does not notice another file", step.text)
		}
		write(t, filepath.Join(dir, "first", "a.tar.gz"), files["a.tar.gz"])
	}

	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := releaseScript(t, "gh").run(t, dir, "GITHUB_REF_NAME=v1.2.3", "GITHUB_REPOSITORY=owner/name", "PATH="+bin+":"+os.Getenv("PATH"))
	const want = "release create v1.2.3 --repo owner/name --verify-tag --generate-notes first/SHA256SUMS first/a.cdx.json first/a.tar.gz\n"
	if err != nil || out != want {
		t.Errorf("gh %s, %v; want %s", out, err, want)
	}
}

// Updates are proposed for the dependencies of every module.
func TestDependabotKnowsModules(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(top, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	mods, err := modules(os.DirFS(top))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range append(mods, "tools") {
		if want := `"` + strings.TrimSuffix("/"+dir, ".") + `"`; !strings.Contains(string(text), want) {
			t.Errorf("dependabot.yml does not name %s", want)
		}
	}
}
