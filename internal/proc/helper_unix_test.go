//go:build unix

package proc_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/claude-agent-go/claude/internal/proc"
)

// pipeRoom is how many bytes fit into a pipe without a reader.
const pipeRoom = 60_000

// systemHelper runs the helpers that know signals and sessions.
func systemHelper(mode string) bool {
	switch mode {
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "polite": // exits by itself when it gets SIGTERM, as the CLI does
		onTerm := make(chan os.Signal, 1)
		signal.Notify(onTerm, syscall.SIGTERM)
		fmt.Println("ready")
		<-onTerm
		fmt.Println("goodbye")
		os.Exit(143)
	case "stubborn": // outlives EOF and SIGTERM
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		io.Copy(io.Discard, os.Stdin)
		forever()
	case "stubborn-tree": // the same, with a child in another session
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(spawn("hold", inSession, withPipes))
		forever()
	case "killed-tree": // dies of a signal and leaves a child behind
		fmt.Println(spawn("hold", inSession))
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		forever()
	case "polite-tree": // exits at SIGTERM and leaves a child behind, as old CLIs do
		onTerm := make(chan os.Signal, 1)
		signal.Notify(onTerm, syscall.SIGTERM)
		fmt.Println(spawn("hold", inSession))
		<-onTerm
		os.Exit(143)
	case "leave": // exits when its input ends, and leaves a child behind
		var how []spawnOption
		for _, arg := range os.Args[2:] {
			how = append(how, spawnOption(arg))
		}
		fmt.Println(spawn(os.Args[1], how...))
		io.Copy(io.Discard, os.Stdin)
	case "files": // what is open here, by where it leads
		open, _ := os.ReadDir("/proc/self/fd")
		for _, fd := range open {
			target, _ := os.Readlink("/proc/self/fd/" + fd.Name())
			fmt.Println(target)
		}
	case "starved":
		starve()
	case "tidy": // ends at SIGTERM, but not before it has tidied up
		onTerm := make(chan os.Signal, 1)
		signal.Notify(onTerm, syscall.SIGTERM)
		os.NewFile(3, "ready").Close()
		<-onTerm
		fmt.Println("tidied up")
	case "told": // reports SIGTERM and stays
		onTerm := make(chan os.Signal, 1)
		signal.Notify(onTerm, syscall.SIGTERM)
		os.NewFile(3, "ready").Close()
		<-onTerm
		fmt.Println("told")
		forever()
	case "hold":
		signal.Ignore(syscall.SIGTERM)
		signal.Ignore(syscall.SIGPIPE)
		os.Stdin.Close()
		os.NewFile(3, "ready").Close()
		forever()
	default:
		return false
	}
	return true
}

// spawnOption selects how a helper is started.
type spawnOption string

const (
	inSession   spawnOption = "session" // in one of its own, out of the group
	withPipes   spawnOption = "pipes"   // with the output and error of its parent
	withoutMark spawnOption = "unmarked"
	suspended   spawnOption = "suspended"
)

// spawn starts another helper, waits until it is ready and returns its pid.
func spawn(mode string, how ...spawnOption) int {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	ready, tell, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	cmd := exec.Command(exe)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != modeVariable && (name != proc.MarkVariable || !slices.Contains(how, withoutMark)) {
			cmd.Env = append(cmd.Env, entry)
		}
	}
	cmd.Env = append(cmd.Env, modeVariable+"="+mode)
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: slices.Contains(how, inSession)}
	if slices.Contains(how, withPipes) {
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	tell.Close()
	io.Copy(io.Discard, ready)
	if slices.Contains(how, suspended) {
		syscall.Kill(cmd.Process.Pid, syscall.SIGSTOP)
	}
	return cmd.Process.Pid
}

// starve lets Start run out of descriptors and reports what happened.
func starve() {
	count := func() int {
		open, _ := os.ReadDir("/proc/self/fd")
		return len(open)
	}
	ready, tell, err := os.Pipe() // the runtime opens its own descriptors with it
	if err != nil {
		panic(err)
	}
	ready.Close()
	tell.Close()
	before := count()
	limit := syscall.Rlimit{}
	setLimit(&limit.Cur, before+2)
	setLimit(&limit.Max, before+2)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		panic(err)
	}
	exe := os.Args[0]
	_, err = proc.Start(context.Background(), &proc.Command{Path: exe, Env: os.Environ()})
	fmt.Println(err)
	fmt.Println(count()-before, "more open")
}

// setLimit sets a field of a limit, which is signed on FreeBSD.
func setLimit[N int64 | uint64](field *N, n int) { *field = N(n) }
