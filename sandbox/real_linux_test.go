package sandbox_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/egress"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/sandbox"
)

// TestMain lets the test binary be the helper.
func TestMain(m *testing.M) {
	sandbox.Init()
	os.Exit(m.Run())
}

// form is a Transport under test, and how the CLI inside is found.
type form struct {
	name  string
	start func(t *testing.T, helper string) claude.Transport
}

var forms = []form{
	{"bubblewrap", func(_ *testing.T, helper string) claude.Transport { return &sandbox.Bubblewrap{Helper: helper} }},
	{"podman", func(t *testing.T, helper string) claude.Transport { return newContainer(t, helper) }},
}

// newContainer runs an empty image with the programs of this machine. The arguments before
// and after "run" let podman work where it may not set limits or use its default runtime.
func newContainer(t *testing.T, helper string) *sandbox.Container {
	t.Helper()
	long.Test(t, "needs podman")
	const image = "localhost/claude-sandbox-test"
	program := filepath.Join(t.TempDir(), "podman")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nSTORAGE_DRIVER=vfs exec podman --runtime runc \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	empty := make([]byte, 1024) // a tar archive without a file
	load := exec.Command(program, "import", "--quiet", "-", image)
	load.Stdin = bytes.NewReader(empty)
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("podman: %v: %s", err, out)
	}
	c := &sandbox.Container{Program: program, Image: image, Helper: helper, Args: []string{"--ulimit", "nofile=4096:4096", "--ulimit", "nproc=1024:1024"}}
	for _, path := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl", "/etc/alternatives"} {
		if _, err := os.Stat(path); err == nil {
			c.Mounts = append(c.Mounts, sandbox.Mount{Source: path})
		}
	}
	return c
}

// bench is the real CLI behind a scripted model.
type bench struct {
	t     *testing.T
	model *claudetest.Model
	opts  *claude.Options
	home  string
}

func newBench(t *testing.T, f form) *bench {
	t.Helper()
	cli := realcli.Need(t, realcli.Version)
	model := claudetest.NewModel()
	base, err := model.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	env, home := realcli.Env(t, base)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(work, 0o777); err != nil { // for the user of a container
		t.Fatal(err)
	}
	helper, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, model, &claude.Options{
		CLIPath: cli, Env: append(env, "CLOUD_SECRET=not-for-the-agent"), Cwd: work, Transport: f.start(t, helper), Logger: harness.Logger(t),
		PermissionMode: permission.ModeBypassPermissions, AllowBypassPermissions: true,
	}, home}
}

// run lets the CLI run a command, and returns what it wrote.
func (b *bench) run(s *claude.Session, command string) string {
	b.t.Helper()
	b.model.Add(claudetest.UseTool("Bash", map[string]string{"command": "{ " + command + "; } > out 2>&1"}), claudetest.Say("done"))
	if _, err := s.Ask(b.t.Context(), "Go."); err != nil {
		b.t.Fatal(err)
	}
	out, err := os.ReadFile(filepath.Join(b.opts.Cwd, "out"))
	if err != nil {
		b.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// TestRealInside runs commands on the real CLI in each form and looks at what they see.
func TestRealInside(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, f)
			if err := os.WriteFile(filepath.Join(b.home, "secret"), []byte("s3cret"), 0o644); err != nil {
				t.Fatal(err)
			}
			s, err := claude.Connect(t.Context(), b.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, c := range []struct{ about, command, want string }{
				{"the home of this machine is not there", "cat " + b.home + "/secret 2>/dev/null || echo absent", "absent"},
				{"the root is read-only", "touch /mark /usr/mark /etc/mark 2>/dev/null || echo refused", "refused"},
				{"no capability is left", "grep CapEff /proc/self/status | tr -s '\\t' ' '", "CapEff: 0000000000000000"},
				{"rights cannot be gained", "grep NoNewPrivs /proc/self/status | tr -s '\\t' ' '", "NoNewPrivs: 1"},
				{"it is a user without rights", "id -u", "1000"},
				{"secrets of this machine are not there", "ls /etc/shadow /root 2>/dev/null || echo absent", "absent"},
				{"only what a CLI needs is in the environment", `echo "x${CLOUD_SECRET}x $HOME"`, "xx /home/claude"},
				{"there is no network but loopback", "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo"},
				{"only its own processes are seen", `cat /proc/[0-9]*/comm | grep -c sandbox.test`, "0"},
			} {
				if got := b.run(s, c.command); got != c.want {
					t.Errorf("%s: %s prints %q, want %q", c.about, c.command, got, c.want)
				}
			}
			if got := b.run(s, "cat /proc/*/cmdline | tr '\\0' ' '"); strings.Contains(got, "sk-ant-fake") {
				t.Errorf("a command line has the key: %s", got)
			}
		})
	}
}

// With the proxy of package egress the key stays outside: an agent inside finds only its
// sentinel, wherever it looks, and still reaches the model.
func TestRealKeyStaysOutside(t *testing.T) {
	for _, f := range forms {
		t.Run(f.name, func(t *testing.T) {
			b := newBench(t, f)
			const key = "sk-ant-api03-the-real-key-of-this-test"
			proxy, err := egress.New(egress.Options{
				Upstream: b.model.URL(),
				Credential: func(context.Context, egress.Conversation) (egress.Credential, error) {
					return egress.Credential{Secret: key}, nil
				},
				Logger: harness.Logger(t),
			})
			if err != nil {
				t.Fatal(err)
			}
			defer proxy.Close()
			url, err := proxy.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			pass, err := proxy.Grant(egress.Grant{Conversation: egress.Conversation{ID: "c"}})
			if err != nil {
				t.Fatal(err)
			}
			b.opts.Env = pass.Env(url, append(b.opts.Env, "ANTHROPIC_API_KEY="+key))
			s, err := claude.Connect(t.Context(), b.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			got := b.run(s, "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat $(find /run /home /tmp -type f -size -1M 2>/dev/null) </dev/null")
			if strings.Contains(got, key) {
				t.Error("the key is inside")
			}
			if !strings.Contains(got, pass.Sentinel()) {
				t.Errorf("the attack did not look well: not even the sentinel is in %d bytes", len(got))
			}
			if spent, err := pass.Spent(t.Context()); err != nil || spent == (egress.Amount{}) {
				t.Errorf("the proxy counted %+v, %v", spent, err)
			}
		})
	}
}
