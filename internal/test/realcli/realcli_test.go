package realcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
)

// fakeNPM puts an npm on PATH that writes its arguments to a log and runs a
// shell script. In the script $prefix is the folder to install into, $pkg and
// $version are the requested ones, and install creates a file of the package.
func fakeNPM(t *testing.T, script string) (calls func() []string) {
	t.Helper()
	need.Shell.Test(t) // the fake npm is a script
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	text := `#!/bin/sh
echo "$*" >> '` + log + `'
prefix=$3
for spec; do :; done
version=${spec##*@}
pkg=${spec%@*}
install() {
	mkdir -p "$prefix/node_modules/$pkg"
	printf '#!/bin/sh\necho fake %s\n' "$version" > "$prefix/node_modules/$pkg/$1"
}
missing() { echo "npm error code ETARGET $pkg" >&2; exit 1; }
` + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "npm"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	return func() []string {
		data, _ := os.ReadFile(log)
		return slices.Collect(strings.Lines(string(data)))
	}
}

const (
	nativeOnly = `case $pkg in */claude-code-*) install claude ;; *) missing ;; esac`
	nodeOnly   = `case $pkg in */claude-code) install cli.js ;; *) missing ;; esac`
)

func TestInstallNative(t *testing.T) {
	calls := fakeNPM(t, nativeOnly)
	c := cache{filepath.Join(t.TempDir(), "sub", "claude-code")}
	if path, ok := c.find("2.1.9"); ok {
		t.Fatalf("found %s in an empty cache", path)
	}
	var log bytes.Buffer
	path, err := c.install(t.Context(), "2.1.9", &log)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(c.dir, "2.1.9", "node_modules", "@anthropic-ai", "claude-code-"+platform(), "claude")
	if path != want {
		t.Errorf("path = %s, want %s", path, want)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "fake 2.1.9\n" {
		t.Errorf("running it: %q, %v", out, err)
	}
	if again, err := c.install(t.Context(), "2.1.9", nil); err != nil || again != path {
		t.Errorf("second install = %s, %v", again, err)
	}
	got := calls()
	if len(got) != 1 {
		t.Fatalf("npm ran %d times, want once: %q", len(got), got)
	}
	for _, arg := range []string{"--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "@anthropic-ai/claude-code-" + platform() + "@2.1.9"} {
		if !slices.Contains(strings.Fields(got[0]), arg) {
			t.Errorf("npm %s lacks %s", got[0], arg)
		}
	}
	holds(t, c, ".gitignore", "2.1.9", "2.1.9.lock")
	if ignore, err := os.ReadFile(filepath.Join(c.dir, ".gitignore")); err != nil || string(ignore) != "*\n" {
		t.Errorf(".gitignore = %q, %v", ignore, err)
	}
}

// holds checks what is in the cache folder.
func holds(t *testing.T, c cache, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Error(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, want) {
		t.Errorf("the cache holds %q, want %q", got, want)
	}
}

func TestInstallFallsBackToNode(t *testing.T) {
	calls := fakeNPM(t, nodeOnly)
	c := cache{t.TempDir()}
	path, err := c.install(t.Context(), "1.0.63", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join("@anthropic-ai", "claude-code", "cli.js"); !strings.HasSuffix(path, want) {
		t.Errorf("path = %s, want a %s", path, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("mode %v, %v; want an executable", info.Mode(), err)
	}
	if found, ok := c.find("1.0.63"); !ok || found != path {
		t.Errorf("found %q, %v", found, ok)
	}
	if got := calls(); len(got) != 2 {
		t.Errorf("npm ran %d times, want twice: %q", len(got), got)
	}
}

func TestInstallErrors(t *testing.T) {
	tests := []struct {
		name, version, npm string
		want               []string
	}{
		{"no such version", "9.9.9", "missing", []string{"9.9.9", "ETARGET @anthropic-ai/claude-code-" + platform(), "ETARGET @anthropic-ai/claude-code\n"}},
		{"package without a CLI", "2.1.9", "install README.md", []string{"2.1.9", "holds no CLI"}},
		{"path as version", "../1.0.0", nativeOnly, []string{"is not a version"}},
		{"option as version", "--global", nativeOnly, []string{"is not a version"}},
		{"no version", "", nativeOnly, []string{"is not a version"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fakeNPM(t, tt.npm)
			c := cache{filepath.Join(t.TempDir(), "cache")}
			path, err := c.install(t.Context(), tt.version, nil)
			if err == nil {
				t.Fatalf("installed %s", path)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error()+"\n", want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(c.dir, "*.tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
	t.Run("no npm", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		if _, err := (cache{t.TempDir()}).install(t.Context(), "2.1.9", nil); !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("error = %v, want npm not found", err)
		}
	})
}

func TestInstallConcurrently(t *testing.T) {
	calls := fakeNPM(t, nativeOnly)
	c := cache{t.TempDir()}
	var wg sync.WaitGroup
	paths := make([]string, 8)
	for i := range paths {
		wg.Go(func() {
			path, err := c.install(t.Context(), "2.1.9", nil)
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	wg.Wait()
	if got := calls(); len(got) != 1 || len(slices.Compact(paths)) != 1 {
		t.Errorf("npm ran %d times for %q, want once", len(got), paths)
	}
}

// TestSweep meets the remains of installers that were killed.
func TestSweep(t *testing.T) {
	if !exclusive {
		t.Skip("remains look like work in progress here")
	}
	fakeNPM(t, nativeOnly)
	c := cache{filepath.Join(t.TempDir(), "no [pattern")}
	for _, dir := range []string{"2.1.9.tmp-123", "2.1.8.tmp-456"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir, "node_modules"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.install(t.Context(), "2.1.9", nil); err != nil {
		t.Fatal(err)
	}
	holds(t, c, ".gitignore", "2.1.8.tmp-456", "2.1.9", "2.1.9.lock")
}

// TestLoserDiscards is the race where the system has no file lock: the other
// installer finishes while ours is still at it.
func TestLoserDiscards(t *testing.T) {
	dir := t.TempDir()
	fakeNPM(t, nativeOnly+`
[ -d '`+dir+`/2.1.9' ] || cp -R "$prefix" '`+dir+`/2.1.9'`)
	c := cache{dir}
	path, err := c.fetchLocked(t.Context(), "2.1.9", nil)
	if err != nil || !strings.HasPrefix(path, filepath.Join(dir, "2.1.9")) {
		t.Errorf("fetch = %s, %v, want the copy of the winner", path, err)
	}
	holds(t, c, "2.1.9")
}

func TestInstallCancelled(t *testing.T) {
	dir := t.TempDir()
	started := filepath.Join(dir, "started")
	fakeNPM(t, `mkfifo '`+dir+`/never'; echo x > '`+started+`'; exec cat '`+dir+`/never'`)
	// The fake opens a fifo without a writer, and reports by another.
	if err := exec.Command("mkfifo", started).Run(); err != nil {
		t.Skip("no mkfifo: ", err)
	}
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		_, _ = os.ReadFile(started)
		cancel(cause)
	}()
	c := cache{filepath.Join(dir, "cache")}
	if _, err := c.install(ctx, "2.1.9", nil); !errors.Is(err, cause) {
		t.Errorf("error = %v, want %v", err, cause)
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*.tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	// An installer that waits for the lock gives up with its context too.
	unlock, err := lock(t.Context(), filepath.Join(c.dir, "2.1.9.lock"))
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := c.install(ctx, "2.1.9", nil); !errors.Is(err, cause) {
		t.Errorf("waiting for the lock: error = %v, want %v", err, cause)
	}
}

func TestModuleCache(t *testing.T) {
	root := t.TempDir()
	nested := filepath.Join(root, "otel", "deep")
	write := func(dir, text string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Dir(nested), "module "+modulePath+"/otel\n")
	if err := os.MkdirAll(nested, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(nested)
	if c, err := moduleCache(); err == nil {
		t.Errorf("cache %s without the module", c.dir)
	}
	write(root, "// about\nmodule "+modulePath+" // us\n")
	c, err := moduleCache()
	if err != nil || !strings.HasSuffix(c.dir, filepath.Join(filepath.Base(root), ".cache", "claude-code")) {
		t.Errorf("cache = %s, %v, want one in %s", c.dir, err, root)
	}
}

// fakeTB notes how a test would end.
type fakeTB struct {
	testing.TB
	skipped, failed string
}

// run runs a part of a test, which ends where it skips or fails.
func (f *fakeTB) run(part func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		part()
	}()
	<-done
}

func (f *fakeTB) Skipf(format string, args ...any) {
	f.skipped = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.failed = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestNeeds(t *testing.T) {
	for tested, applies := range map[string]bool{"": true, Version: true, "2.0.77": true, "2.0.9": false, "1.0.128": false} {
		t.Setenv(VersionVariable, tested)
		tb := &fakeTB{TB: t}
		tb.run(func() { Needs(tb, "2.0.10", "a thing") })
		if skipped := tb.skipped != ""; skipped == applies || Has("2.0.10") != applies {
			t.Errorf("on %q: skipped with %q, want %v", tested, tb.skipped, !applies)
		}
		if tb.skipped != "" && (!strings.HasPrefix(tb.skipped, NotApplicable+": a thing needs Claude Code 2.0.10") || !strings.HasSuffix(tb.skipped, tested)) {
			t.Errorf("on %q: skipped with %q", tested, tb.skipped)
		}
	}
	if all := Pinned(); !slices.IsSortedFunc(all, func(a, b string) int {
		if older(a, b) {
			return -1
		}
		return 1
	}) || all[len(all)-1] != Version {
		t.Errorf("pinned %q", all)
	}
}

func TestNeed(t *testing.T) {
	tests := []struct {
		name, npm     string
		level         string
		skip, failure string
	}{
		{"quick", nativeOnly, "", "needs Claude Code 2.1.9", ""},
		{"long", nativeOnly, "1", "", ""},
		{"long without the package", "missing", "1", "", "ETARGET"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			calls := fakeNPM(t, tt.npm)
			t.Setenv(long.Variable, tt.level)
			tb := &fakeTB{TB: t}
			var path string
			tb.run(func() { path = cache{t.TempDir()}.need(tb, "2.1.9") })
			if !strings.Contains(tb.skipped, tt.skip) || (tb.skipped != "") != (tt.skip != "") || strings.Contains(tb.skipped, "\n") {
				t.Errorf("skipped with %q, want %q", tb.skipped, tt.skip)
			}
			if !strings.Contains(tb.failed, tt.failure) || (tb.failed != "") != (tt.failure != "") {
				t.Errorf("failed with %q, want %q", tb.failed, tt.failure)
			}
			if ok := tt.skip == "" && tt.failure == ""; ok != (path != "") {
				t.Errorf("path = %q", path)
			}
			if tt.level == "" && len(calls()) > 0 {
				t.Errorf("npm ran on the quick level: %q", calls())
			}
		})
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "secret")
	t.Setenv("HTTPS_PROXY", "http://proxy.invalid")
	env, home := Env(t, "http://127.0.0.1:1")
	got := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if _, ok := got[name]; ok {
			t.Errorf("%s is set twice", name)
		}
		got[name] = value
	}
	for name, want := range map[string]string{
		"HOME": home, "ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "DISABLE_AUTOUPDATER": "1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1",
	} {
		if got[name] != want {
			t.Errorf("%s = %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"ANTHROPIC_AUTH_TOKEN", "HTTPS_PROXY"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s was taken over", name)
		}
	}
	for _, dir := range []string{home, got["TMPDIR"]} {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			t.Errorf("%s: %v, want a folder", dir, err)
		}
	}
	other, _ := Env(t, "")
	if slices.Contains(other, "HOME="+home) {
		t.Error("two environments share a HOME")
	}
}

func TestEnvFindsNode(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+"/opt/other")
	if got := searchPath(); !strings.HasPrefix(got, dir+":") || strings.Contains(got, "/opt/other") {
		t.Errorf("PATH = %s, want node's folder first and nothing else of this process", got)
	}
}

// TestRealRuns runs the pinned CLI, and so proves that what Need and Env give
// is enough.
func TestRealRuns(t *testing.T) {
	path := Need(t, Version)
	cmd := exec.CommandContext(t.Context(), path, "--version")
	cmd.Env, _ = Env(t, "http://127.0.0.1:1")
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), Version+" ") {
		t.Errorf("%s --version = %q, %v", path, out, err)
	}
}
