package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/claude-agent-go/claude/internal/durable"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// ErrNotStored means that entries of a transcript could not be stored. The
// error is a [*NotStoredError].
var ErrNotStored = errors.New("not stored")

// NotStoredError means that a session has said something that its store does
// not have. It matches [ErrNotStored].
type NotStoredError struct {
	// Journal is the file that has the missing entries; [ImportJournal] stores
	// them. "" if they could not be kept; Err then holds the reason.
	Journal string
	// Err is why they are not stored.
	Err error
}

// Error names the journal and the reason.
func (e *NotStoredError) Error() string {
	text := "claude: store: entries are not stored"
	if e.Journal != "" {
		text += ", but kept in " + e.Journal
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns ErrNotStored and Err.
func (e *NotStoredError) Unwrap() []error { return []error{ErrNotStored, e.Err} }

// Journal is a file for batches that a store does not take at the moment. Each
// batch is on disk when Append returns. It must not be used concurrently.
//
// The file has a line of JSON for each batch, followed by its entries, one per
// line, as the CLI wrote them.
type Journal struct {
	file  journalFile
	size  int64 // of the batches
	dirty bool  // there may be part of another one behind them
}

// journalFile is the part of os.File that a journal uses.
type journalFile interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
	Name() string
}

// journalHead is the line before the entries of a batch.
type journalHead struct {
	Journal int    `json:"journal"` // the version of the format
	Project string `json:"project"`
	Session string `json:"session"`
	Sub     string `json:"sub,omitzero"`
	Batch   string `json:"batch"`
	Entries int    `json:"entries"`
}

// CreateJournal makes a journal in a directory, which it creates if there is
// none. Only this user can read it. It is not removed unless Remove is called.
func CreateJournal(dir, session string) (*Journal, error) {
	if err := private.MkdirAll(dir); err != nil {
		return nil, fail(err)
	}
	name := filepath.Join(dir, session+"-"+uuid.New()+".journal")
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	if err := durable.Dir(dir); err != nil {
		return nil, errors.Join(fail(err), f.Close(), os.Remove(name))
	}
	return &Journal{file: f}, nil
}

// Path returns the name of the file.
func (j *Journal) Path() string { return j.file.Name() }

// Size returns how many bytes the batches in the journal take, which is where
// the next one begins.
func (j *Journal) Size() int64 { return j.size }

// Append writes a batch to the end of the journal. If it fails, for example
// because the disk is full, the journal has all batches before this one and
// nothing of it, so it may be tried again.
func (j *Journal) Append(k Key, b Batch) error {
	head, err := json.Marshal(journalHead{1, k.Project, k.Session, k.Sub, b.ID, len(b.Entries)})
	if err != nil {
		return fail(err)
	}
	var text bytes.Buffer
	text.Write(head)
	text.WriteByte('\n')
	for _, e := range b.Entries {
		text.Write(e)
		text.WriteByte('\n')
	}
	if err := j.cut(); err != nil {
		return err
	}
	j.dirty = true
	if _, err := j.file.WriteAt(text.Bytes(), j.size); err != nil {
		return errors.Join(fail(err), j.cut())
	}
	if err := j.file.Sync(); err != nil {
		return errors.Join(fail(err), j.cut())
	}
	j.size, j.dirty = j.size+int64(text.Len()), false
	return nil
}

// cut removes what a failed Append has left. If that fails too, the next one
// must succeed with it before it writes: part of a batch between others would
// make the journal unreadable from there on.
func (j *Journal) cut() error {
	if !j.dirty {
		return nil
	}
	if err := j.file.Truncate(j.size); err != nil {
		return fail(err)
	}
	j.dirty = false
	return nil
}

// Close closes the file and leaves it where it is.
func (j *Journal) Close() error { return j.file.Close() }

// Remove closes the file and removes it.
func (j *Journal) Remove() error { return errors.Join(j.file.Close(), os.Remove(j.Path())) }

// JournalBatch is a batch of a journal.
type JournalBatch struct {
	Key   Key
	Batch Batch // without a fence
}

// ReadJournal yields the batches of a journal, in order. If its writer was
// killed, the last batch has only the entries that were written whole. A line
// that does not belong there ends the loop with an error that matches
// [ErrDamaged].
func ReadJournal(path string) iter.Seq2[JournalBatch, error] {
	return func(yield func(JournalBatch, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(JournalBatch{}, fail(err))
			return
		}
		defer f.Close()
		lines := bufio.NewReader(f)
		for {
			b, err := readBatch(lines)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(JournalBatch{}, fmt.Errorf("claude: store: journal %s: %w", path, err))
				return
			}
			if !yield(b, nil) {
				return
			}
		}
	}
}

// readBatch reads a batch. A last line without its line feed was cut off.
func readBatch(lines *bufio.Reader) (b JournalBatch, err error) {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return b, err
	}
	var head journalHead
	if err := json.Unmarshal(line, &head); err != nil || head.Journal != 1 || head.Entries < 0 {
		return b, fmt.Errorf("%w: a line does not begin a batch", ErrDamaged)
	}
	b.Key = Key{Project: head.Project, Session: head.Session, Sub: head.Sub}
	b.Batch.ID = head.Batch
	for range head.Entries {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return b, err
		}
		b.Batch.Entries = append(b.Batch.Entries, Entry(bytes.TrimSuffix(line, []byte("\n"))))
	}
	if err := b.Batch.Check(b.Key); err != nil {
		return b, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return b, nil
}
