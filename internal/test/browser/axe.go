package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// axeVersion is the version of axe-core that pages are held to.
const axeVersion = "4.14.0"

// axeRun runs every rule that axe-core has for WCAG 2.2 and for good practice,
// and returns one line for each element that breaks one. Target sizes are not
// among the rules that run by default.
const axeRun = `axe.run(document, {
	resultTypes: ["violations"],
	runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	rules: { "target-size": { enabled: true } },
}).then(found => found.violations.flatMap(v => v.nodes.map(n =>
	v.id + " (" + v.impact + ") " + n.target.join(" ") + ": " + n.html.slice(0, 160))))`

// Violations returns what axe-core finds wrong with the page as it stands, one
// line for each element. Run it for every size and every colour scheme: what is
// hidden is not judged.
func (b *Browser) Violations(t T) []string {
	t.Helper()
	source, err := os.ReadFile(axe(t))
	if err != nil {
		t.Fatal(err)
	}
	// What comes through DevTools is not bound by the policy of the page.
	b.Eval(t, string(source)+";0")
	var lines []string
	for _, line := range b.Eval(t, axeRun).([]any) {
		lines = append(lines, fmt.Sprint(line))
	}
	return lines
}

// axe returns the path of axe-core, which npm fetches unless it is there.
func axe(t T) string {
	t.Helper()
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, ".cache", "axe-core", axeVersion)
	path := filepath.Join(dir, "node_modules", "axe-core", "axe.min.js")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if os.Getenv("CI") == "" {
		t.Skip("axe-core is not installed: set CI=true to have npm fetch it")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if err := fetchAxe(ctx, dir); err != nil {
		t.Fatalf("install axe-core %s: %v", axeVersion, err)
	}
	return path
}

// fetchAxe installs into a folder that appears by one rename, so that one that
// exists is complete. Several processes may do it at once.
func fetchAxe(ctx context.Context, dir string) error {
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(cache, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, axeVersion+".tmp-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", tmp, "--no-save", "--ignore-scripts",
		"--no-audit", "--no-fund", "axe-core@"+axeVersion)
	npm.Dir = tmp
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, missing := os.Stat(dir); missing != nil { // another process may have been faster
			return err
		}
	}
	return nil
}

// moduleRoot returns the folder of the go.mod above the working directory, which
// for a test is the folder of its package.
func moduleRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module ") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no go.mod in %s or above", wd)
		}
	}
}
