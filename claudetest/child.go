package claudetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// The variables that tell a program to play a CLI.
const (
	envPlay   = "CLAUDETEST_PLAY"
	envScript = "CLAUDETEST_SCRIPT"
	roleHold  = "@hold" // the grandchild that holds pipes
)

// holdTime is how long a grandchild lives unless it is killed.
const holdTime = time.Minute

// Play returns the environment variable that makes a program that calls [Main]
// play the script of that name.
func Play(name string) string { return envPlay + "=" + name }

// PlayFile returns the environment variable that makes a program that calls
// [Main] play the script or the recording in a file.
func PlayFile(path string) string { return envScript + "=" + path }

// Main turns the program into a scripted CLI if it was started as one, and
// then does not return. Call it first in TestMain to let the test binary be
// the child process of its own tests:
//
//	func TestMain(m *testing.M) {
//		claudetest.Main(map[string]*claudetest.Script{"greeter": greeter})
//		os.Exit(m.Run())
//	}
//
//	opts := &claude.Options{CLIPath: os.Args[0], Env: append(os.Environ(), claudetest.Play("greeter"))}
func Main(scripts map[string]*Script) {
	name, file := os.Getenv(envPlay), os.Getenv(envScript)
	switch {
	case name == roleHold:
		<-time.After(holdTime)
		os.Exit(0)
	case name != "":
		s := scripts[name]
		if s == nil {
			fmt.Fprintf(os.Stderr, "claudetest: no script %q\n", name)
			os.Exit(2)
		}
		os.Exit(playProcess(s, os.Args[1:]))
	case file != "":
		code, err := Exec(file, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(code)
	}
}

// Exec turns this process into a CLI that plays the script or the recording in
// a file, with the streams and signals of the process and the arguments given.
// It returns the exit code when the session is over. An error means that the
// file cannot be played and nothing has been read or written.
func Exec(path string, args []string) (code int, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("claudetest: %w", err)
	}
	if isRecording(data) {
		t, err := ReadRecording(bytes.NewReader(data))
		if err != nil {
			return 0, fmt.Errorf("%w (%s)", err, filepath.Base(path))
		}
		return replayProcess(t, args), nil
	}
	s, err := parseFile(path, data)
	if err != nil {
		return 0, err
	}
	return playProcess(s, args), nil
}

// isRecording recognises a recording: its first line is an entry.
func isRecording(data []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimSpace(data), []byte{'\n'})
	return jsonx.Member(first, "dir") != nil
}

func parseFile(path string, data []byte) (*Script, error) {
	s, err := ParseScript(data)
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, filepath.Base(path))
	}
	return s, nil
}

// playProcess plays a script with the streams of this process.
func playProcess(s *Script, args []string) int {
	dir, _ := os.Getwd() // only told to the client
	ctx, cancel := context.WithCancelCause(context.Background())
	told := make(chan os.Signal, 4)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGHUP, os.Interrupt)
	go func() {
		for got := range told {
			switch {
			case got == syscall.SIGHUP:
				os.Exit(129)
			case got == os.Interrupt:
				cancel(&exit{code: 0})
			case !s.IgnoreTerm:
				os.Exit(143)
			}
		}
	}()
	p := &process{
		known:  newConversations(s.Sessions),
		script: s, args: args, env: os.Environ(), dir: dir,
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, signal: signalSelf,
	}
	return p.run(ctx)
}

// replayProcess plays a recording with the streams of this process. Signals
// have the same effect as on any program.
func replayProcess(t *Recording, args []string) int {
	if _, err := host.ParseArgs(args, os.Environ()); errors.Is(err, host.ErrVersion) {
		fmt.Println(Version + " (Claude Code)")
		return 0
	}
	conn, err := Replay(t).Start(context.Background(), nil)
	if err == nil {
		go func() {
			_, _ = io.Copy(conn, os.Stdin) // ends with either side
			_ = conn.CloseWrite()
		}()
		_, _ = io.Copy(os.Stdout, conn)
		err = conn.Wait()
	}
	if code, ok := exitCode(err); ok {
		return code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// holdPipes starts a process that keeps our standard streams open.
func holdPipes() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), Play(roleHold))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	_ = cmd.Start() // deliberately never waited for
}
