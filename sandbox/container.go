package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
)

// Container runs the CLI in a container of podman or docker. The zero value with an
// Image is strict: no network, no capabilities, no new rights, a read-only root, an own
// user, and limits on memory and processes.
//
// The container is removed when the CLI ends. If your program is killed, the helper
// inside notices, and ends the CLI and so the container.
//
// A Container may start several sessions at once. Do not change it meanwhile.
type Container struct {
	// Program is podman, docker or one that takes the same arguments; empty is
	// "podman" in PATH.
	Program string
	// Args are more arguments for its command "run". They come last, so they can
	// change what this form chooses.
	Args []string
	// Image is needed. It has the programs that the agent may use.
	Image string
	// CLI is the path of the CLI in the image. If it is empty, the CLI of this machine
	// is mounted.
	CLI string
	// Helper is the program that calls [Init]: a path of this machine, which is
	// mounted. It must run in the image; claudectl from a release is linked statically.
	Helper string
	// Mounts are more that the CLI should see. Those of the working directory and the
	// CLI are added.
	Mounts []Mount
	// Env are names of more variables that go inside; see [Environment].
	Env []string
	// ClientEnv are names of variables with credentials that the container program itself
	// needs. Others it does not inherit.
	ClientEnv []string
	// Network is the network that the container joins; empty means no network.
	Network string
	// User is the user inside, "UID:GID"; empty is 1000:1000. The working directory must
	// be writable for it.
	User string
	// Memory and Processes are limits; 0 is 2 GiB and 512.
	Memory    int64
	Processes int
}

// Start implements [claude.Transport].
func (c *Container) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	if c.Image == "" || strings.HasPrefix(c.Image, "-") {
		return nil, fmt.Errorf("sandbox: %q is not an image", c.Image)
	}
	program, err := exec.LookPath(cmp.Or(c.Program, "podman"))
	if err != nil {
		return nil, fmt.Errorf("sandbox: find the container program: %w", err)
	}
	plan, err := c.plan(l)
	if err != nil {
		return nil, err
	}
	name := "claude-" + strings.ToLower(rand.Text())
	env := clientEnv(os.Environ(), l, c.ClientEnv)
	cmd := &exec.Cmd{Path: program, Args: append([]string{program}, c.args(name, plan)...), Env: env}
	conn, err := reach(ctx, l, cmd, plan.task)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sandbox: start a container of %s: %w", c.Image, err), remove(program, name, env), plan.Close())
	}
	go func() {
		_ = conn.Wait() // the session reports it
		if err := errors.Join(remove(program, name, env), plan.Close()); err != nil {
			l.Logger.Warn("sandbox: clean up after a container", "name", name, "error", err)
		}
	}()
	return conn, nil
}

// removeBound is how long a container program may take to remove a container.
const removeBound = 30 * time.Second

// remove makes sure that a container is gone. The end of the program that has started it
// does not end it.
func remove(program, name string, env []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "rm", "--force", name)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	said := strings.ToLower(string(out))
	gone := func(text string) bool { return strings.Contains(said, text) }
	if err != nil && !slices.ContainsFunc([]string{"no such container", "no container with name", "is already in progress"}, gone) { // by --rm
		return fmt.Errorf("remove the container %s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// containerPlan lists the contents of one container.
type containerPlan struct {
	task   task
	mounts []Mount
	bridge *bridge
}

// Close ends the way to the API.
func (p *containerPlan) Close() error {
	if p.bridge == nil {
		return nil
	}
	return p.bridge.Close()
}

func (c *Container) plan(l *claude.Launch) (*containerPlan, error) {
	dir, err := workDir(l)
	if err != nil {
		return nil, err
	}
	if c.Helper == "" {
		return nil, errors.New("sandbox: Helper is needed in a container")
	}
	helper, err := absolute(c.Helper)
	if err != nil {
		return nil, fmt.Errorf("sandbox: find the helper: %w", err)
	}
	moved := l.At(filesMark)
	p := &containerPlan{
		task:   task{Path: c.CLI, Args: moved.Args, Env: append(Environment(moved.Env, c.Env...), "HOME="+homeDir, "TMPDIR=/tmp"), Dir: dir},
		mounts: []Mount{{Source: helper, Target: helperExe}},
	}
	if c.CLI == "" {
		if p.task.Path, err = findCLI(l); err != nil {
			return nil, err
		}
		cli, err := mountOf(p.task.Path)
		if err != nil {
			return nil, err
		}
		p.mounts = append(p.mounts, cli)
	}
	p.mounts = append(p.mounts, Mount{Source: dir, Writable: true})
	for _, m := range slices.Concat(p.mounts, c.Mounts) {
		// A colon would begin the next part of the argument, and what is not a path is
		// the name of a volume, which the container program would make.
		if strings.Contains(m.Source+m.target(), ":") || !filepath.IsAbs(m.Source) {
			return nil, fmt.Errorf("sandbox: %s cannot be mounted in a container: only absolute paths without a colon can", m.Source)
		}
	}
	address, err := loopback(moved.Env)
	if err != nil {
		return nil, err
	}
	switch {
	case address != "":
		var path string
		if p.bridge, path, err = socketTo(address); err == nil {
			// The user inside is another one. Outside, the folder lets only its owner in.
			if err = os.Chmod(path, 0o666); err != nil {
				err = errors.Join(err, p.bridge.Close())
			}
		}
		if err != nil {
			return nil, fmt.Errorf("sandbox: open the way to the API: %w", err)
		}
		p.mounts = append(p.mounts, Mount{Source: path, Target: socket, Writable: true})
		p.task.API = socket
	case c.Network == "":
		return nil, errNoAPI
	}
	return p, nil
}

// args returns the arguments of the container program. They hold no value of a
// variable: the task has them.
func (c *Container) args(name string, p *containerPlan) []string {
	memory, processes := cmp.Or(c.Memory, 2<<30), cmp.Or(c.Processes, 512)
	args := []string{
		"run", "--rm", "--interactive", "--name", name, "--network", cmp.Or(c.Network, "none"),
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--user", cmp.Or(c.User, "1000:1000"),
		"--memory", strconv.FormatInt(memory, 10), "--pids-limit", strconv.Itoa(processes),
		"--tmpfs", "/tmp:rw,mode=1777", "--tmpfs", homeDir + ":rw,mode=1777", "--workdir", "/", "--entrypoint", "",
	}
	for _, m := range slices.Concat(p.mounts, c.Mounts) {
		mode := "ro"
		if m.Writable {
			mode = "rw"
		}
		args = append(args, "--volume", m.Source+":"+m.target()+":"+mode)
	}
	return append(append(args, c.Args...), c.Image, helperExe, superviseWord)
}
