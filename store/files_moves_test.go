package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/store"
)

// purses is how many records have the money that moveForEver moves, and purse how much
// each has at first.
const purses, purse = 10, 100

func purseKey(kind, name string) store.RecordKey {
	return store.RecordKey{Project: "p", Kind: kind, Name: name}
}

// moveForEver moves money from one record to another, counts its moves in a third, and
// prints each number that was stored.
func moveForEver(dir, name string) {
	s := store.Files(dir)
	s.NoSync = true // the machine does not crash
	for {
		all, err := s.View(context.Background(), store.View{Folders: []store.Folder{{Project: "p", Kind: "purse"}}, Keys: []store.RecordKey{purseKey("moves", name)}})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		mine := store.RecordChange{Key: purseKey("moves", name)}
		done := 0
		if all[0].Key == mine.Key {
			done, _ = strconv.Atoi(string(all[0].Value)) // 0 fails the test
			mine.Revision, all = all[0].Revision, all[1:]
		}
		done++
		mine.Value = fmt.Append(nil, done)
		changes := []store.RecordChange{mine}
		for i, at := range rand.Perm(len(all))[:2] {
			has, _ := strconv.Atoi(strings.TrimSpace(string(all[at].Value))) // 0 fails the sum
			value := fmt.Append(nil, has+2*i-1, strings.Repeat(" ", rand.IntN(2000)))
			changes = append(changes, store.RecordChange{Key: all[at].Key, Value: value, Revision: all[at].Revision})
		}
		switch _, err := s.Change(context.Background(), store.Fence{}, changes...); {
		case err == nil:
			fmt.Println(done)
		case !errors.Is(err, store.ErrConflict):
			fmt.Println(err)
			os.Exit(1)
		}
	}
}

// mover is a process that moves money.
type mover struct {
	name string
	cmd  *exec.Cmd
	last chan int // the last move that it was told is stored, when it has ended
}

func startMover(t *testing.T, dir, name string) *mover {
	t.Helper()
	m := &mover{name, exec.Command(os.Args[0]), make(chan int, 1)}
	m.cmd.Env = append(os.Environ(), "STORE_TEST_RECORDS="+dir, "STORE_TEST_NAME="+name)
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		n := 0
		for in := bufio.NewScanner(out); in.Scan(); {
			if _, err := fmt.Sscan(in.Text(), &n); err != nil {
				t.Errorf("%s: %s", name, in.Text())
			}
		}
		m.last <- n
	}()
	return m
}

// kill ends the process, and returns the last move that it was told is stored.
func (m *mover) kill(t *testing.T) int {
	t.Helper()
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	last := <-m.last
	_ = m.cmd.Wait() // it was killed
	return last
}

// moved checks that no view is torn, and returns how many moves there were.
func moved(t *testing.T, s *store.FileStore) (moves int, by map[string]int) {
	t.Helper()
	all, err := s.View(t.Context(), store.View{Folders: []store.Folder{{Project: "p", Kind: "purse"}, {Project: "p", Kind: "moves"}}})
	if err != nil {
		t.Fatal(err)
	}
	sum, found := 0, 0
	by = make(map[string]int)
	for _, r := range all {
		n, err := strconv.Atoi(strings.TrimSpace(string(r.Value)))
		if err != nil {
			t.Fatal(err)
		}
		if r.Key.Kind == "purse" {
			sum, found = sum+n, found+1
		} else {
			by[r.Key.Name] = n
			moves += n
		}
	}
	if found != purses || sum != purses*purse {
		t.Fatalf("%d records have %d in all, want %d and %d", found, sum, purses, purses*purse)
	}
	return moves, by
}

// Three processes change several records at once, and are killed or suspended at any
// moment, while the log is written anew again and again. No view is torn, and nothing that was
// acknowledged is lost.
func TestFilesRecordsSurviveKills(t *testing.T) {
	long.Test(t, "kills processes for a while")
	need.Signals.Test(t)
	dir := t.TempDir()
	s := store.Files(dir)
	s.NoSync = true
	var first []store.RecordChange
	for i := range purses {
		first = append(first, store.RecordChange{Key: purseKey("purse", fmt.Sprint(i)), Value: fmt.Append(nil, purse)})
	}
	if _, err := s.Change(t.Context(), store.Fence{}, first...); err != nil {
		t.Fatal(err)
	}
	logs := make(map[string]bool) // that there were
	stored := make(map[string]int)
	var movers []*mover
	for i := range 3 {
		movers = append(movers, startMover(t, dir, fmt.Sprint("first-", i)))
	}
	looks, slowest := 0, time.Duration(0)
	look := func() {
		began := time.Now()
		moved(t, s)
		moved(t, store.Files(dir))
		looks, slowest = looks+2, max(slowest, time.Since(began))
		logs[logName(t, dir)] = true
	}
	const rounds = 150
	for round := range rounds {
		for range 20 {
			look()
		}
		i := rand.IntN(len(movers))
		if round%2 == 0 { // perhaps while it has the lock
			if err := suspend(movers[i].cmd.Process); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				look()
			}
		}
		stored[movers[i].name] = movers[i].kill(t)
		movers[i] = startMover(t, dir, fmt.Sprint(round))
	}
	for _, m := range movers {
		stored[m.name] = m.kill(t)
	}
	moves, by := moved(t, store.Files(dir))
	for name, last := range stored {
		if by[name] < last {
			t.Errorf("%s has %d moves acknowledged, and %d are stored", name, last, by[name])
		}
	}
	t.Logf("%d moves, %d looks, the slowest two took %v; %d logs", moves, looks, slowest, len(logs))
	if moves < rounds || len(logs) < 5 {
		t.Errorf("%d moves in %d logs: the test shows nothing", moves, len(logs))
	}
	if _, err := store.Put(t.Context(), s, purseKey("end", "x"), nil, 0, store.Fence{}); err != nil {
		t.Error(err)
	}
}

// logName returns the first line of the log of records, which names it.
func logName(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, "p", "records.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return line
}
