package sandbox

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/need"
)

func TestEnvironment(t *testing.T) {
	t.Parallel()
	env := []string{
		"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_ENTRYPOINT=sdk-go", "LC_ALL=C", "HTTPS_PROXY=p", "BASH_DEFAULT_TIMEOUT_MS=1", "IS_SANDBOX=1",
		"HOME=/root", "PATH=/x", "AWS_SECRET_ACCESS_KEY=s", "GITHUB_TOKEN=t", "XANTHROPIC_=x", "BASH_ENV=/x", "BASH_TIMEOUT_MS=1", "TMPDIR=/t", "NODE_OPTIONS=--require=x", "LD_PRELOAD=x", "NO", "=",
	}
	want := append(slices.Clone(env[:6]), "GITHUB_TOKEN=t")
	if got := Environment(env, "GITHUB_TOKEN"); !slices.Equal(got, want) {
		t.Errorf("inside are %q, want %q", got, want)
	}
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"":                          "",
		"http://127.0.0.1:8080":     "127.0.0.1:8080",
		"http://127.9.9.9:1/path":   "127.9.9.9:1",
		"http://localhost:8080/":    "127.0.0.1:8080",
		"http://[::1]:8080":         "[::1]:8080",
		"https://api.example":       "",
		"http://10.0.0.1:80":        "",
		"http://localhost.evil:80":  "",
		"https://127.0.0.1:8080":    "error",
		"http://127.0.0.1":          "error",
		"http://user:pass@[::1:x/%": "error",
	} {
		got, err := loopback([]string{"ANTHROPIC_BASE_URL=http://first", "ANTHROPIC_BASE_URL=" + base})
		if err != nil {
			got = "error"
		}
		if got != want || err != nil && strings.Contains(err.Error(), "pass") {
			t.Errorf("%q: %q, %v, want %q", base, got, err, want)
		}
	}
}

// launch is one whose CLI is a file of this machine.
func launch(t *testing.T, base string) *claude.Launch {
	t.Helper()
	cli := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(cli, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &claude.Launch{
		Path: cli, Args: []string{"--settings", "/here/settings.json"}, Dir: t.TempDir(), Logger: slog.New(slog.DiscardHandler),
		Env:   []string{"ANTHROPIC_API_KEY=sk-secret", "ANTHROPIC_BASE_URL=" + base},
		Files: []claude.LaunchFile{{Name: "settings.json", Path: "/here/settings.json"}, {Name: "config", Path: "/here/config", Dir: true}},
	}
}

// What cannot work is refused before anything is started, with the reason, and leaves
// nothing behind.
func TestRefused(t *testing.T) {
	need.Shell.Test(t)
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	local := "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		change func(l *claude.Launch, b *Bubblewrap)
		want   string
	}{
		"no CLI":           {func(l *claude.Launch, b *Bubblewrap) { l.Path = "/nowhere/claude" }, "not found"},
		"no directory":     {func(l *claude.Launch, b *Bubblewrap) { l.Dir = "/nowhere" }, "Cwd"},
		"API elsewhere":    {func(l *claude.Launch, b *Bubblewrap) { l.Env = nil }, "egress"},
		"no helper":        {func(l *claude.Launch, b *Bubblewrap) { b.Helper = "" }, "Helper is needed"},
		"helper not found": {func(l *claude.Launch, b *Bubblewrap) { b.Helper = "/nowhere/helper" }, "find the helper"},
		"no bubblewrap":    {func(l *claude.Launch, b *Bubblewrap) { b.Program = "/nowhere/bwrap" }, "find bubblewrap"},
	} {
		t.Run(name, func(t *testing.T) {
			l, b := launch(t, local), &Bubblewrap{Helper: helper}
			c.change(l, b)
			_, err := b.Start(t.Context(), l)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(tmp, "claude-bridge-*")); len(left) > 0 {
				t.Errorf("%q is left", left)
			}
		})
	}
}

// The command line of a sandbox has paths, never the value of a variable.
func TestBubblewrapArgs(t *testing.T) {
	need.Shell.Test(t)
	t.Parallel()
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := launch(t, "http://127.0.0.1:1")
	b := &Bubblewrap{Helper: helper, Mounts: []Mount{{Source: "/data", Target: "/in"}, {Source: "/rw", Writable: true}}}
	in, err := newInside(l, b.Helper, b.Network)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	args := " " + strings.Join(b.args(in), " ")
	for _, want := range []string{
		" --unshare-all ", " --die-with-parent ", " --cap-drop ALL ", " --uid 1000 ", " --bind " + l.Dir + " " + l.Dir + " ", " --chdir " + l.Dir + " ",
		" --ro-bind /here/settings.json /run/claude/files/settings.json ", " --bind /here/config /run/claude/files/config ",
		" --ro-bind /data /in ", " --bind /rw /rw ", " --remount-ro / ",
		" -- /run/claude/helper claude-sandbox-init 127.0.0.1:1 /run/claude/api " + l.Path + " --settings /run/claude/files/settings.json",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%s\nlacks %q", args, want)
		}
	}
	for _, bad := range []string{"sk-secret", "--share-net", "--setenv"} {
		if strings.Contains(args, bad) {
			t.Errorf("%s\nhas %q", args, bad)
		}
	}
	b.Network = true
	if args := b.args(in); !slices.Contains(args, "--share-net") {
		t.Errorf("%q lacks the network", args)
	}
}

// A bridge carries bytes and the end of each direction, and Close ends what is open.
func TestBridge(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			go func() { // answers when the question has ended
				defer c.Close()
				question, _ := io.ReadAll(c)
				fmt.Fprintf(c, "you said %q", question)
			}()
		}
	}()
	b, path, err := socketTo(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for range maxConnections + 5 { // one after the other: none is used up
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(c, "hello")
		c.(*net.UnixConn).CloseWrite()
		if answer, err := io.ReadAll(c); err != nil || string(answer) != `you said "hello"` {
			t.Fatalf("answer %q, %v", answer, err)
		}
		c.Close()
	}
	open, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives its bridge")
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
}

// Exec starts what the function returns, with the streams of the CLI.
func TestExec(t *testing.T) {
	need.Shell.Test(t)
	t.Parallel()
	l := launch(t, "")
	conn, err := Exec(func(l *claude.Launch) (*exec.Cmd, error) {
		cmd := exec.Command("/bin/sh", "-c", `read line; echo "$line $NAME $PWD"`)
		cmd.Env, cmd.Dir = []string{"NAME=value"}, l.Dir
		return cmd, nil
	}).Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(conn, "said\n")
	if out, err := io.ReadAll(conn); err != nil || string(out) != "said value "+l.Dir+"\n" {
		t.Errorf("output %q, %v", out, err)
	}
	if err := conn.Wait(); err != nil {
		t.Error(err)
	}
	sorry := errors.New("no machine is free")
	for name, make := range map[string]func(*claude.Launch) (*exec.Cmd, error){
		"error":      func(*claude.Launch) (*exec.Cmd, error) { return nil, sorry },
		"no command": func(*claude.Launch) (*exec.Cmd, error) { return nil, nil },
		"not found":  func(*claude.Launch) (*exec.Cmd, error) { return exec.Command("no-such-program"), nil },
	} {
		if _, err := Exec(make).Start(t.Context(), l); err == nil || name == "error" && !errors.Is(err, sorry) {
			t.Errorf("%s: error = %v", name, err)
		}
	}
}

// The command line of a container is strict, and has no value of a variable.
func TestContainerArgs(t *testing.T) {
	need.Shell.Test(t)
	t.Parallel()
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := launch(t, "http://127.0.0.1:1")
	c := &Container{Image: "image", Helper: helper, Mounts: []Mount{{Source: "/data", Target: "/in"}}, Args: []string{"--memory", "1g"}}
	p, err := c.plan(l)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	args := " " + strings.Join(c.args("name", p), " ")
	for _, want := range []string{
		" run --rm --interactive --name name --network none ", " --cap-drop ALL ", " --security-opt no-new-privileges ", " --read-only ", " --user 1000:1000 ",
		" --memory 2147483648 --pids-limit 512 ", " --volume " + l.Dir + ":" + l.Dir + ":rw ", " --volume /data:/in:ro ", " --memory 1g image /run/claude/helper claude-sandbox-supervise",
	} {
		if !strings.Contains(args, want) {
			t.Errorf("%s\nlacks %q", args, want)
		}
	}
	if strings.Contains(args, "sk-secret") || p.task.API != socket || !slices.Contains(p.task.Args, filesMark+"/settings.json") || !slices.Contains(p.task.Env, "ANTHROPIC_API_KEY=sk-secret") {
		t.Errorf("%s\n%+v", args, p.task)
	}
}

// What a container cannot do is refused before anything is started.
func TestContainerRefused(t *testing.T) {
	need.Shell.Test(t)
	t.Parallel()
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		form Container
		base string
		want string
	}{
		"no image":      {Container{Helper: helper}, "http://127.0.0.1:1", "is not an image"},
		"a flag":        {Container{Helper: helper, Image: "--privileged"}, "http://127.0.0.1:1", "is not an image"},
		"no helper":     {Container{Image: "i", Program: "/bin/true"}, "http://127.0.0.1:1", "Helper is needed"},
		"API elsewhere": {Container{Image: "i", Helper: helper, Program: "/bin/true"}, "https://api.example", "egress"},
		"a colon":       {Container{Image: "i", Helper: helper, Program: "/bin/true", Mounts: []Mount{{Source: "/a:/etc"}}}, "http://127.0.0.1:1", "colon"},
		"another colon": {Container{Image: "i", Helper: helper, Program: "/bin/true", Mounts: []Mount{{Source: "/a", Target: "/b:rw"}}}, "http://127.0.0.1:1", "colon"},
		"a volume":      {Container{Image: "i", Helper: helper, Program: "/bin/true", Mounts: []Mount{{Source: "data", Target: "/b"}}}, "http://127.0.0.1:1", "absolute"},
		"no program":    {Container{Image: "i", Helper: helper, Program: "/nowhere/podman"}, "http://127.0.0.1:1", "find the container program"},
	} {
		if _, err := c.form.Start(t.Context(), launch(t, c.base)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v, want %q", name, err, c.want)
		}
	}
}

func TestKubectlArgs(t *testing.T) {
	t.Parallel()
	l := launch(t, "https://proxy.example")
	k := &Kubectl{Pod: "worker-1", Namespace: "agents", Container: "cli", Context: "east", Helper: "/helper"}
	args, task, err := k.plan(l)
	want := []string{"--context=east", "--namespace=agents", "exec", "--stdin", "--quiet", "--container=cli", "worker-1", "--", "/helper", "claude-sandbox-supervise"}
	if err != nil || !slices.Equal(args, want) || task.Dir != l.Dir || task.Path != l.Path {
		t.Errorf("args %q, task %+v, %v", args, task, err)
	}
	if _, _, err := (&Kubectl{Pod: "--all"}).plan(l); err == nil {
		t.Error("a flag was taken for a pod")
	}
	if _, _, err := k.plan(launch(t, "http://127.0.0.1:1")); err == nil || !strings.Contains(err.Error(), "names this machine") {
		t.Errorf("the API on this machine: %v", err)
	}
}

// An archive cannot place a file outside of its folder, nor a link.
func TestUnpackStaysInside(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]*tar.Header{
		"above":    {Typeflag: tar.TypeReg, Name: "../outside", Size: 1},
		"absolute": {Typeflag: tar.TypeReg, Name: "/tmp/outside", Size: 1},
		"link":     {Typeflag: tar.TypeSymlink, Name: "link", Linkname: "/etc"},
		"device":   {Typeflag: tar.TypeChar, Name: "device"},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		w.Write(make([]byte, h.Size))
		w.Close()
		dir := t.TempDir()
		if err := unpack(&b, dir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v was made", name, left)
		}
	}
}

// What would open the machine to the agent is refused, not mounted.
func TestTooBroad(t *testing.T) {
	need.Shell.Test(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{"/": "Cwd", home: "Cwd", filepath.Dir(home): "Cwd", os.TempDir(): "Cwd", project: ""} {
		l := launch(t, "http://127.0.0.1:1")
		l.Dir = dir
		in, err := newInside(l, helper, false)
		if err == nil {
			in.Close()
		}
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: error = %v, want %q", dir, err, want)
		}
	}
	// Of a program in the home only the program is there; a script brings its folder along.
	for name, refused := range map[string]bool{"claude": false, "cli.js": true} {
		program := filepath.Join(home, name)
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		m, err := mountOf(program)
		if (err != nil) != refused || !refused && m.Source != program {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
}

// The credential that the other side has sent stands alone, and proxies at the place of the
// API move with it.
func TestTaskEnvironment(t *testing.T) {
	t.Parallel()
	here := []string{"PATH=/bin", "ANTHROPIC_API_KEY=own", "CLAUDE_CODE_USE_BEDROCK=1", "https_proxy=http://own", "HOME=/h"}
	sent := []string{"ANTHROPIC_BASE_URL=http://127.0.0.1:80/v", "ANTHROPIC_API_KEY=sentinel", "HTTPS_PROXY=http://egress:s@127.0.0.1:80", "HTTP_PROXY=http://other:80", "NO_PROXY=x"}
	got := redirected(task{Env: sent}.environment(slices.Clone(here)), "127.0.0.1:99")
	want := []string{"PATH=/bin", "HOME=/h", "ANTHROPIC_BASE_URL=http://127.0.0.1:99/v", "ANTHROPIC_API_KEY=sentinel", "HTTPS_PROXY=http://egress:s@127.0.0.1:99", "HTTP_PROXY=http://other:80", "NO_PROXY=x"}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q\nwant        %q", got, want)
	}
	if got := (task{Env: []string{"LANG=C"}}).environment(slices.Clone(here)); len(got) != len(here)+1 {
		t.Errorf("without an API: %q", got)
	}
}

// Secrets of the launch are masked in what a command writes, even if its own environment
// does not have them.
func TestExecMasksSecrets(t *testing.T) {
	need.Shell.Test(t)
	t.Parallel()
	l := launch(t, "")
	l.Env = append(l.Env, "GH_TOKEN=hunter2hunter2")
	conn, err := Exec(func(*claude.Launch) (*exec.Cmd, error) {
		return exec.Command("/bin/sh", "-c", "echo hunter2hunter2 >&2"), nil
	}).Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAll(conn)
	conn.Wait()
	if tail := conn.StderrTail(); strings.Contains(tail, "hunter2") || tail == "" {
		t.Errorf("standard error %q", tail)
	}
}
