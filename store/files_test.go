package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/test/need"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storetest"
)

// TestMain lets the test binary be a process that appends until it is killed, or
// until it has lost its lease.
func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_OWN"); dir != "" {
		os.Exit(storetest.Own(store.Files(dir)))
	}
	if dir := os.Getenv("STORE_TEST_RECORDS"); dir != "" {
		moveForEver(dir, os.Getenv("STORE_TEST_NAME"))
		return
	}
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		appendForEver(dir, os.Getenv("STORE_TEST_NAME"))
		return
	}
	os.Exit(m.Run())
}

var key = store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}

// size is how many entries a batch of appendForEver has.
const size = 5

// appendForEver appends batches and prints the number of each that was stored.
func appendForEver(dir, name string) {
	s := store.Files(dir)
	s.NoSync = true // the machine does not crash, and there are more appends to cut
	for i := 0; ; i++ {
		b := store.Batch{ID: fmt.Sprintf("%s-%d", name, i)}
		for j := range size {
			b.Entries = append(b.Entries, store.Entry(fmt.Sprintf(`{"uuid":"%s-%d-%d","pad":%q}`, name, i, j, strings.Repeat("x", 500*j))))
		}
		if err := s.Append(context.Background(), key, b); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

// Processes that append to one transcript are killed at any moment. What they
// were told is stored is there, nothing is there in part, and the next process
// continues.
func TestFilesSurviveKills(t *testing.T) {
	dir := t.TempDir()
	stored := make(map[string]int) // by writer: the last batch that was acknowledged
	for round := range 12 {
		var children []*exec.Cmd
		var lines []chan int
		enough := make(chan struct{}, 4) // a writer has stored so many batches
		for w := range 2 {
			name := fmt.Sprintf("r%d-w%d", round, w)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir, "STORE_TEST_NAME="+name)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			last := make(chan int, 1)
			many := rand.IntN(30)
			go func() {
				defer func() { enough <- struct{}{} }() // even if it fails
				n := -1
				for in := bufio.NewScanner(out); in.Scan(); {
					if _, err := fmt.Sscan(in.Text(), &n); err != nil {
						t.Errorf("writer %s: %s", name, in.Text())
					}
					if n == many {
						enough <- struct{}{}
					}
				}
				last <- n
			}()
			children, lines = append(children, cmd), append(lines, last)
		}
		<-enough // it is in the middle of the next one
		for w, cmd := range children {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			n := <-lines[w]
			_ = cmd.Wait() // it was killed
			stored[fmt.Sprintf("r%d-w%d", round, w)] = n
		}
		checkBatches(t, store.Files(dir), stored)
	}
	total := 0
	for _, n := range stored {
		total += n + 1
	}
	t.Logf("%d batches of %d writers", total, len(stored))
	if total == 0 {
		t.Error("nothing was stored: the test shows nothing")
	}
	// The store still works.
	if err := store.Files(dir).Append(t.Context(), key, store.Batch{Entries: []store.Entry{[]byte(`{"uuid":"end"}`)}}); err != nil {
		t.Error(err)
	}
}

// checkBatches wants every batch whole, and all that were acknowledged.
func checkBatches(t *testing.T, s store.Transcripts, stored map[string]int) {
	t.Helper()
	count := make(map[string]int) // of entries, by batch
	for e, err := range store.Entries(t.Context(), s, key) {
		if errors.Is(err, store.ErrNotFound) {
			break // nothing had been stored yet
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Check(); err != nil {
			t.Fatalf("%v: %s", err, e)
		}
		id := e.UUID()
		count[id[:strings.LastIndexByte(id, '-')]]++
	}
	for b, n := range count {
		if n != size {
			t.Errorf("batch %s has %d entries", b, n)
		}
	}
	for w, last := range stored {
		for i := range last + 1 {
			if count[fmt.Sprintf("%s-%d", w, i)] == 0 {
				t.Errorf("batch %d of writer %s is lost", i, w)
			}
		}
	}
}

// layout returns where the files of key are.
func layout(dir string) (data, commits string) {
	base := filepath.Join(dir, "p", "sessions", key.Session)
	return base + ".jsonl", base + ".commits"
}

func add(t *testing.T, s store.Transcripts, lines ...string) {
	t.Helper()
	b := store.Batch{ID: uuid.New()}
	for _, l := range lines {
		b.Entries = append(b.Entries, store.Entry(l))
	}
	if err := s.Append(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, s store.Transcripts) (got string, err error) {
	t.Helper()
	for e, e2 := range store.Entries(t.Context(), s, key) {
		if e2 != nil {
			return got, e2
		}
		got += string(e)
	}
	return got, nil
}

func TestFilesCutOff(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, data, commits string){
		"data without a commit": func(t *testing.T, data, commits string) { extend(t, data, `{"uuid":"lost"}`+"\n"+`{"uu`) },
		"a commit in part": func(t *testing.T, data, commits string) {
			extend(t, data, `{"uuid":"lost"}`+"\n")
			extend(t, commits, "99")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := store.Files(dir)
			add(t, s, `{"uuid":"1"}`)
			data, commits := layout(dir)
			damage(t, data, commits)
			for _, s := range []store.Transcripts{s, store.Files(dir)} {
				if got, err := load(t, s); err != nil || got != `{"uuid":"1"}` {
					t.Fatalf("Load = %s, %v", got, err)
				}
			}
			add(t, store.Files(dir), `{"uuid":"2"}`)
			add(t, s, `{"uuid":"3"}`)
			if got, err := load(t, s); err != nil || got != `{"uuid":"1"}{"uuid":"2"}{"uuid":"3"}` {
				t.Errorf("Load = %s, %v", got, err)
			}
			if text, err := os.ReadFile(data); err != nil || strings.Contains(string(text), "lost") {
				t.Errorf("the file is %s, %v", text, err)
			}
		})
	}
}

func extend(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What was acknowledged and is not there is not passed over in silence.
func TestFilesDamaged(t *testing.T) {
	for name, damage := range map[string]func(data, commits string) error{
		"data cut short": func(data, commits string) error { return os.Truncate(data, 3) },
		"data emptied":   func(data, commits string) error { return os.Truncate(data, 0) },
		"odd commits":    func(data, commits string) error { return os.WriteFile(commits, []byte("hello\n"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			add(t, store.Files(dir), `{"uuid":"1"}`, `{"uuid":"2"}`)
			if err := damage(layout(dir)); err != nil {
				t.Fatal(err)
			}
			if got, err := load(t, store.Files(dir)); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Load = %s, %v", got, err)
			}
			if err := store.Files(dir).Append(t.Context(), key, store.Batch{Entries: []store.Entry{[]byte(`{"uuid":"3"}`)}}); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("Append = %v", err)
			}
		})
	}
}

// A transcript that was put there by hand is accepted unchanged.
func TestFilesByHand(t *testing.T) {
	dir := t.TempDir()
	data, _ := layout(dir)
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte("{\"uuid\":\"1\"}\n\n{\"uuid\":\"2\"}\n{\"cut"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := store.Files(dir)
	if got, err := load(t, s); err != nil || got != `{"uuid":"1"}{"uuid":"2"}` {
		t.Errorf("Load = %s, %v", got, err)
	}
	add(t, s, `{"uuid":"2"}`, `{"uuid":"3"}`)
	if got, err := load(t, store.Files(dir)); err != nil || got != `{"uuid":"1"}{"uuid":"2"}{"uuid":"3"}` {
		t.Errorf("Load = %s, %v", got, err)
	}
}

// No link leads out of the directory.
func TestFilesStayInside(t *testing.T) {
	need.Symlinks.Test(t)
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret.jsonl")
	if err := os.WriteFile(secret, []byte("{\"uuid\":\"secret\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(dir string) error{
		"the file": func(dir string) error { data, _ := layout(dir); return os.Symlink(secret, data) },
		"the folder": func(dir string) error {
			os.RemoveAll(filepath.Join(dir, "p"))
			return os.Symlink(outside, filepath.Join(dir, "p"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			data, _ := layout(dir)
			if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := link(dir); err != nil {
				t.Skip(err) // Windows lets few make links
			}
			s := store.Files(dir)
			if got, err := load(t, s); err == nil || got != "" {
				t.Errorf("Load = %q, %v", got, err)
			}
			if err := s.Append(t.Context(), key, store.Batch{Entries: []store.Entry{[]byte(`{"uuid":"x"}`)}}); err == nil {
				t.Error("Append follows a link")
			}
			if text, _ := os.ReadFile(secret); string(text) != "{\"uuid\":\"secret\"}\n" {
				t.Errorf("the file outside is %s", text)
			}
			if found, _ := os.ReadDir(outside); len(found) != 1 {
				t.Errorf("outside there is %v", found)
			}
		})
	}
}

// Everything belongs to the user alone.
func TestFilesArePrivate(t *testing.T) {
	dir := t.TempDir()
	s := store.Files(filepath.Join(dir, "store"))
	add(t, s, `{"uuid":"1"}`)
	lease, err := s.Acquire(t.Context(), "p", "c", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Put(t.Context(), s, store.RecordKey{Project: "p", Kind: "k", Name: "n"}, nil, 0, lease.Fence); err != nil {
		t.Fatal(err)
	}
	for range s.List(t.Context(), "p") {
	}
	n := 0
	err = filepath.Walk(filepath.Join(dir, "store"), func(path string, info os.FileInfo, err error) error {
		if err == nil && need.FileModes.Here() && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		n++
		return err
	})
	if err != nil || n < 8 {
		t.Errorf("%d files, %v", n, err)
	}
}

// A directory that cannot be used is an error, and reading makes none.
func TestFilesDirectory(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing")
	s := store.Files(missing)
	if _, err := load(t, s); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Load = %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("reading made the directory")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s = store.Files(file)
	if err := s.Append(t.Context(), key, store.Batch{Entries: []store.Entry{[]byte(`{}`)}}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Append = %v", err)
	}
	if _, err := load(t, s); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("Load of a file that is not a directory = %v", err)
	}
}

// A lock that is never freed, because its owner is suspended, ends in an error. A
// context that ends earlier counts.
func TestFilesBusy(t *testing.T) {
	for _, file := range []string{"p/leases/n.lock", "p/sessions/" + key.Session + ".commits"} {
		t.Run(path.Ext(file), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := store.Files(dir)
				l, err := s.Acquire(t.Context(), "p", "n", "ada", time.Hour)
				if err != nil {
					t.Fatal(err)
				}
				batch := store.Batch{ID: uuid.New(), Fence: l.Fence, Entries: []store.Entry{store.Entry(`{"type":"user"}`)}}
				if err := s.Append(t.Context(), key, batch); err != nil {
					t.Fatal(err)
				}
				lock, err := os.OpenFile(filepath.Join(dir, file), os.O_RDWR, 0)
				if err != nil {
					t.Fatal(err)
				}
				if err := filelock.Lock(t.Context(), lock); err != nil {
					t.Fatal(err)
				}
				write := func(ctx context.Context) error {
					batch.ID = uuid.New()
					return s.Append(ctx, key, batch)
				}
				if strings.Contains(file, "leases") {
					if _, err := s.Acquire(t.Context(), "p", "n", "bob", time.Hour); !errors.Is(err, store.ErrBusy) {
						t.Errorf("Acquire: %v", err)
					}
				}
				begin := time.Now()
				if err := write(t.Context()); !errors.Is(err, store.ErrBusy) || time.Since(begin) > 30*time.Second {
					t.Errorf("locked: %v after %v", err, time.Since(begin))
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := write(ctx); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("locked, with a context: %v", err)
				}
				lock.Close()
				if err := write(t.Context()); err != nil {
					t.Errorf("unlocked: %v", err)
				}
			})
		})
	}
}

// A version that another program writes at the same moment is not written over. Here it is
// one that cannot be read, so nothing is stored.
func TestFilesLayoutTaken(t *testing.T) {
	t.Parallel()
	need.Symlinks.Test(t)
	dir := t.TempDir()
	mark := filepath.Join(dir, ".layout")
	if err := os.Symlink("nowhere", mark); err != nil {
		t.Fatal(err)
	}
	if err := store.Files(dir).Append(t.Context(), key, store.Batch{Entries: []store.Entry{[]byte(`{"uuid":"a"}`)}}); err == nil {
		t.Error("it was stored")
	}
	if to, err := os.Readlink(mark); err != nil || to != "nowhere" {
		t.Errorf("the mark is %q (%v)", to, err)
	}
}

// A transcript that is deleted and written anew while it is read is whole or missing: the
// reader never applies the commits of one to the data of the other.
func TestFilesReadWhileWrittenAnew(t *testing.T) {
	t.Parallel()
	s := store.Files(t.TempDir())
	s.NoSync = true
	k := key
	k.Sub = "subagents/agent-1"
	lives := long.Pick(150, 2000)
	long, short := strings.Repeat("l", 1500), strings.Repeat("s", 10)
	ctx, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	writer.Go(func() {
		defer stop()
		for i := range lives {
			if ctx.Err() != nil {
				return
			}
			pad := long
			if i%2 == 1 {
				pad = short
			}
			for part := range 3 {
				e := store.Entry(fmt.Sprintf(`{"uuid":"%d-%d","pad":%q}`, i, part, pad))
				if err := s.Append(t.Context(), k, store.Batch{ID: fmt.Sprintf("%d-%d", i, part), Entries: []store.Entry{e}}); err != nil {
					t.Errorf("Append: %v", err)
					return
				}
			}
			if err := s.Delete(t.Context(), k, store.Fence{}); err != nil {
				t.Errorf("Delete: %v", err)
				return
			}
		}
	})
	for ctx.Err() == nil {
		life, n := "", 0
		for e, err := range s.Load(t.Context(), k, 0) {
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil {
				t.Fatalf("Load: %v", err)
			}
			at, part, _ := strings.Cut(e.Entry.UUID(), "-")
			if n > 0 && at != life || part != fmt.Sprint(n) {
				t.Fatalf("entry %d of %s is %s", n, life, e.Entry.UUID())
			}
			life, n = at, n+1
		}
	}
}
