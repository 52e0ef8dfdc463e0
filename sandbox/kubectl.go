package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/claude-agent-go/claude"
)

// Kubectl runs the CLI in a pod that is already there, over "kubectl exec". The pod's
// manifest decides how far it is isolated. It needs the CLI and a program that calls [Init].
// Cwd and CLIPath of the options are paths in the pod.
//
// The connection is supervised like that of [SSH]. The API has to be reached from the
// pod: unlike ssh, kubectl carries nothing back to this machine.
//
// This form has been tested up to its arguments, not with a cluster.
type Kubectl struct {
	// Pod is the pod; Namespace, Container and Context are kubectl's defaults if empty.
	Pod, Namespace, Container, Context string
	// Program is empty for "kubectl" in PATH.
	Program string
	// Helper is the program there that calls [Init]; empty is "claudectl" in PATH there.
	Helper string
	// Env are names of more variables that go there; see [Environment].
	Env []string
	// ClientEnv are names of variables with credentials that kubectl itself needs, or the
	// program that signs it in. Others it does not inherit.
	ClientEnv []string
}

// Start implements [claude.Transport].
func (k *Kubectl) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	program, err := exec.LookPath(cmp.Or(k.Program, "kubectl"))
	if err != nil {
		return nil, fmt.Errorf("sandbox: find kubectl: %w", err)
	}
	args, t, err := k.plan(l)
	if err != nil {
		return nil, err
	}
	conn, err := reach(ctx, l, &exec.Cmd{Path: program, Args: append([]string{program}, args...), Env: clientEnv(os.Environ(), l, k.ClientEnv)}, t)
	if err != nil {
		return nil, fmt.Errorf("sandbox: reach the pod %s: %w", k.Pod, err)
	}
	return conn, nil
}

func (k *Kubectl) plan(l *claude.Launch) ([]string, task, error) {
	if k.Pod == "" || strings.HasPrefix(k.Pod, "-") {
		return nil, task{}, fmt.Errorf("sandbox: %q is not a pod", k.Pod)
	}
	moved := l.At(filesMark)
	t := task{Path: cmp.Or(l.Path, "claude"), Args: moved.Args, Env: Environment(moved.Env, k.Env...), Dir: l.Dir}
	if address, err := loopback(t.Env); err != nil || address != "" {
		return nil, task{}, cmp.Or(err, errors.New("sandbox: ANTHROPIC_BASE_URL names this machine, which a pod does not reach: let the proxy listen where the pod can reach it"))
	}
	var args []string
	for _, f := range []struct{ flag, value string }{{"--context", k.Context}, {"--namespace", k.Namespace}} {
		if f.value != "" {
			args = append(args, f.flag+"="+f.value)
		}
	}
	args = append(args, "exec", "--stdin", "--quiet")
	if k.Container != "" {
		args = append(args, "--container="+k.Container)
	}
	return append(args, k.Pod, "--", cmp.Or(k.Helper, "claudectl"), superviseWord), t, nil
}
