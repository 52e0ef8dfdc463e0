package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/claude-agent-go/claude/store/internal/rule"
)

// logState is what a log of records says, as far as it was read. It is a value of its own,
// so that a log that cannot be read changes nothing.
type logState struct {
	project string
	id      string
	first   int64 // where the lines end that were written with the head
	end     int64 // up to where whole lines were read
	last    int64 // the highest revision
	set     recordSet
	texts   map[RecordKey]span // where the value of a record is
	live    int64              // about how long a log of these records alone would be
	lost    map[RecordKey]bool // records whose value is not what was written
	stale   []span             // values that were replaced, and not erased when the log was loaded
}

// span is a part of a file.
type span struct{ at, size int64 }

// maxHead is more than the first line of a log has.
const maxHead = 256

// readHead reads the first line of a log.
func readHead(f io.ReaderAt) (h logHead, size int64, err error) {
	text := make([]byte, maxHead)
	n, err := f.ReadAt(text, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return h, 0, fail(err)
	}
	end := bytes.IndexByte(text[:n], '\n')
	if end < 0 {
		return h, 0, damagedLog(0, errLine)
	}
	if h, err = decodeHead(text[:end]); err != nil {
		return h, 0, damagedLog(0, err)
	}
	return h, int64(end) + 1, rule.Layout(strconv.Itoa(h.Version), logVersion, ErrDamaged, ErrNewer)
}

func damagedLog(at int64, err error) error {
	return fmt.Errorf("claude: store: the log of records is %w at byte %d: %w", ErrDamaged, at, err)
}

// logReader is a file that is read while others write to it.
type logReader interface {
	io.ReaderAt
	Stat() (os.FileInfo, error)
}

// loadLog reads a log from its beginning. It hands the lines that were added since to tell.
func loadLog(project string, f logReader, tell func(logLine)) (*logState, logHead, error) {
	h, size, err := readHead(f)
	if err != nil {
		return nil, h, err
	}
	st := &logState{project: project, id: h.ID, first: size + h.Size, end: size, last: h.Revision,
		texts: make(map[RecordKey]span), lost: make(map[RecordKey]bool)}
	st.set.loading = true
	err = st.follow(f, tell)
	st.set.order()
	if err == nil && st.end < st.first {
		err = damagedLog(st.end, errLine)
	}
	return st, h, err
}

// follow reads what was added to the log. It takes no lock, so a line may be in the middle
// of being written, or a value of being erased: what looks damaged or cut off is read
// again, and counts as that if it stays as it is. The last line may look cut off because
// one that follows it by now has erased a value of it.
func (st *logState) follow(f logReader, tell func(logLine)) error {
	info, err := f.Stat()
	if err != nil {
		return fail(err)
	}
	if info.Size() < st.end {
		return damagedLog(st.end, fmt.Errorf("it has only %d bytes", info.Size()))
	}
	for {
		text, err := readFrom(f, st.end)
		if err != nil {
			return err
		}
		n, damage := st.take(text, tell)
		if n == len(text) && len(st.lost) == 0 {
			return nil
		}
		again, err := readFrom(f, st.end)
		if err != nil {
			return err
		}
		switch {
		case damage != nil && bytes.HasPrefix(again, text[n:]):
			return damage
		case damage == nil && bytes.Equal(again, text[n:]):
			return st.lostValue()
		}
	}
}

// readFrom returns all that a file has from a place on.
func readFrom(f logReader, at int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fail(err)
	}
	text := make([]byte, max(0, info.Size()-at))
	n, err := f.ReadAt(text, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fail(err)
	}
	return text[:n], nil
}

func (st *logState) lostValue() error {
	for k := range st.lost {
		return fmt.Errorf("claude: store: record %v: %w: its value is not what was written", k, ErrDamaged)
	}
	return nil
}

// take takes up whole lines, and returns how many bytes they have. What follows is being
// written, or was cut off, unless another line follows it: then it is damage.
func (st *logState) take(text []byte, tell func(logLine)) (int, error) {
	taken := 0
	for taken < len(text) {
		n := bytes.IndexByte(text[taken:], '\n') + 1
		if n == 0 {
			break
		}
		l, err := decodeLine(text[taken : taken+n-1])
		added := st.end >= st.first
		if taken+n == len(text) && added && (errors.Is(err, errLine) || !l.whole()) {
			break
		}
		if err == nil && added && l.Revision <= st.last {
			err = fmt.Errorf("revision %d follows %d", l.Revision, st.last)
		}
		if err != nil {
			return taken, damagedLog(st.end, err)
		}
		st.apply(l)
		st.end += int64(n)
		taken += n
		if added {
			st.last = l.Revision
			tell(l)
		}
	}
	return taken, nil
}

// apply makes the changes of a line, which begins at the end.
func (st *logState) apply(l logLine) {
	for _, c := range l.Changes {
		k := RecordKey{st.project, c.Kind, c.Name}
		if old, there := st.texts[k]; there {
			st.live -= old.size + cost(k)
			if st.set.loading && old.size > 0 && !st.lost[k] {
				st.stale = append(st.stale, old)
			}
		}
		delete(st.lost, k)
		if c.Drop {
			delete(st.texts, k)
			st.set.drop(k)
			continue
		}
		if c.bad {
			st.lost[k] = true
		}
		st.texts[k] = span{st.end + c.at, int64(c.Size)}
		st.live += int64(c.Size) + cost(k)
		st.set.put(Record{k, c.value, l.Revision})
	}
}

// cost is about how much of a line is not the value of its record.
func cost(k RecordKey) int64 { return int64(len(k.Kind)+len(k.Name)) + 100 }

// oversized reports whether most of a log is not needed any more.
func (st *logState) oversized() bool { return st.end > minLog && st.end > 4*st.live }

// minLog is up to which size a log is left as it is.
const minLog = 64 << 10

// plan returns the line that makes changes, and the new revisions. The line has no changes
// if there is nothing to write.
func (st *logState) plan(f Fence, changes []RecordChange, now int64) (logLine, []int64, error) {
	// The clock makes a revision that no record had before, even if the log was lost.
	l := logLine{Revision: max(now, st.last+1), Lease: f.Name, Token: f.Token}
	next := make([]int64, len(changes))
	for i, c := range changes {
		if err := st.set.fits(c); err != nil {
			return l, nil, err
		}
		switch {
		case c.Keep:
			next[i] = c.Revision
			continue
		case !c.Drop:
			next[i] = l.Revision
		}
		l.Changes = append(l.Changes, logChange{Kind: c.Key.Kind, Name: c.Key.Name, Drop: c.Drop, value: c.Value})
	}
	return l, next, nil
}

// replaces returns where the values are that a line replaces, and those that a crash of the
// machine has left, or that a writer was about to erase when the log was loaded.
func (st *logState) replaces(l logLine) []span {
	old := slices.Clone(st.stale)
	for _, c := range l.Changes {
		if s := st.texts[RecordKey{st.project, c.Kind, c.Name}]; s.size > 0 {
			old = append(old, s)
		}
	}
	return old
}

// announced returns the changes that a watcher learns of a line.
func (st *logState) announced(l logLine) []Changed {
	var by Fence
	if l.Lease != "" {
		by = Fence{st.project, l.Lease, l.Token}
	}
	all := make([]Changed, 0, len(l.Changes))
	for _, c := range l.Changes {
		one := Changed{Record: RecordKey{st.project, c.Kind, c.Name}, By: by}
		if !c.Drop {
			one.Revision = l.Revision
		}
		all = append(all, one)
	}
	return all
}
