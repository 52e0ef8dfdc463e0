//go:build unix

package tee_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"
)

// playSignals plays a child that gets, sends or ignores signals.
func playSignals(word string) int {
	switch word {
	case "die":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "closes-input": // closes its input and lives on until it cannot write
		os.Stdin.Close()
		for _, err := fmt.Println("closes-input"); err == nil; _, err = fmt.Println("still here") {
			<-time.After(10 * time.Millisecond)
		}
		return 4
	case "wait": // prints the signal that comes
		got := make(chan os.Signal, 1)
		signal.Notify(got, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1)
		fmt.Println(os.Getpid())
		sig := <-got
		fmt.Println(sig)
		return 3
	}
	fmt.Fprintln(os.Stderr, "no such child:", word)
	return 97
}

// Signals reach the child, once, and its own way to handle them counts.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGUSR1} {
		r := start(t, "wait")
		out := bufio.NewReader(r.out)
		if _, err := out.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		r.Process.Signal(sig)
		if rest, err := io.ReadAll(out); err != nil || strings.TrimSpace(string(rest)) != sig.String() {
			t.Errorf("%v: the child says %q, %v", sig, rest, err)
		}
		if code := r.code(); code != 3 {
			t.Errorf("%v: exit code %d, want 3", sig, code)
		}
	}
}

// A child that dies by a signal looks so from outside.
func TestDeath(t *testing.T) {
	r := start(t, "die")
	r.in.Close()
	r.code()
	if status := r.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGKILL {
		t.Errorf("the tee ended with %v, want killed", r.ProcessState)
	}
	if got := r.last(t); got != `{"exit_code":137,"signal":"killed"}` {
		t.Errorf("the recording ends with %s", got)
	}
}

// A tee that is killed takes the child with it, and leaves a recording of whole
// lines.
func TestKilledTee(t *testing.T) {
	r := start(t, "wait")
	out := bufio.NewReader(r.out)
	line, err := out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	r.awaitRecorded(t) // the recording may be behind the child
	r.Process.Kill()
	// The child is told (Linux), or finds its pipe closed; its end is the end of
	// the pipe that it shares with no process.
	if killedTeeTellsChild {
		r.code()
		var pid int
		fmt.Sscan(line, &pid)
		awaitGone(t, pid)
	}
	if n := len(r.entries(t)); n == 0 {
		t.Error("the recording is empty")
	}
}

// A child that closes its input is passed on to the writer, and a reader
// that goes away to the child.
func TestEnds(t *testing.T) {
	r := start(t, "closes-input")
	out := bufio.NewReader(r.out)
	if line, err := out.ReadString('\n'); err != nil || line != "closes-input\n" {
		t.Fatalf("%q, %v", line, err)
	}
	begun := time.Now()
	for {
		if _, err := r.in.Write([]byte("anybody?\n")); err != nil {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("writes continue although the child has closed its input")
		}
	}
	r.out.Close()
	if code := r.code(); code != 141 { // by SIGPIPE
		t.Errorf("exit code %d, want 141: %s", code, r.stderr.String())
	}
}
