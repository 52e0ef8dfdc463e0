package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/claude-agent-go/claude"
)

// SSH runs the CLI on another machine, over the program ssh. It isolates only as far
// as that machine and its user do.
//
// A cut connection would leave the CLI and its tools running there. So ssh starts a
// helper, which ends all of them when the connection ends, or when it has been silent for
// six seconds. The files of the launch travel over the same connection and are
// removed when the CLI ends.
//
// Cwd and CLIPath of the options are paths there. If ANTHROPIC_BASE_URL names a port of this
// machine's loopback interface, ssh carries it: the CLI there reaches that port and needs no
// network of its own.
//
// An SSH may start several sessions at once. Do not change it meanwhile.
type SSH struct {
	// Host is the machine, as ssh takes it: a name of its configuration, or USER@HOST.
	Host string
	// Program is the ssh client; empty is "ssh" in PATH.
	Program string
	// Args are more arguments for it, such as "-i", "key". Passwords cannot be asked for:
	// BatchMode is always on.
	Args []string
	// Helper is the program there that calls [Init]; empty is "claudectl" in PATH there.
	Helper string
	// Env are names of more variables that go there; see [Environment].
	Env []string
	// ClientEnv are names of variables with credentials that ssh itself needs. Others it
	// does not inherit.
	ClientEnv []string
}

// Start implements [claude.Transport].
func (s *SSH) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	if s.Host == "" || strings.HasPrefix(s.Host, "-") {
		return nil, fmt.Errorf("sandbox: %q is not a host for ssh", s.Host)
	}
	program, err := exec.LookPath(cmp.Or(s.Program, "ssh"))
	if err != nil {
		return nil, fmt.Errorf("sandbox: find ssh: %w", err)
	}
	moved := l.At(filesMark)
	t := task{Path: cmp.Or(l.Path, "claude"), Args: moved.Args, Env: Environment(moved.Env, s.Env...), Dir: l.Dir}
	args := []string{program, "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=2"}
	address, err := loopback(t.Env)
	if err != nil {
		return nil, err
	}
	if address != "" {
		t.API, t.Forwarded = "/tmp/claude-api-"+rand.Text(), true
		args = append(args, "-o", "ExitOnForwardFailure=yes", "-o", "StreamLocalBindUnlink=yes", "-R", t.API+":"+address)
	}
	args = append(append(args, s.Args...), "--", s.Host, s.command(t.API))
	// ssh hands on only what its configuration names, but needs its agent and its home.
	conn, err := reach(ctx, l, &exec.Cmd{Path: program, Args: args, Env: clientEnv(os.Environ(), l, s.ClientEnv)}, t)
	if err != nil {
		return nil, fmt.Errorf("sandbox: reach %s: %w", s.Host, err)
	}
	return conn, nil
}

// command is the line that the user's shell on the other machine runs, written so that every
// shell takes it the same way. It also removes the forwarded socket, which an ssh server
// leaves behind, even if the helper is missing or killed.
func (s *SSH) command(socket string) string {
	helper := quoted(cmp.Or(s.Helper, "claudectl")) + " " + superviseWord
	if socket == "" {
		return "exec " + helper
	}
	return "exec sh -c " + quoted(`"$0" "$1"; code=$?; rm -f -- "$2"; exit $code`) + " " + helper + " " + quoted(socket)
}

// quoted is a word for the shell there.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
