//go:build unix

package policy_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// nobody drops the rights of root for a command, which then runs as the user
// nobody: a spelling that hits more than it should must not reach the system.
// The directory becomes its own.
func nobody(cmd *exec.Cmd, dir string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return nil
	}
	const id = 65534
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: id, Gid: id}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, id, id)
	})
}

// endGroup ends the processes that a command has left running, such as a process
// substitution that waits for a reader.
func endGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // most leave nothing
	}
}

// keeper ends the groups of commands that are running when this program is killed and
// so cannot end them itself. It is a process that learns which groups those are.
type keeper struct {
	mu    sync.Mutex
	to    io.WriteCloser
	began chan<- int // receives the groups that the keeper knows; may be nil
}

// keepGroups reads the numbers of groups that begin and end. When nothing more comes,
// those that have not ended are ended.
const keepGroups = `trap '' HUP INT TERM
declare -A running
while read -r what group; do
	case $what in begin) running[$group]=1 ;; end) unset "running[$group]" ;; esac
done
for group in "${!running[@]}"; do kill -KILL -- "-$group"; done`

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	cmd := exec.Command("bash", "-c", keepGroups)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends our group does not end it
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = to.Close()
		_ = cmd.Wait()
	})
	return &keeper{to: to}
}

func (k *keeper) begin(group int) {
	if k.say("begin", group); k.began != nil {
		k.began <- group
	}
}

func (k *keeper) end(group int) { k.say("end", group) }

func (k *keeper) say(what string, group int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, _ = fmt.Fprintln(k.to, what, group) // without a keeper, only a kill leaves something
}

// spinning is a text that runs until it is ended, in two processes. Both hold a pipe,
// by which it is known when they are gone. It begins when it is told to.
const spinning = `exec 9> pipe; read -r < begin; echo here >&9; while :; do :; done & while :; do :; done`

// killedTrial is the trial of the program that is killed.
func killedTrial(t *testing.T, dir string) {
	k, began := newKeeper(t), make(chan int, 1)
	k.began = began
	go func() {
		<-began
		if err := os.WriteFile(filepath.Join(dir, "begin"), []byte("begin\n"), 0); err != nil { // it is a pipe
			t.Error(err)
		}
	}()
	_, err := trial[bool]{shell: []string{"bash", "-c"}}.run(t.Context(), k, "bash", dir, spinning)
	t.Fatalf("it has ended before it was killed: %v", err)
}

// TestKilledTrial kills a program in the middle of a trial. The processes of the trial
// end.
func TestKilledTrial(t *testing.T) {
	long.Test(t, "runs commands in a shell")
	if dir := os.Getenv("TRIAL_OF_A_KILLED_PROGRAM"); dir != "" {
		killedTrial(t, dir)
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil { // for the user nobody
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	for _, path := range []string{pipe, filepath.Join(dir, "begin")} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	from, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	hold, err := os.OpenFile(pipe, os.O_WRONLY, 0) // until the text holds it
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledTrial$")
	cmd.Env = append(os.Environ(), "TRIAL_OF_A_KILLED_PROGRAM="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := from.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(from)
	line, err := lines.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != "here" {
		t.Fatalf("%q: %v", line, err)
	}
	_ = hold.Close()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if _, err := lines.ReadString('\n'); err != io.EOF {
		t.Errorf("what a killed program has started still runs: %v", err)
	}
}
