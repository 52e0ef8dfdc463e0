package sandbox

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// initWord is the first argument of a helper.
const initWord = "claude-sandbox-init"

// Init turns this program into the helper of a sandbox if it was started as one, and
// then never returns. Call it first in main if Helper of a form is your own program;
// claudectl does.
//
// On another machine the helper starts the CLI, and ends it with everything that it has
// started when the connection is cut.
//
// On this machine the helper runs inside. It listens where the CLI looks for the API, carries
// connections to the socket that leads out, starts the CLI with its own standard
// streams, and ends with the CLI's exit code.
func Init() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == superviseWord:
		os.Exit(reap())
	case len(os.Args) == 2 && os.Args[1] == supervisedWord:
		os.Exit(runSupervisor())
	case len(os.Args) >= 5 && os.Args[1] == initWord:
		os.Exit(runInit(os.Args[2], os.Args[3], os.Args[4:]))
	}
}

// runSupervisor supervises a CLI by the standard streams of this process.
func runSupervisor() int {
	// With a receiver for the signal, a write to a connection that is cut fails, instead of
	// ending the helper with its files left behind.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return supervise(os.Stdin, os.Stdout, os.Stderr, silence)
}

func runInit(listen, socket string, command []string) int {
	fail := func(step string, err error) int {
		fmt.Fprintf(os.Stderr, "sandbox: %s: %v\n", step, err)
		return 125 // as container programs do
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return fail("listen for the CLI", err)
	}
	b := newBridge(l, func() (net.Conn, error) { return net.DialTimeout("unix", socket, dialBound) })
	defer b.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return fail("start the CLI", err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	err = cmd.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if code := exit.ExitCode(); code >= 0 {
			return code
		}
		return 128 + 9 // it was killed
	}
	if err != nil {
		return fail("wait for the CLI", err)
	}
	return 0
}
