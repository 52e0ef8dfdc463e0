package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/sandbox"
)

// patience is how long a test waits for what should be there soon.
const patience = time.Minute

// login is an ssh server on loopback, and how to log in there as another user.
type login struct {
	host string
	args []string
	dir  string // that user's
	uid  int
	pid  int // of the server
}

// remoteUser is the user that logs in when the test runs as root: one with a shell that
// the test servers bring along.
const remoteUser = "postgres"

func newLogin(t *testing.T) *login {
	t.Helper()
	long.Test(t, "needs an ssh server")
	sshd, err := exec.LookPath("/usr/sbin/sshd")
	if err != nil {
		t.Fatal("sshd is not installed: apt-get install openssh-server")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		if me, err = user.Lookup(remoteUser); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // where sshd drops its rights
			t.Fatal(err)
		}
	}
	uid, _ := strconv.Atoi(me.Uid)
	gid, _ := strconv.Atoi(me.Gid)
	dir := t.TempDir()
	key, host, theirs := filepath.Join(dir, "key"), filepath.Join(dir, "host"), filepath.Join(dir, "theirs")
	for _, file := range []string{key, host} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	config := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %s\nAuthorizedKeysFile %s.pub\nStrictModes no\nUsePAM %s\nPidFile none\n", port, host, key, map[bool]string{true: "yes", false: "no"}[os.Getuid() == 0])
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(theirs, uid, gid); err != nil {
		t.Fatal(err)
	}
	for up := dir; up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(key+".pub", 0o644); err != nil {
		t.Fatal(err)
	}
	server := exec.Command(sshd, "-D", "-e", "-f", filepath.Join(dir, "config"))
	var log strings.Builder
	server.Stderr = &log
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		if t.Failed() {
			t.Logf("sshd: %s", log.String())
		}
	})
	wait(t, patience, "the ssh server listens", func() bool {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return &login{me.Username + "@127.0.0.1", []string{
		"-p", strconv.Itoa(port), "-i", key, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "IdentitiesOnly=yes", "-o", "LogLevel=ERROR", "-F", "none",
	}, theirs, uid, server.Process.Pid}
}

// helper returns a copy of this program that everyone may run.
func (l *login) helper(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(self)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(filepath.Dir(l.dir), "helper")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// session connects to the real CLI over ssh.
func (l *login) session(t *testing.T, model *claudetest.Model) *claude.Session {
	t.Helper()
	env, _ := realcli.Env(t, model.URL())
	// What happens there stays in a folder of the test.
	env = append(env, "HOME="+l.dir, "TMPDIR="+l.dir, "PATH="+os.Getenv("PATH"))
	s, err := claude.Connect(t.Context(), &claude.Options{
		CLIPath: realcli.Need(t, realcli.Version), Cwd: l.dir, Env: env, Logger: harness.Logger(t),
		Transport:      &sandbox.SSH{Host: l.host, Args: l.args, Helper: l.helper(t), Env: []string{"HOME", "TMPDIR", "PATH"}},
		Settings:       map[string]any{"env": map[string]any{"FROM_SETTINGS": "yes"}},
		PermissionMode: permission.ModeBypassPermissions, AllowBypassPermissions: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func newModel(t *testing.T) *claudetest.Model {
	t.Helper()
	model := claudetest.NewModel()
	if _, err := model.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	return model
}

// The real CLI runs as another user behind ssh: the API is reached through the connection,
// settings arrive, a turn may last longer than a silence, and nothing is left of its files.
func TestRealSSH(t *testing.T) {
	l := newLogin(t)
	model := newModel(t)
	noSocket := socketsLater()
	s := l.session(t, model)
	model.Add(claudetest.UseTool("Bash", map[string]string{"command": "sleep 12; echo $(id -u) $FROM_SETTINGS > out"}), claudetest.Say("done"))
	if res, err := s.Ask(t.Context(), "Go."); err != nil || res.Text != "done" {
		t.Fatalf("%+v, %v", res, err)
	}
	if out, err := os.ReadFile(filepath.Join(l.dir, "out")); err != nil || string(out) != fmt.Sprintf("%d yes\n", l.uid) {
		t.Errorf("the command printed %q, %v", out, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(l.dir, "claude-session-*")); len(left) > 0 {
		t.Errorf("%q is left", left)
	}
	wait(t, patience, "no socket is left", noSocket)
}

// socketsLater notes the sockets of now, and returns a function that reports whether all
// later ones are gone.
func socketsLater() func() bool {
	sockets := func() []string { found, _ := filepath.Glob("/tmp/claude-api-*"); return found }
	before := sockets()
	return func() bool {
		return !slices.ContainsFunc(sockets(), func(name string) bool { return !slices.Contains(before, name) })
	}
}

// However the connection is cut in the middle of a command, nothing is left there after
// ten seconds: not the CLI, not the command, not what it has started in a session of its own,
// not even what has also dropped its environment.
func TestRealSSHCut(t *testing.T) {
	l := newLogin(t)
	for name, cut := range map[string]func(t *testing.T, client int){
		"client killed":    func(t *testing.T, client int) { signalPID(t, client, syscall.SIGKILL) },
		"client ended":     func(t *testing.T, client int) { signalPID(t, client, syscall.SIGTERM) },
		"client suspended": func(t *testing.T, client int) { signalPID(t, client, syscall.SIGSTOP) },
		"server killed": func(t *testing.T, _ int) {
			handlers := descendants(l.pid, "sshd")
			if len(handlers) == 0 {
				t.Fatal("no sshd has the connection")
			}
			for _, pid := range handlers {
				signalPID(t, pid, syscall.SIGKILL)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			model, noSocket := newModel(t), socketsLater()
			s := l.session(t, model)
			mark := fmt.Sprint(300000 + time.Now().UnixNano()%100000)
			model.Add(claudetest.UseTool("Bash", map[string]string{"command": "env -i setsid sleep " + mark + " & setsid sleep " + mark + " & sleep " + mark}), claudetest.Say("done"))
			go s.Ask(t.Context(), "Go.")
			wait(t, patience, "the command runs", func() bool { return len(running(mark)) == 3 })
			client := childrenNamed(t, "ssh", l.args[1])
			if len(client) != 1 {
				t.Fatalf("clients %v", client)
			}
			begin := time.Now()
			cut(t, client[0])
			wait(t, patience, "nothing is left", func() bool { return len(running(mark)) == 0 })
			took := time.Since(begin)
			t.Logf("nothing is left after %.1f s", took.Seconds())
			if took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
			wait(t, patience, "no socket is left", noSocket)
			if name == "client suspended" {
				signalPID(t, client[0], syscall.SIGCONT)
			}
		})
	}
}

// A container ends with the program that has started it, however that is cut off.
func TestRealContainerCut(t *testing.T) {
	b := newBench(t, forms[1])
	s, err := claude.Connect(t.Context(), b.opts)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mark := fmt.Sprint(400000 + time.Now().UnixNano()%100000)
	b.model.Add(claudetest.UseTool("Bash", map[string]string{"command": "setsid sleep " + mark + " & sleep " + mark}), claudetest.Say("done"))
	go s.Ask(t.Context(), "Go.")
	wait(t, patience, "the command runs", func() bool { return len(running(mark)) == 2 })
	client := processes(func(args []string) bool {
		return filepath.Base(args[0]) == "podman" && slices.Contains(args, "--interactive")
	})
	if len(client) != 1 {
		t.Fatalf("clients %v", client)
	}
	signalPID(t, client[0], syscall.SIGKILL)
	wait(t, patience, "nothing is left", func() bool { return len(running(mark)) == 0 })
}

func signalPID(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatal(err)
	}
}

func wait(t *testing.T, bound time.Duration, what string, done func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for over := time.After(bound); !done(); {
		select {
		case <-again.C:
		case <-over:
			t.Fatalf("%s: not after %v", what, bound)
		}
	}
}

// descendants returns the processes below another whose program has a name, parents first.
func descendants(parent int, name string) (pids []int) {
	for _, file := range childFiles(parent) {
		text, _ := os.ReadFile(file)
		for _, field := range strings.Fields(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				continue
			}
			if comm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); strings.HasPrefix(string(comm), name) {
				pids = append(pids, pid)
			}
			pids = append(pids, descendants(pid, name)...)
		}
	}
	return pids
}

// childFiles are the files that list the children of a process, one for each thread.
func childFiles(pid int) []string {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	return files
}

// running returns the processes "sleep MARK".
func running(mark string) (pids []int) {
	return processes(func(args []string) bool { return len(args) == 2 && args[0] == "sleep" && args[1] == mark })
}

// childrenNamed returns the clients of this test, by the port.
func childrenNamed(t *testing.T, name, port string) []int {
	t.Helper()
	return processes(func(args []string) bool {
		return filepath.Base(args[0]) == name && strings.Contains(strings.Join(args, " "), "-p "+port)
	})
}

func processes(ours func(args []string) bool) (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range found {
		line, err := os.ReadFile(file)
		if err != nil || len(line) == 0 {
			continue
		}
		if args := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"); ours(args) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}

// What keeps ssh from reaching the CLI is in the error, and no socket is left there.
func TestRealSSHRefused(t *testing.T) {
	l := newLogin(t)
	noSocket := socketsLater()
	model := newModel(t)
	env, _ := realcli.Env(t, model.URL())
	for name, c := range map[string]struct {
		change func(s *sandbox.SSH, o *claude.Options)
		want   string
	}{
		"wrong key": {func(s *sandbox.SSH, _ *claude.Options) {
			s.Args = slices.Concat(s.Args[:2], s.Args[4:], []string{"-i", "/nowhere"})
		}, "Permission denied"},
		"unreachable": {func(s *sandbox.SSH, _ *claude.Options) { s.Args = []string{"-p", "1", "-F", "none"} }, "refused"},
		"no helper":   {func(s *sandbox.SSH, _ *claude.Options) { s.Helper = "/nowhere/helper" }, "/nowhere/helper"},
		"no CLI":      {func(_ *sandbox.SSH, o *claude.Options) { o.CLIPath = "/nowhere/claude" }, "start the CLI"},
		"no host":     {func(s *sandbox.SSH, _ *claude.Options) { s.Host = "-oProxyCommand=x" }, "is not a host"},
	} {
		t.Run(name, func(t *testing.T) {
			form := &sandbox.SSH{Host: l.host, Args: l.args, Helper: l.helper(t)}
			o := &claude.Options{CLIPath: realcli.Need(t, realcli.Version), Cwd: l.dir, Env: env, Logger: harness.Logger(t), Transport: form}
			c.change(form, o)
			s, err := claude.Connect(t.Context(), o)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want %q", err, c.want)
			}
		})
	}
	wait(t, patience, "no socket is left", noSocket)
}
