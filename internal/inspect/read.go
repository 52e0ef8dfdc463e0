package inspect

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/ndjson"
	"github.com/claude-agent-go/claude/internal/secret"
	"github.com/claude-agent-go/claude/internal/show"
)

// Options say how a recording is read.
type Options struct {
	// Title is that of the session, if it is known. Otherwise the recording may
	// say it.
	Title string
	// Source names the recording in the report.
	Source string
	// Secrets are hidden, besides those that are known by form and by name.
	// [Read] adds what the recording itself marks as secret.
	Secrets *secret.Set
	// ShowSecrets hides nothing.
	ShowSecrets bool
	// Compare fills [Report.Changed].
	Compare bool
}

// FormatError means that a file is not a recording.
type FormatError struct {
	Line int
	Err  error
}

func (e *FormatError) Error() string {
	if e.Line == 0 {
		return "not a recording: it is empty"
	}
	return fmt.Sprintf("not a recording: line %d: %v", e.Line, e.Err)
}

// Unwrap returns the problem with the line.
func (e *FormatError) Unwrap() error { return e.Err }

const (
	// lineLimit is the longest line that is kept. The message inside may be as
	// long as a frame may be, and is escaped once at most.
	lineLimit = 2*ndjson.DefaultLimit + 1<<10

	// lastMS is the latest time that is believed: three years.
	lastMS = 1e11

	// headLimit is how much of a line that cannot be read is kept.
	headLimit = 4 << 10
)

// The problems that a line can have.
var (
	errNoEnvelope = errors.New("it has no dir and msg")
	errCut        = errors.New("the file ends inside it")
)

// Read reads a recording. The error comes from reading, or is a [*FormatError]
// if no line belongs to a recording.
func Read(r io.Reader, o *Options) (*Report, error) {
	if o == nil {
		o = new(Options)
	}
	rep := &Report{Title: o.Title, Source: o.Source, Unredacted: o.ShowSecrets, Turns: []*Turn{}, Exchanges: []*Exchange{}, Findings: []Finding{}, Problems: []Problem{}, Unknown: []Unknown{}, Frames: []*Frame{}}
	lines := &lineReader{src: bufio.NewReaderSize(r, 1<<16)}
	var first *FormatError
	good := 0
	for {
		line, size, err := lines.next()
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read recording: %w", err)
		}
		if size > 0 {
			f := readFrame(line, size, lines.number, lines.whole)
			rep.Frames = append(rep.Frames, f)
			switch {
			case f.Kind != KindBroken:
				good++
			case first == nil:
				first = &FormatError{f.Line, errors.New(f.Error)}
			}
		}
		rep.Summary.Bytes = lines.bytes
		if err == io.EOF {
			break
		}
	}
	if good == 0 {
		if first == nil {
			first = new(FormatError)
		}
		return nil, first
	}
	rep.Summary.Lines = len(rep.Frames)
	if !o.ShowSecrets {
		rep.hide(o.Secrets)
	}
	build(rep, o.Compare)
	return rep, nil
}

// hide takes the secrets out of all frames.
func (r *Report) hide(known *secret.Set) {
	secrets := known.Clone()
	for _, f := range r.Frames {
		secrets.Learn(f.Msg)
	}
	for _, f := range r.Frames {
		if f.Msg != nil {
			f.Msg = secrets.JSON(f.Msg)
		}
		if f.Text != "" {
			f.Text = secrets.Hide(string(secrets.JSON([]byte(f.Text))))
		}
	}
}

// readFrame reads the envelope of a line.
func readFrame(line []byte, size, number int, whole bool) *Frame {
	f := &Frame{Line: number, Size: size}
	var e struct {
		Dir claudetest.Dir  `json:"dir"`
		TMS float64         `json:"t_ms"`
		Msg json.RawMessage `json:"msg"`
	}
	err := jsonx.Unmarshal(line, &e)
	switch {
	case size > len(line):
		err = fmt.Errorf("it has %d bytes, over the limit of %d", size, lineLimit)
	case err != nil && !whole:
		err = errCut
	case err != nil:
	case e.Dir == "" && jsonx.Present(jsonx.Member(line, "type")):
		e.Dir, e.Msg = claudetest.DirOut, line // as the CLI writes it
	case len(e.Msg) == 0 || e.Dir != claudetest.DirIn && e.Dir != claudetest.DirOut && e.Dir != claudetest.DirMeta:
		err = errNoEnvelope
	}
	f.Dir, f.AtMS = e.Dir, min(max(e.TMS, 0), lastMS)
	if err != nil {
		f.Kind, f.Error = KindBroken, "line cannot be read: "+err.Error()
		f.Text = show.Head(string(line), headLimit)
		return f
	}
	f.Msg = unwrapped(e.Msg)
	return f
}

// lineReader reads lines and counts them.
type lineReader struct {
	src    *bufio.Reader
	number int
	bytes  int64
	whole  bool // the last line had its line feed
}

// next returns the next line without its end, and its size: more than is
// returned if the line was too long, 0 if it was blank.
func (r *lineReader) next() (line []byte, size int, err error) {
	r.number++
	for {
		part, err := r.src.ReadSlice('\n')
		r.bytes += int64(len(part))
		size += len(part)
		if room := lineLimit - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if r.whole = err == nil; size > lineLimit {
			return line[:headLimit], size, err
		}
		line = bytes.TrimSpace(line)
		return line, len(line), err
	}
}
