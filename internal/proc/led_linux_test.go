package proc_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/test/long"
)

// What a shell has started without the mark ends although the child ends that shell
// first, when it is asked to end itself.
func TestStopSweepsGroupsOfEndedLeaders(t *testing.T) {
	long.Test(t, "needs bash")
	for name, stop := range map[string]func(*proc.Process) error{
		"stopped": (*proc.Process).Stop,
		"end of input": func(p *proc.Process) error {
			p.Note()
			p.CloseWrite()
			return p.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			const script = `exec 3<&0; setsid sh -c 'env -i sleep 300 & echo $!; exec sleep 300' & shell=$!
trap 'kill -9 $shell; wait $shell; exit 0' TERM
cat <&3 >/dev/null & wait $!
kill -9 $shell; wait $shell; exit 0`
			p := start(t, &proc.Command{
				Path: "/bin/bash", Args: []string{"-c", script}, Term: 30 * time.Second, Kill: 30 * time.Second, Drain: 50 * time.Millisecond,
			})
			pid := read(t, p).pid()
			defer syscall.Kill(pid, syscall.SIGKILL)
			if err := stop(p); err != nil {
				t.Error(err)
			}
			if alive(pid) {
				t.Error("the program is still there")
			}
		})
	}
}

// What a shell has started without the mark ends with the group of that shell, even
// if it takes no hint and its leader has gone first.
func TestStopSweepsLedGroups(t *testing.T) {
	for name, script := range map[string]string{
		"ends at SIGTERM": `setsid sh -c 'env -i sleep 300 & echo $!; exec sleep 300' & cat >/dev/null`,
		"ignores SIGTERM": `setsid sh -c 'trap "" TERM; env -i sleep 300 & echo $!; trap - TERM; exec sleep 300' & cat >/dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, &proc.Command{
				Path: "/bin/sh", Args: []string{"-c", script}, Term: 30 * time.Second, Kill: 30 * time.Second, Drain: 50 * time.Millisecond,
			})
			pid := read(t, p).pid()
			defer syscall.Kill(pid, syscall.SIGKILL)
			if !alive(pid) {
				t.Fatal("the program is gone before the end")
			}
			p.CloseWrite()
			if err := p.Wait(); err != nil {
				t.Errorf("Wait: %v", err)
			}
			if alive(pid) {
				t.Error("the program is still there")
			}
		})
	}
}
