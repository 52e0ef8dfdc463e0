package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/secret"
)

// Exec returns a Transport that starts the command that a function returns for each
// launch, such as a wrapper of the CLI or a client of another machine. The command
// gets the CLI's standard streams; those of the exec.Cmd are ignored, and so is
// everything else in it but Path, Args, Env and Dir. A nil Env is that of this process: choose with
// [Environment]. The command must end when its standard input ends.
//
// The function is called by several goroutines if several sessions start.
func Exec(command func(*claude.Launch) (*exec.Cmd, error)) claude.Transport {
	return execTransport(command)
}

type execTransport func(*claude.Launch) (*exec.Cmd, error)

// Start implements [claude.Transport].
func (make execTransport) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	cmd, err := make(l)
	if err != nil {
		return nil, err
	}
	if cmd == nil {
		return nil, errors.New("sandbox: Exec was given no command")
	}
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	return start(ctx, l, cmd)
}

// start starts a command as the child that a launch asks for.
func start(ctx context.Context, l *claude.Launch, cmd *exec.Cmd) (claude.Conn, error) {
	child := *l
	child.Path, child.Args, child.Env, child.Dir = cmd.Path, cmd.Args[1:], cmd.Environ(), cmd.Dir
	child.Files = nil
	child.Secrets = slices.Clone(l.Secrets)
	for _, entry := range l.Env { // which the child may not have, but what it starts
		if name, text, _ := strings.Cut(entry, "="); secret.IsSecretName(name) {
			child.Secrets = append(child.Secrets, text)
		}
	}
	return claude.ChildProcess().Start(ctx, &child)
}
