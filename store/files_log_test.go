package store

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// quickFiles returns a store that does not wait for the disk.
func quickFiles(dir string) *FileStore {
	s := Files(dir)
	s.NoSync = true
	return s
}

func thing(name string) RecordKey { return RecordKey{Project: "p", Kind: "thing", Name: name} }

// things is all records of a store in one line each, with their revisions.
func things(t *testing.T, s *FileStore) (string, error) {
	t.Helper()
	all, err := s.View(t.Context(), View{Folders: []Folder{{Project: "p", Kind: "thing"}}})
	var out strings.Builder
	for _, r := range all {
		fmt.Fprintf(&out, "%s=%s@%d\n", r.Key.Name, r.Value, r.Revision)
	}
	return out.String(), err
}

// logOf returns where the log of records is.
func logOf(dir string) string { return filepath.Join(dir, "p", logFile) }

// unerased makes a log of changes as a machine leaves it that crashed before any value was
// erased. It returns the states of the records, with the size that the log had.
func unerased(t *testing.T, changes int) (text []byte, states []string, sizes []int) {
	t.Helper()
	set, revision := new(recordSet), int64(2)
	for _, name := range []string{"a/0", "y"} {
		set.put(Record{thing(name), []byte("from the beginning"), 1})
	}
	text, err := encodeLog("one", revision, set)
	if err != nil {
		t.Fatal(err)
	}
	states, sizes = []string{"a/0=from the beginning@1\ny=from the beginning@1\n"}, []int{len(text)}
	for i := range changes {
		revision++
		l := logLine{Revision: revision}
		for j := range 1 + i%4 {
			name := fmt.Sprintf("%c/%d", 'a'+j, i%3)
			c := logChange{Kind: "thing", Name: name, value: fmt.Appendf(nil, "value %d of %s", i, name)}
			if _, there := set.records[thing(name)]; i%5 == 4 && there {
				c.Drop, c.value = true, nil
				set.drop(thing(name))
			} else {
				set.put(Record{thing(name), c.value, revision})
			}
			l.Changes = append(l.Changes, c)
		}
		line, err := encodeLine(l)
		if err != nil {
			t.Fatal(err)
		}
		var state strings.Builder
		for _, r := range ordered(recordsOf(set)) {
			fmt.Fprintf(&state, "%s=%s@%d\n", r.Key.Name, r.Value, r.Revision)
		}
		text = append(text, line...)
		states, sizes = append(states, state.String()), append(sizes, len(text))
	}
	return text, states, sizes
}

// placed returns a store whose log of records has a text.
func placed(t *testing.T, dir string, text []byte) *FileStore {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(logOf(dir)), 0o700), os.WriteFile(logOf(dir), text, 0o600)); err != nil {
		t.Fatal(err)
	}
	return quickFiles(dir)
}

// Each prefix of a log reads as a whole number of changes, and the next change follows
// them, as if what was cut off had never been. What was there when the log got its name was
// synced before: without it the log is damaged.
func TestFilesLogPrefixes(t *testing.T) {
	text, states, sizes := unerased(t, long.Pick(12, 24))
	dir := t.TempDir()
	for n := 0; n <= len(text); n += long.Pick(11, 1) {
		s := placed(t, dir, text[:n])
		if n < sizes[0] {
			if got, err := things(t, s); !errors.Is(err, ErrDamaged) {
				t.Fatalf("%d bytes: %q, %v", n, got, err)
			}
			continue
		}
		at, whole := slices.BinarySearch(sizes, n)
		if !whole {
			at--
		}
		want := states[at]
		if got, err := things(t, s); err != nil || got != want {
			t.Fatalf("%d bytes: %v\n%swant\n%s", n, err, got, want)
		}
		next, err := s.Change(t.Context(), Fence{}, RecordChange{Key: thing("z"), Value: []byte("new")})
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		want += fmt.Sprintf("z=new@%d\n", next[0])
		for _, s := range []*FileStore{s, quickFiles(dir)} {
			if got, err := things(t, s); err != nil || got != want {
				t.Fatalf("%d bytes and a change: %v\n%swant\n%s", n, err, got, want)
			}
		}
	}
}

// A byte that is not what was written is noticed, unless it is in the last line, which
// then counts as cut off, or in a value that was replaced. Nothing is written then.
func TestFilesLogDamaged(t *testing.T) {
	text, states, sizes := unerased(t, 12)
	last := len(states) - 1
	dir, silent := t.TempDir(), 0
	for n := 0; n < len(text); n += long.Pick(7, 1) {
		bad := bytes.Clone(text)
		bad[n] ^= 1
		s := placed(t, dir, bad)
		got, err := things(t, s)
		switch {
		case n >= sizes[last-1]:
			if err != nil || got != states[last-1] {
				t.Fatalf("byte %d of the last line: %v\n%s", n, err, got)
			}
		case err == nil && got == states[last]:
			silent++
		case !errors.Is(err, ErrDamaged) || got != "":
			t.Fatalf("byte %d: %v\n%s", n, err, got)
		default:
			if _, err := s.Change(t.Context(), Fence{}, RecordChange{Key: thing("z")}); !errors.Is(err, ErrDamaged) {
				t.Fatalf("byte %d: Change = %v", n, err)
			}
			if now, err := os.ReadFile(logOf(dir)); err != nil || !bytes.Equal(now, bad) {
				t.Fatalf("byte %d: the log was changed, %v", n, err)
			}
		}
	}
	if silent == 0 || silent > len(text)/2 {
		t.Errorf("%d of %d bytes are of values that were replaced", silent, len(text))
	}
}

// hidden reports whether a file has a text, as it is or in base64 wherever that begins.
func hidden(t *testing.T, file, text string) bool {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(all) {
		for _, word := range bytes.Fields(line) {
			if plain, err := base64.StdEncoding.DecodeString(string(word)); err == nil && bytes.Contains(plain, []byte(text)) {
				return true
			}
		}
	}
	return bytes.Contains(all, []byte(text))
}

// A value that was replaced or dropped is not in the log any more.
func TestFilesLogForgets(t *testing.T) {
	s := quickFiles(t.TempDir())
	put := func(name, value string, revision int64) int64 {
		t.Helper()
		next, err := Put(t.Context(), s, thing(name), []byte(value), revision, Fence{})
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	other := put("other", "it stays", 0)
	first := put("a", "first words", 0)
	if !hidden(t, logOf(s.dir), "first words") {
		t.Fatal("it is not found where it is: the test shows nothing")
	}
	second := put("a", "second", first)
	if hidden(t, logOf(s.dir), "first words") || !hidden(t, logOf(s.dir), "second") {
		t.Error("a value that was replaced is there, or the new one is not")
	}
	if err := Drop(t.Context(), s, thing("a"), second, Fence{}); err != nil {
		t.Fatal(err)
	}
	if hidden(t, logOf(s.dir), "second") {
		t.Error("a value that was dropped is there")
	}
	for _, s := range []*FileStore{s, quickFiles(s.dir)} {
		if got, err := things(t, s); err != nil || got != fmt.Sprintf("other=it stays@%d\n", other) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// What a process did not come to erase, because it or the machine died, the next one that
// writes removes.
func TestFilesLogForgetsAfterCrash(t *testing.T) {
	text, _, sizes := unerased(t, 12)
	for name, crash := range map[string]func(dir string) *FileStore{
		"of the machine": func(dir string) *FileStore { return placed(t, dir, text) },
		"of the process": func(dir string) *FileStore {
			reader := placed(t, dir, text[:sizes[0]])
			if _, err := things(t, reader); err != nil { // it reads on from here
				t.Fatal(err)
			}
			placed(t, dir, text)
			if err := os.WriteFile(filepath.Join(dir, "p", logLockFile), []byte{markBegun}, 0o600); err != nil {
				t.Fatal(err)
			}
			return reader
		},
	} {
		dir := t.TempDir()
		s := crash(dir)
		before, err := things(t, s)
		if err != nil || !hidden(t, logOf(dir), "value 0 of a/0") {
			t.Fatalf("%s: %v, or the old value is not there: the test shows nothing", name, err)
		}
		next, err := Put(t.Context(), s, thing("z"), []byte("new"), 0, Fence{})
		if err != nil {
			t.Fatal(err)
		}
		if hidden(t, logOf(dir), "value 0 of a/0") {
			t.Errorf("%s: an old value is still there", name)
		}
		if got, err := things(t, quickFiles(dir)); err != nil || got != before+fmt.Sprintf("z=new@%d\n", next) {
			t.Errorf("%s: %v\n%swant\n%s and z", name, err, got, before)
		}
	}
}

// A value that is being erased while it is read is not damage if it was replaced. If
// nothing has replaced it, it is.
func TestFilesLogHalfErased(t *testing.T) {
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
	a := logChange{Kind: "thing", Name: "a", value: []byte("the old value")}
	half := line(1, a)
	at := bytes.LastIndexByte(half, ' ') + 1
	copy(half[at:], "------")
	for name, c := range map[string]struct {
		text []byte
		want string
		ok   bool
	}{
		"replaced": {slices.Concat(head, half, line(2, logChange{Kind: "thing", Name: "a", value: []byte("new")})), "a=new@2\n", true},
		"dropped":  {slices.Concat(head, half, line(2, logChange{Kind: "thing", Name: "a", Drop: true})), "", true},
		"neither":  {slices.Concat(head, half, line(2, logChange{Kind: "thing", Name: "b"})), "", false},
		"last":     {slices.Concat(head, half), "", true}, // it was cut off
		"again":    {slices.Concat(head, line(2, a), line(2, a)), "", false},
	} {
		got, err := things(t, placed(t, t.TempDir(), c.text))
		if got != c.want || c.ok != (err == nil) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A log that is much larger than what it holds is written anew. Revisions keep growing, also for
// names that it does not hold any more, and whatever the clock says.
func TestFilesLogRewritten(t *testing.T) {
	s := quickFiles(t.TempDir())
	other := quickFiles(s.dir)
	future := int64(1) << 60 // of a clock that was wrong for a while
	head, err := encodeLog("one", future, new(recordSet))
	if err != nil {
		t.Fatal(err)
	}
	placed(t, s.dir, head)
	last, revision, most := int64(0), int64(0), int64(0)
	value := bytes.Repeat([]byte("x"), 1000)
	for i := range 200 {
		writer := s
		if i%3 == 2 {
			writer = other
		}
		next, err := Put(t.Context(), writer, thing("a"), value, revision, Fence{})
		if err != nil || next <= last || next <= future {
			t.Fatalf("revision %d after %d, %v", next, last, err)
		}
		last, revision = next, next
		if i%10 == 9 {
			if err := Drop(t.Context(), writer, thing("a"), revision, Fence{}); err != nil {
				t.Fatal(err)
			}
			revision = 0
		}
		info, err := os.Stat(logOf(s.dir))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, info.Size())
	}
	if most < minLog || most > minLog+4096 {
		t.Errorf("the log had up to %d bytes, and one record", most)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "p", logNewFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a log in the making is left: %v", err)
	}
}

// A log of a newer program is refused by every method, and left as it is.
func TestFilesLogNewer(t *testing.T) {
	line, err := encodeHead(logHead{Version: logVersion + 1, ID: "one"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s := placed(t, dir, line)
	_, errView := things(t, s)
	_, errChange := s.Change(t.Context(), Fence{}, RecordChange{Key: thing("a")})
	var errScan, errWatch error
	for _, errScan = range s.Scan(t.Context(), Folder{Project: "p", Kind: "thing"}, "") {
	}
	for _, errWatch = range s.Watch(t.Context(), "p") {
		if errWatch != nil {
			break
		}
	}
	for name, err := range map[string]error{"View": errView, "Change": errChange, "Scan": errScan, "Watch": errWatch} {
		if !errors.Is(err, ErrNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now, err := os.ReadFile(logOf(dir)); err != nil || !bytes.Equal(now, line) {
		t.Errorf("the log is %q, %v", now, err)
	}
}

// A log that begins anew because the last one was lost gives no revision a second time: a
// change that is based on a record of before does not fit.
func TestFilesLogLost(t *testing.T) {
	dir := t.TempDir()
	was, err := Put(t.Context(), quickFiles(dir), thing("a"), []byte("one"), 0, Fence{})
	if err == nil {
		err = os.Remove(logOf(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	s := quickFiles(dir)
	if _, err := Put(t.Context(), s, thing("a"), []byte("two"), 0, Fence{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Put(t.Context(), s, thing("a"), []byte("three"), was, Fence{}); !errors.Is(err, ErrConflict) {
		t.Errorf("a change that is based on the lost record: %v", err)
	}
}
