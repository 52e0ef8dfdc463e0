package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// A newcomer gets every module by the commands that the documents name, and the
// first program of each module's documents fits what they get. The tree is offered as a module
// proxy would offer it after the release: with its own go.mod files, unchanged.
func TestAnyoneCanGetIt(t *testing.T) {
	long.Test(t, "downloads all dependencies")
	version := "v" + current(t)
	mods, err := modules(os.DirFS(top))
	if err != nil {
		t.Fatal(err)
	}
	o := newOutsider(t)
	files := tracked(t)
	for _, dir := range mods {
		o.publish(dir, version, own(dir, files))
	}
	commands := documented(t, files)
	t.Logf("%d modules, %d commands", len(mods), len(commands))
	for _, dir := range mods {
		name := path.Join(modulePath, dir)
		if !slices.Contains(commands, "go get "+name) {
			t.Errorf("no document has the command go get %s", name)
		}
		o.compile(dir, version)
	}
	for _, command := range commands {
		begin := time.Now()
		o.module(strings.NewReplacer("/", "-", " ", "-", "@", "-").Replace(command))
		o.run(strings.Fields(command)...)
		t.Logf("%s: %.1f s", command, time.Since(begin).Seconds())
	}
	if _, err := os.Stat(filepath.Join(o.bin, "claudectl")); err != nil {
		t.Error(err)
	}
}

// tracked lists the files of the repository, also those that are not committed yet.
func tracked(t *testing.T) []string {
	t.Helper()
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = top
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// own are the files of a module: those in its folder that are in no other module.
func own(dir string, files []string) []string {
	var others []string
	for _, name := range files {
		if d := path.Dir(name); path.Base(name) == "go.mod" && d != dir {
			others = append(others, d)
		}
	}
	within := func(name, dir string) bool { return dir == "." || strings.HasPrefix(name, dir+"/") }
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		return !within(name, dir) || slices.ContainsFunc(others, func(other string) bool {
			return within(other, dir) && other != "." && within(name, other)
		})
	})
}

var commandForm = regexp.MustCompile(`\bgo (?:get|install) ` + regexp.QuoteMeta(modulePath) + `[^\s` + "`" + `)]*`)

// documented are the commands by which documents get something of this repository.
func documented(t *testing.T, files []string) []string {
	t.Helper()
	var all []string
	for _, name := range files {
		if path.Ext(name) != ".md" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, commandForm.FindAllString(string(text), -1)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// outsider is the machine of a new user: its module cache is empty, and it knows this
// repository from a proxy alone.
type outsider struct {
	t                *testing.T
	proxy, work, bin string
	checker          string // the program that checks types
	env              []string
}

func newOutsider(t *testing.T) *outsider {
	t.Helper()
	root := t.TempDir()
	o := &outsider{t: t, proxy: filepath.Join(root, "proxy"), bin: filepath.Join(root, "bin"), checker: filepath.Join(root, "systems")}
	if out, err := exec.Command("go", "build", "-o", o.checker, modulePath+"/internal/test/systems").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	env, err := exec.Command("go", "env", "GOMODCACHE", "GOPROXY", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	settings := strings.Split(string(env), "\n")
	// What this machine has downloaded before need not come over the network again:
	// the cache has the form of a proxy. No module is fetched from where its path
	// points: a version that the tree does not have must not come from the internet.
	proxies := "file://" + filepath.ToSlash(o.proxy) + ",file://" + filepath.ToSlash(filepath.Join(settings[0], "cache", "download"))
	for other := range strings.SplitSeq(settings[1], ",") {
		if other != "direct" && other != "off" && other != "" {
			proxies += "," + other
		}
	}
	o.env = append(os.Environ(),
		"GOPROXY="+proxies, "GONOSUMDB="+modulePath, "GOMODCACHE="+filepath.Join(root, "cache"), "GOCACHE="+settings[2],
		"GOBIN="+o.bin, "GOWORK=off", "CGO_ENABLED=0", // as releases are built: most is in the build cache then
		// The build cache knows packages by their place, unless that is left out.
		"GOFLAGS=-modcacherw -buildvcs=false -trimpath")
	return o
}

// publish puts a module into the proxy. The go command checks the archive, as it does
// each one that it downloads.
func (o *outsider) publish(dir, version string, files []string) {
	o.t.Helper()
	name := path.Join(modulePath, dir)
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	for _, file := range files {
		full := filepath.Join(top, filepath.FromSlash(file))
		info, err := os.Lstat(full)
		if err != nil || !info.Mode().IsRegular() { // deleted, or a link: archives have none
			continue
		}
		f, err := w.Create(name + "@" + version + "/" + strings.TrimPrefix(strings.TrimPrefix(file, dir), "/"))
		if err != nil {
			o.t.Fatal(err)
		}
		text, err := os.ReadFile(full)
		if err != nil {
			o.t.Fatal(err)
		}
		if _, err := f.Write(text); err != nil {
			o.t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		o.t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(dir), "go.mod"))
	if err != nil {
		o.t.Fatal(err)
	}
	at := filepath.Join(o.proxy, filepath.FromSlash(name), "@v")
	for file, text := range map[string][]byte{
		"list":            []byte(version + "\n"),
		version + ".info": fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-01T00:00:00Z"}`, version),
		version + ".mod":  mod,
		version + ".zip":  archive.Bytes(),
	} {
		write(o.t, filepath.Join(at, file), text)
	}
}

// module makes a new module, in which what follows is run.
func (o *outsider) module(name string) {
	o.t.Helper()
	o.work = filepath.Join(o.t.TempDir(), name)
	write(o.t, filepath.Join(o.work, "go.mod"), []byte("module example.com/outsider\n\ngo 1.26.0\n"))
}

// run runs a command in the module.
func (o *outsider) run(command ...string) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Env = o.work, o.env
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

var snippetForm = regexp.MustCompile(`<!-- snippet (\S+)`)

// compile gets a module at a version and compiles the first program that its README
// shows, which may be an example of a test.
func (o *outsider) compile(dir, version string) {
	o.t.Helper()
	begin := time.Now()
	readme, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(dir), "README.md"))
	if err != nil {
		o.t.Fatal(err)
	}
	form := snippetForm.FindSubmatch(readme)
	if form == nil {
		o.t.Errorf("%s/README.md shows no program", dir)
		return
	}
	source := string(form[1])
	text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(source)))
	if err != nil {
		o.t.Fatal(err)
	}
	o.module("first")
	write(o.t, filepath.Join(o.work, path.Base(source)), text)
	o.run("go", "get", path.Join(modulePath, dir)+"@"+version)
	// What is imported can be found, and its types fit: the bodies of the functions of
	// this module, which for the first is all that is imported of this repository. Code is
	// not generated: of all drivers together that takes minutes of CPU. go mod tidy would
	// also want what tests of dependencies import.
	o.run("go", "list", "-mod=mod", "-deps", "-test", ".")
	o.run(o.checker, "-C", o.work, "-only", runtime.GOOS+"/"+runtime.GOARCH, "-with", path.Join(modulePath, dir))
	o.t.Logf("%s compiles with %s: %.1f s", source, path.Join(modulePath, dir), time.Since(begin).Seconds())
}

func write(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, text, fs.FileMode(0o644)); err != nil {
		t.Fatal(err)
	}
}
