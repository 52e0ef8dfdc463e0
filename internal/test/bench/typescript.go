package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/internal/test/npm"
	"github.com/claude-agent-go/claude/internal/test/officialsdk"
)

// typescript is the official SDK, in a node process of its own.
type typescript struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// newTypeScript starts node with the client. The reason why it cannot is an
// error.
func newTypeScript(ctx context.Context, root, cli string) (*typescript, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, err
	}
	modules, err := npm.Install(ctx, officialsdk.Package())
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(node, filepath.Join(root, "internal", "test", "bench", "client.mjs"), modules, cli)
	cmd.Env = append(os.Environ(), playVariable+"=1", "NODE_ENV=production")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &typescript{cmd, in, bufio.NewReader(out)}, nil
}

// answer is the client's answer to a command.
type answer struct {
	NS       int64
	CPU      int64 // in microseconds
	Messages int
	Report   string
	Error    string
}

func (l *typescript) command(op, prompt string) (a answer, err error) {
	command, err := json.Marshal(map[string]string{"op": op, "prompt": prompt})
	if err != nil {
		return a, err
	}
	if _, err := l.in.Write(append(command, '\n')); err != nil {
		return a, err
	}
	line, err := l.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("TypeScript client: %w", err)
	}
	if err := json.Unmarshal(line, &a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New("TypeScript client: " + a.Error)
	}
	return a, nil
}

func (l *typescript) round(_ context.Context, prompt string) (sample, error) {
	a, err := l.command("round", prompt)
	if err != nil {
		return sample{}, err
	}
	s := sample{wall: time.Duration(a.NS), cpu: time.Duration(a.CPU) * time.Microsecond, messages: a.Messages}
	return s, s.read(a.Report)
}

func (l *typescript) start(context.Context) (time.Duration, error) {
	a, err := l.command("start", "")
	return time.Duration(a.NS), err
}

func (l *typescript) close() error {
	return errors.Join(l.in.Close(), l.cmd.Wait())
}
