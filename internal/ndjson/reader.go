// Package ndjson frames a byte stream as lines: one JSON value a line, the
// line feed its only separator.
//
// A [Reader] hands out lines whatever way the bytes arrive, skips blank ones,
// and treats a line over the limit or a line cut off by the end of the stream
// as an event of its own: the stream before and after it stays usable. A
// [Writer] writes one line with one call and lets no other line in between.
//
// The package knows nothing of JSON beyond its line discipline.
package ndjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// The buffer is small until reads fill it: thousands of sessions may wait at
// once, and few of them in the middle of a burst.
const (
	minBuffer     = 4 << 10
	maxBuffer     = 32 << 10
	shrinkAfter   = 16       // small reads in a row that make it small again
	minSharedRead = 16 << 10 // of one read: its lines need not be copied
	longChunk     = 64 << 10 // what a pipe holds
	headSize      = 1 << 10
	warnSize      = 1 << 20
	maxEmpty      = 100
)

// DefaultLimit is the longest line a Reader buffers unless told otherwise.
// Lines of 20 MB were seen from the CLI.
const DefaultLimit = 64 << 20

// TooLongError reports a line over the limit. The Reader has drained it
// without keeping it; the next call continues with the line after it. Its text
// holds nothing of the line, which may be confidential; Head does.
type TooLongError struct {
	Size int64  // whole length of the line
	Head []byte // its first bytes
}

func (e *TooLongError) Error() string {
	return fmt.Sprintf("line of %d bytes is over the limit and was dropped", e.Size)
}

// TruncatedError reports that the stream ended in the middle of a line, or with
// a line that lacks nothing but its line feed: only a caller that knows how the stream
// ended, and what a line may hold, can tell.
type TruncatedError struct {
	Size int64
	Head []byte
	Line []byte // all of it, without a carriage return; nil if it is over the limit
}

func (e *TruncatedError) Error() string {
	return fmt.Sprintf("stream ended inside a line, after %d bytes of it", e.Size)
}

// Reader reads lines from a stream. It is not safe for concurrent use.
type Reader struct {
	// Limit is the longest line that is buffered; 0 means DefaultLimit.
	Limit int
	// OnLongLine, if set, is called once for each line that passes 1 MiB without a
	// line feed, while the line is still being read.
	OnLongLine func(size int)
	// ShortLived, if set, recognizes lines that are soon forgotten. When many of them
	// come at once they share the buffer instead of being copied, and all memory that was read with them lives
	// as long as one of them does: at most twice their own length, see Retained.
	ShortLived func(line []byte) bool
	// BeforeRead, if set, is called before each read of the stream: anyone
	// waiting for the lines so far should get them now, because the next may be
	// long in coming.
	BeforeRead func()
	// PauseLikely, if set, reports whether a long pause is likely. The buffer that waits
	// for its end is a small one.
	PauseLikely func() bool

	src         io.Reader
	buf         []byte // reused, if lines are copied out
	sharedBytes int    // bytes of the lines in buf that may share it, 0 if all are copied
	shared      bool   // lines were given out that are parts of buf
	retained    int
	piece       []byte // of the last long line, for the next one
	r, w        int    // unread part of buf
	smallReads  int    // small reads in a row
	begun       bool
	err         error // sticky end of src
}

// NewReader returns a Reader on src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, buf: make([]byte, minBuffer)}
}

// Next returns the next line that is not blank, without its line ending. The
// caller owns the bytes. A [TooLongError] leaves the Reader usable; any other
// error is final and returned again by every later call, a [TruncatedError]
// as io.EOF.
func (r *Reader) Next() ([]byte, error) {
	for {
		line, err := r.line()
		if err != nil {
			return nil, err
		}
		if line = r.trim(line); len(line) > 0 {
			return line, nil
		}
	}
}

// Retained returns how much memory the last line keeps from being freed: its own,
// or its share of a buffer that it shares.
func (r *Reader) Retained() int { return r.retained }

func (r *Reader) limit() int {
	if r.Limit > 0 {
		return r.Limit
	}
	return DefaultLimit
}

// trim drops a carriage return, a byte order mark at the start of the stream,
// and makes a line of blanks empty.
func (r *Reader) trim(line []byte) []byte {
	if !r.begun {
		r.begun = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > 0 && line[0] > ' ' {
		return line
	}
	if len(bytes.TrimLeft(line, " \t\r")) == 0 {
		return nil
	}
	return line
}

// line returns the next line, without its line feed.
func (r *Reader) line() ([]byte, error) {
	scanned := 0
	for {
		if i := bytes.IndexByte(r.buf[r.r+scanned:r.w], '\n'); i >= 0 {
			line := r.buf[r.r : r.r+scanned+i]
			r.r += scanned + i + 1
			if len(line) > r.limit() {
				return nil, tooLong(line, int64(len(line)))
			}
			if r.sharedBytes > 0 && r.ShortLived(line) {
				r.shared = true
				r.retained = (len(line)*len(r.buf) + r.sharedBytes - 1) / r.sharedBytes
				return line[:len(line):len(line)], nil
			}
			line = bytes.Clone(line)
			r.retained = cap(line)
			return line, nil
		}
		scanned = r.w - r.r
		if scanned >= maxBuffer {
			return r.longLine()
		}
		if err := r.fill(); err != nil {
			return r.endOfStream(err)
		}
	}
}

// fill reads once into buf, moving the unread part to its front for room.
func (r *Reader) fill() error {
	unread := r.buf[r.r:r.w]
	switch {
	case len(r.buf) > minBuffer && len(unread) == 0 && r.smallWillDo():
		r.replaceBuffer(minBuffer)
		r.piece = nil
	case r.shared:
		r.replaceBuffer(maxBuffer)
	case r.w == len(r.buf) && len(r.buf) < maxBuffer: // the last read filled it
		r.buf = make([]byte, min(4*len(r.buf), maxBuffer))
	}
	r.w, r.r = copy(r.buf, unread), 0
	n, err := r.read(r.buf[r.w:])
	r.w += n
	if r.smallReads++; n > minBuffer/2 {
		r.smallReads = 0
	}
	r.decideSharing(n)
	return err
}

// decideSharing decides whether lines share buf, after a read of n bytes. They
// must make up half of it: a single short line would keep all of it alive.
func (r *Reader) decideSharing(n int) {
	r.sharedBytes = 0
	if n < minSharedRead || r.ShortLived == nil {
		return
	}
	sum := 0
	for rest := r.buf[r.r:r.w]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		if i <= r.limit() && r.ShortLived(rest[:i]) {
			sum += i
		}
		rest = rest[i+1:]
	}
	if 2*sum >= len(r.buf) {
		r.sharedBytes = sum
	}
}

// replaceBuffer gives up a buffer that lines may share.
func (r *Reader) replaceBuffer(size int) { r.buf, r.shared = make([]byte, size), false }

// smallWillDo reports whether a small buffer is enough: little comes, or nothing.
func (r *Reader) smallWillDo() bool {
	return r.smallReads >= shrinkAfter || r.PauseLikely != nil && r.PauseLikely()
}

// read returns at least one byte or an error.
func (r *Reader) read(p []byte) (int, error) {
	for range maxEmpty {
		if r.err != nil {
			return 0, r.err
		}
		if r.BeforeRead != nil {
			r.BeforeRead()
		}
		n, err := r.src.Read(p)
		r.err = err
		if n > 0 {
			return n, nil
		}
	}
	if r.err == nil {
		r.err = io.ErrNoProgress
	}
	return 0, r.err
}

// endOfStream turns the end of the stream inside a line into its error.
func (r *Reader) endOfStream(err error) ([]byte, error) {
	rest := r.buf[r.r:r.w]
	r.r = r.w
	return nil, r.truncated(bytes.Clone(rest), err)
}

func (r *Reader) truncated(rest []byte, err error) error {
	if !errors.Is(err, io.EOF) || len(bytes.TrimSpace(rest)) == 0 {
		return err
	}
	e := &TruncatedError{Size: int64(len(rest)), Head: bytes.Clone(rest[:min(len(rest), headSize)])}
	if len(rest) <= r.limit() {
		e.Line = r.trim(rest)
	}
	return e
}

// longLine reads a line that does not fit buf.
func (r *Reader) longLine() ([]byte, error) {
	limit := r.limit()
	line := pieces{spare: r.piece}
	defer func() { r.piece = line.list[0][:0] }()
	line.add(r.buf[r.r:r.w])
	// No line shares buf: that would be half of it, the unread part is
	// maxBuffer or more, and keepRest makes it smaller than both together.
	r.r, r.w = 0, 0
	warned := false
	for {
		if line.size > limit {
			return nil, r.drain(line.list[0], line.size)
		}
		if line.size > warnSize && !warned && r.OnLongLine != nil {
			warned = true
			r.OnLongLine(line.size)
		}
		room := line.room()
		room = room[:min(len(room), longChunk)]
		n, err := r.read(room)
		if err != nil {
			return nil, r.truncated(line.join(), err)
		}
		i := bytes.IndexByte(room[:n], '\n')
		if i < 0 {
			line.grow(n)
			continue
		}
		line.grow(i)
		r.keepRest(room[i+1 : n])
		if line.size > limit {
			return nil, tooLong(line.list[0], int64(line.size))
		}
		whole := line.join()
		r.retained = cap(whole)
		return whole, nil
	}
}

// keepRest puts what follows a long line into buf.
func (r *Reader) keepRest(rest []byte) {
	if len(rest) > len(r.buf) {
		r.buf = make([]byte, max(len(rest), maxBuffer))
	}
	r.w = copy(r.buf, rest)
	r.decideSharing(r.w)
}

// drain reads past the rest of an oversized line, keeping only its head.
func (r *Reader) drain(begin []byte, read int) error {
	head, size := bytes.Clone(begin[:headSize]), int64(read)
	for {
		n, err := r.read(r.buf)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return &TruncatedError{Size: size, Head: head}
			}
			return err
		}
		if i := bytes.IndexByte(r.buf[:n], '\n'); i >= 0 {
			r.r, r.w = i+1, n
			r.decideSharing(n)
			return tooLong(head, size+int64(i))
		}
		size += int64(n)
	}
}

func tooLong(line []byte, size int64) error {
	return &TooLongError{Size: size, Head: bytes.Clone(line[:min(len(line), headSize)])}
}
