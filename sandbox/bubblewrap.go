package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude"
)

// Bubblewrap runs the CLI in a sandbox of bubblewrap, on Linux. It needs the program
// bwrap and no rights. The zero value is strict: no network, nothing of the machine
// but its programs, and nothing that can be written but the working directory.
//
// It sets no limits on memory and processes: start your program in a cgroup that has
// them, or use a [Container].
//
// A Bubblewrap may start several sessions at once. Do not change it meanwhile.
type Bubblewrap struct {
	// Program is bubblewrap; empty is "bwrap" in PATH.
	Program string
	// Helper is a program of this machine that calls [Init], such as claudectl or,
	// by os.Executable, your own. The API is reached through it, so it is needed
	// unless Network is set.
	Helper string
	// Mounts are more that the CLI should see.
	Mounts []Mount
	// Env are names of more variables that go inside; see [Environment].
	Env []string
	// Network gives the sandbox the network of this machine, with everything that
	// listens on its loopback interface.
	Network bool
}

// Mount is a file or folder of this machine that the CLI sees.
type Mount struct {
	Source   string // on this machine
	Target   string // inside; empty is the path of Source
	Writable bool
}

func (m Mount) target() string { return cmp.Or(m.Target, m.Source) }

// Paths inside.
const (
	runDir    = "/run/claude"
	filesDir  = runDir + "/files"
	helperExe = runDir + "/helper"
	socket    = runDir + "/api"
	homeDir   = "/home/claude"
	user      = 1000
)

// system lists the folders that every program needs; none belongs to a user. /etc is not
// there as a whole: for a caller who is root its secrets would be readable inside.
var system = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/etc/alternatives", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
	"/etc/localtime", "/etc/timezone", "/etc/nsswitch.conf", "/etc/hosts", "/etc/resolv.conf", "/etc/gitconfig", "/etc/profile", "/etc/bash.bashrc",
}

// Start implements [claude.Transport].
func (b *Bubblewrap) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	in, err := newInside(l, b.Helper, b.Network)
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath(cmp.Or(b.Program, "bwrap"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: find bubblewrap: %w", err), in.Close())
	}
	cmd := &exec.Cmd{Path: program, Args: append([]string{program}, b.args(in)...), Env: in.environment(b.Env)}
	conn, err := start(ctx, l, cmd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: start bubblewrap: %w", err), in.Close())
	}
	go func() { // not in a Conn of our own, which would hide what this one can do
		_ = conn.Wait() // the session reports it
		if err := in.Close(); err != nil {
			l.Logger.Warn("sandbox: close the way to the API", "error", err)
		}
	}()
	return conn, nil
}

// args returns the arguments of bubblewrap. They hold paths, never values of variables.
func (b *Bubblewrap) args(in *inside) []string {
	args := []string{
		"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
		"--uid", strconv.Itoa(user), "--gid", strconv.Itoa(user), "--hostname", "claude",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", homeDir, "--dir", runDir,
	}
	if b.Network {
		args = append(args, "--share-net")
	}
	for _, path := range system {
		args = append(args, "--ro-bind-try", path, path)
	}
	for _, m := range append(in.mounts, b.Mounts...) {
		flag := "--ro-bind"
		if m.Writable {
			flag = "--bind"
		}
		args = append(args, flag, m.Source, m.target())
	}
	// The root itself is a file system in memory. It is closed when all is in place.
	args = append(args, "--remount-ro", "/", "--chdir", in.dir, "--")
	return append(args, in.command...)
}

// inside lists the contents of a sandbox for one launch.
type inside struct {
	dir     string   // the working directory
	mounts  []Mount  // what the launch needs
	command []string // the CLI, or the helper with the CLI
	bridge  *bridge  // nil without one
	env     []string // of the launch, with paths inside
}

// newInside finds what a sandbox on this machine has to hold. Close it when the CLI has ended.
func newInside(l *claude.Launch, helper string, network bool) (*inside, error) {
	program, err := findCLI(l)
	if err != nil {
		return nil, err
	}
	dir, err := workDir(l)
	if err != nil {
		return nil, err
	}
	moved := l.At(filesDir)
	in := &inside{dir: dir, env: moved.Env, command: append(interpreted(program), moved.Args...)}
	cli, err := mountOf(program)
	if err != nil {
		return nil, err
	}
	in.mounts = append(in.mounts, cli, Mount{Source: dir, Writable: true})
	for _, f := range l.Files {
		in.mounts = append(in.mounts, Mount{f.Path, filesDir + "/" + f.Name, f.Dir})
	}
	if network {
		return in, nil
	}
	if err := in.carry(helper); err != nil {
		return nil, err
	}
	return in, nil
}

var errNoAPI = errors.New("sandbox: without a network the API must be on this machine: let ANTHROPIC_BASE_URL name a proxy on 127.0.0.1, as package egress does, or set Network")

// workDir returns the working directory of a launch, which has to be on this machine.
func workDir(l *claude.Launch) (string, error) {
	dir, err := filepath.Abs(l.Dir)
	if err != nil {
		return "", fmt.Errorf("sandbox: working directory: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", &claude.OptionError{Field: "Cwd", Problem: cmp.Or(err, errors.New(dir+" is not a directory")).Error()}
	}
	if tooBroad(dir) {
		return "", &claude.OptionError{Field: "Cwd", Problem: dir + " holds your home or the whole machine, which would be open to the agent: name a folder of the project"}
	}
	return dir, nil
}

// tooBroad reports whether a path is, or contains, something that a sandbox must hide:
// the home of the user, the folder for temporary files, or everything.
func tooBroad(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	hidden := []string{os.TempDir()}
	if home, err := os.UserHomeDir(); err == nil {
		hidden = append(hidden, home)
	}
	for _, dir := range hidden {
		if resolved, err := filepath.EvalSymlinks(dir); err == nil {
			dir = resolved
		}
		if below, err := filepath.Rel(real, dir); err == nil && filepath.IsLocal(below) {
			return true
		}
	}
	return filepath.Dir(real) == real
}

// mountOf returns the part of this machine that a CLI needs: the program, or the folder of
// a script, which has more than one file.
func mountOf(program string) (Mount, error) {
	m := Mount{Source: program}
	if len(interpreted(program)) > 1 {
		m.Source = filepath.Dir(program)
	}
	if tooBroad(m.Source) {
		return Mount{}, fmt.Errorf("sandbox: the CLI lies in %s, which would be open to the agent: install it in a folder of its own", m.Source)
	}
	return m, nil
}

// absolute returns the path of a program.
func absolute(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// carry gives a sandbox without a network a way to the API.
func (in *inside) carry(helper string) error {
	address, err := loopback(in.env)
	if err != nil {
		return err
	}
	if address == "" {
		return errNoAPI
	}
	if helper == "" {
		return errors.New("sandbox: Helper is needed to reach the API without a network")
	}
	program, err := absolute(helper)
	if err != nil {
		return fmt.Errorf("sandbox: find the helper: %w", err)
	}
	var path string
	if in.bridge, path, err = socketTo(address); err != nil {
		return fmt.Errorf("sandbox: open the way to the API: %w", err)
	}
	in.mounts = append(in.mounts, Mount{Source: program, Target: helperExe}, Mount{Source: path, Target: socket, Writable: true})
	in.command = append([]string{helperExe, initWord, address, socket}, in.command...)
	return nil
}

// environment returns what the wrapping program inherits, and so hands on.
func (in *inside) environment(more []string) []string {
	env := Environment(in.env, more...)
	return append(env, "HOME="+homeDir, "USER=claude", "LOGNAME=claude", "PATH=/usr/local/bin:/usr/bin:/bin", "SHELL=/bin/bash")
}

// Close ends the way to the API.
func (in *inside) Close() error {
	if in.bridge == nil {
		return nil
	}
	return in.bridge.Close()
}

// findCLI returns the CLI with its links resolved, because only its folder is inside.
func findCLI(l *claude.Launch) (string, error) {
	program, err := exec.LookPath(cmp.Or(l.Path, "claude"))
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return "", &claude.StartError{Reason: claude.ErrNotFound, Path: l.Path, Err: err}
	}
	return program, nil
}

// interpreted returns the beginning of a command: CLIs before 2.1.113 are scripts.
func interpreted(program string) []string {
	if strings.HasSuffix(program, "js") {
		return []string{"node", program}
	}
	return []string{program}
}
