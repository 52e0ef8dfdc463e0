package storetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/store"
)

// Own is the other process of a test of owners: it takes a lease and appends
// under it until the lease is lost. Call it from TestMain, in a process that
// Target.Process has started. It returns the exit code.
//
//	func TestMain(m *testing.M) {
//		if source := os.Getenv("STORE"); source != "" {
//			os.Exit(storetest.Own(open(source)))
//		}
//		os.Exit(m.Run())
//	}
func Own(s store.Fleet) int {
	k := store.Key{Project: os.Getenv(ownProject), Session: os.Getenv(ownSession)}
	l, err := s.Acquire(context.Background(), k.Project, "conversation", "the first", ownTTL)
	if err != nil {
		fmt.Println("acquire:", err)
		return 1
	}
	in := bufio.NewScanner(os.Stdin)
	for n := 0; ; n++ {
		if n >= ownAlone && os.Getenv(ownPaused) != "" && !in.Scan() {
			return 1
		}
		b := batch("", line(fmt.Sprint(n)), `{"type":"tag"}`)
		b.Fence = l.Fence
		switch err := s.Append(context.Background(), k, b); {
		case errors.Is(err, store.ErrLeaseLost):
			fmt.Println("lost")
			return 0
		case err != nil:
			fmt.Println("append:", err)
			return 1
		}
		fmt.Println(n)
	}
}

const (
	ownProject = "STORETEST_PROJECT"
	ownSession = "STORETEST_SESSION"
	ownPaused  = "STORETEST_PAUSED" // to append only when a line comes, after the first ones
	ownAlone   = 3                  // how many it appends before
	ownTTL     = 500 * time.Millisecond
)

// owners are promises about processes.
func owners() []contract {
	return []contract{
		{"an owner that is stopped between two writes, and wakes up, writes nothing", func(s *subject) { ownerStopped(s, true, ownAlone-1) }},
		{"an owner that is stopped in the middle of a write writes nothing after its successor began", func(s *subject) {
			for _, n := range []int{1, 6} {
				ownerStopped(s, false, n)
			}
		}},
	}
}

// ownerStopped lets another process own a session, stops it after a batch, takes
// its place and lets it continue.
func ownerStopped(s *subject, paused bool, last int) {
	k := s.session()
	k.Project += strconv.Itoa(last)
	cmd := s.target.Process(s.t, s.Fleet)
	cmd.Env = append(cmd.Environ(), ownProject+"="+k.Project, ownSession+"="+k.Session)
	if paused {
		cmd.Env = append(cmd.Env, ownPaused+"=1")
	}
	h := s.again() // before the other one holds a lock for too long
	out, in := s.start(cmd)
	for {
		if !out.Scan() {
			s.t.Fatal("the owner ended early")
		}
		if n, err := strconv.Atoi(out.Text()); err != nil {
			s.t.Fatalf("the owner says %q", out.Text())
		} else if n == last {
			break
		}
	}
	if !stop(cmd.Process) {
		s.t.Skip("processes cannot be stopped here")
	}
	// Between writes it holds nothing up; a lease may last a second longer.
	patience := 6 * ownTTL
	if paused {
		patience *= 10
	}
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	second, err := s.waitFor(ctx, h, k.Project)
	if err != nil {
		if paused || ctx.Err() == nil {
			s.t.Fatalf("the successor: %v", err)
		}
		// It was stopped with a lock in its hands. Others wait until it wakes up.
		resume(cmd.Process)
		if second, err = s.waitFor(s.t.Context(), h, k.Project); err != nil {
			s.t.Fatal(err)
		}
	}
	seen := collect(s.t, store.Entries(s.t.Context(), h, k))
	b := batch("", line("second"))
	b.Fence = second.Fence
	if err := h.Append(s.t.Context(), k, b); err != nil {
		s.t.Fatal(err)
	}
	resume(cmd.Process)
	_, _ = io.WriteString(in, "continue\n") // if it waits for that
	said := ""
	for out.Scan() {
		said = out.Text()
	}
	if err := cmd.Wait(); err != nil || said != "lost" {
		s.t.Fatalf("the old owner ended with %v and %q", err, said)
	}
	now := collect(s.t, store.Entries(s.t.Context(), s, k))
	want := append(slices.Clone(seen), store.Entry(line("second")))
	if !slices.EqualFunc(now, want, func(a, b store.Entry) bool { return string(a) == string(b) }) {
		s.t.Errorf("there are %d entries, the last %s; the successor saw %d", len(now), now[len(now)-1], len(seen))
	}
}

// waitFor acquires the lease of the other process when it has expired.
func (s *subject) waitFor(ctx context.Context, l store.Leases, project string) (store.Lease, error) {
	for {
		lease, err := l.Acquire(ctx, project, "conversation", "the second", time.Minute)
		held, ok := errors.AsType[*store.HeldError](err)
		if !ok {
			return lease, err
		}
		select {
		case <-time.After(min(held.For, ownTTL)):
		case <-ctx.Done():
			return lease, context.Cause(ctx)
		}
	}
}

// start starts a process that is killed at the end of the test, and returns its
// lines and its input.
func (s *subject) start(cmd *exec.Cmd) (*bufio.Scanner, io.Writer) {
	s.t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
		if s.t.Failed() {
			s.t.Log("the other process: ", errs.String())
		}
	})
	return bufio.NewScanner(out), in
}
