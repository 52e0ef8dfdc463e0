package store

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/filelock"
)

// changingLog is a log that another process changes between two looks of a reader.
type changingLog struct {
	*bytes.Reader
	stats []func() // what happens after each request for the size
}

// sizedInfo is the state of a file of a size.
type sizedInfo struct {
	os.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }

func (l *changingLog) Stat() (os.FileInfo, error) {
	info := sizedInfo{size: l.Size()}
	if len(l.stats) > 0 {
		l.stats[0]()
		l.stats = l.stats[1:]
	}
	return info, nil
}

// A change that was there before a look began is seen by it, although its value is replaced
// and erased between the question how long the log is and the reading of it.
func TestFilesLogErasedMeanwhile(t *testing.T) {
	head, err := encodeLog("one", 0, new(recordSet))
	if err != nil {
		t.Fatal(err)
	}
	line := func(revision int64, changes ...logChange) []byte {
		text, err := encodeLine(logLine{Revision: revision, Changes: changes})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	value := func(name, value string) logChange {
		return logChange{Kind: "thing", Name: name, value: []byte(value)}
	}
	first := line(1, value("a", "first"), value("b", "it stays"))
	gone := bytes.Replace(first, []byte("Zmlyc3Q="), []byte("--------"), 1)
	if bytes.Equal(first, gone) {
		t.Fatal("nothing is erased: the test shows nothing")
	}
	second := line(2, value("a", "second"))
	for at := range 4 {
		f := &changingLog{Reader: bytes.NewReader(slices.Concat(head, first))}
		f.stats = append(slices.Repeat([]func(){func() {}}, at), func() { f.Reader = bytes.NewReader(slices.Concat(head, gone, second)) })
		st, _, err := loadLog("p", f, func(logLine) {})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(st.set.records[thing("b")].Value); got != "it stays" {
			t.Errorf("erased after look %d at the size: b is %q, and was written before", at, got)
		}
		if got := string(st.set.records[thing("a")].Value); got != "first" && got != "second" {
			t.Errorf("erased after look %d at the size: a is %q", at, got)
		}
	}
}

// Two processes may begin the news of a project at once. A watch that began before learns about
// both, or that it has missed something.
func TestFilesNewsBegunTwice(t *testing.T) {
	dir := t.TempDir()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reader := newsReader{project: "p", own: "reader"}
	read := func() (told int, missed bool) {
		t.Helper()
		news, missed, err := reader.read(r)
		if err != nil {
			t.Fatal(err)
		}
		return len(news), missed
	}
	if told, missed := read(); told > 0 || missed {
		t.Fatalf("nothing yet: %d, %v", told, missed)
	}
	item := newsItem{Store: "first", Released: "lease", Lease: "lease", Token: 1}
	if err := appendNews(r, newsPath("p"), item); err != nil {
		t.Fatal(err)
	}
	// The second has found no file before.
	if err := newNews(r, newsPath("p"), true); err != nil {
		t.Fatal(err)
	}
	item.Store = "second"
	if err := appendNews(r, newsPath("p"), item); err != nil {
		t.Fatal(err)
	}
	if told, missed := read(); told != 2 && !missed {
		t.Errorf("the first news: %d, missed %v", told, missed)
	}
	if told, missed := read(); told != 0 || missed {
		t.Errorf("then: %d, missed %v", told, missed)
	}
}

// logID returns the id of the log of records.
func logID(t *testing.T, dir string) string {
	t.Helper()
	f, err := os.Open(logOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h, _, err := readHead(f)
	if err != nil {
		t.Fatal(err)
	}
	return h.ID
}

// A process that reads the log for the first time while another one is about to erase a
// value has no reason to write the log anew. The others would have to read it from the
// beginning then, perhaps at such a moment, and so on.
func TestFilesLogReadBeforeErased(t *testing.T) {
	writer := Files(t.TempDir())
	writer.fsync = func(*os.File) error { return nil }
	revisions, err := writer.Change(t.Context(), Fence{}, RecordChange{Key: thing("a"), Value: []byte("first words")})
	if err != nil {
		t.Fatal(err)
	}
	reader := quickFiles(writer.dir)
	seen := ""
	writer.fsync = func(*os.File) error {
		got, err := things(t, reader)
		seen = got
		return err
	}
	if _, err := writer.Change(t.Context(), Fence{}, RecordChange{Key: thing("a"), Value: []byte("second"), Revision: revisions[0]}); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix([]byte(seen), []byte("a=second")) {
		t.Fatalf("it has read %q: the test shows nothing", seen)
	}
	before := logID(t, writer.dir)
	if _, err := reader.Change(t.Context(), Fence{}, RecordChange{Key: thing("b")}); err != nil {
		t.Fatal(err)
	}
	if logID(t, writer.dir) != before {
		t.Error("the log was written anew")
	}
	if hidden(t, logOf(writer.dir), "first words") {
		t.Error("the old value is there")
	}
}

// The names of a log are sorted when all of it is read: one by one, 200,000 that came in any
// order would take most of a minute.
func TestRecordSetLoading(t *testing.T) {
	s := recordSet{loading: true}
	for _, name := range []string{"c", "a/2", "d", "b", "a/1", "c"} {
		s.put(Record{thing(name), nil, 1})
		s.put(Record{RecordKey{"p", "other", name}, nil, 1})
		if len(s.names) > 0 {
			t.Fatal("names are sorted before all are there")
		}
	}
	s.drop(thing("d"))
	s.order()
	s.put(Record{thing("aa"), nil, 2})
	s.drop(thing("b"))
	if want := []string{"a/1", "a/2", "aa", "c"}; !slices.Equal(s.names["thing"], want) {
		t.Errorf("%v, want %v", s.names["thing"], want)
	}
	if want := []string{"a/1", "a/2", "b", "c", "d"}; !slices.Equal(s.names["other"], want) {
		t.Errorf("%v, want %v", s.names["other"], want)
	}
}

// A change that an older program had begun before the layout was raised is among those that
// are converted.
func TestFilesConvertWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := quickFiles(t.TempDir())
		folder := filepath.Join(s.dir, "p", oldRecords, "thing")
		file := filepath.Join(folder, "a"+valueEnd)
		write := func(text string) {
			t.Helper()
			if err := errors.Join(os.MkdirAll(folder, 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		write(`{"revision":1,"value":"b2xk"}`)
		lock, err := os.OpenFile(filepath.Join(folder, "c"+lockEnd), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer lock.Close()
		if err := filelock.Lock(t.Context(), lock); err != nil {
			t.Fatal(err)
		}
		if _, err := things(t, s); !errors.Is(err, ErrBusy) {
			t.Errorf("while an older program writes: %v", err)
		}
		write(`{"revision":2,"value":"bmV3"}`)
		lock.Close()
		if got, err := things(t, s); err != nil || got != "a=new@2\n" {
			t.Errorf("after that: %q, %v", got, err)
		}
		if _, err := os.Stat(filepath.Dir(folder)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the old records are there: %v", err)
		}
	})
}

// A watch that began before there were any news learns that it has missed some, if the first
// file that it finds has already taken the place of another.
func TestFilesNewsReplacedUnseen(t *testing.T) {
	r, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	reader := newsReader{project: "p", own: "reader"}
	if news, missed, err := reader.read(r); len(news) > 0 || missed || err != nil {
		t.Fatal(news, missed, err)
	}
	item := newsItem{Store: "other", Released: "lease", Lease: "lease", Token: 1}
	for _, err := range []error{appendNews(r, newsPath("p"), item), newNews(r, newsPath("p"), false), appendNews(r, newsPath("p"), item)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if news, missed, err := reader.read(r); len(news) != 1 || !missed || err != nil {
		t.Errorf("%d news, missed %v, %v", len(news), missed, err)
	}
	if news, missed, err := reader.read(r); len(news) > 0 || missed || err != nil {
		t.Errorf("again: %d news, missed %v, %v", len(news), missed, err)
	}
}

// A watch learns that a log is gone although another one is there by then.
func TestFilesWatchOtherLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		mine := quickFiles(t.TempDir())
		changeTwo(t, mine, "before")
		w := watch(ctx, mine)
		w.taken()
		if err := os.Remove(logOf(mine.dir)); err != nil {
			t.Fatal(err)
		}
		if _, err := quickFiles(mine.dir).Change(ctx, Fence{}, RecordChange{Key: thing("c")}); err != nil {
			t.Fatal(err)
		}
		<-time.After(pollEvery)
		if got := w.taken(); !strings.HasPrefix(got, "?") {
			t.Errorf("a log that was removed, and begun again: %q", got)
		}
	})
}
