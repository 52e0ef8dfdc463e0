package mirror

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// readFrame returns the content of a frame: lines that were added to a
// transcript. An error about one of the lines comes with the others.
func readFrame(line []byte, project string) (store.Key, []store.Entry, error) {
	path, lines, codes, err := usualFrame(line)
	if err != nil {
		path, lines, err = anyFrame(line)
		codes = true
	}
	if err != nil {
		return store.Key{}, nil, err
	}
	session, sub, ok := transcriptAt(path)
	key := store.Key{Project: project, Session: session, Sub: sub}
	if !ok || key.Check() != nil {
		return key, nil, fmt.Errorf("a mirror frame is about a file that is not a transcript: %q", path)
	}
	entries := make([]store.Entry, 0, len(lines))
	for _, e := range lines {
		if len(e) == 0 || e[0] != '{' || len(e) > store.MaxEntry { // the rest of Entry.Check holds for any line
			err = fmt.Errorf("a mirror frame has an entry that no store takes, of %d bytes: %.40q", len(e), e)
			continue
		}
		if codes {
			e = asInFile(e)
		}
		entries = append(entries, e)
	}
	return key, entries, err
}

// usualFrame reads a frame in one pass, and fails where anything about it is
// unusual. A long answer is a tenth as many bytes in its frames as in its deltas,
// so with a pass for each question storing it would cost as much as reading it. It
// reports whether characters are written as their numbers in it: text and code are
// full of escapes, and few of them are such.
func usualFrame(line []byte) (path string, lines [][]byte, codes bool, err error) {
	var s jsonx.Scanner
	s.Start(line)
	o := s.Object()
	names := jsonx.EnvelopeNames()
	for name := s.Next(&o); name != nil; name = s.Next(&o) {
		if names.Add(name) != nil {
			s.Fail()
		}
		switch string(name) {
		case "filePath":
			path = s.Text()
		case "entries":
			s.Array()
			for s.More(len(lines)) {
				lines = append(lines, s.Skip())
			}
		default:
			s.Skip()
		}
	}
	if !s.End() {
		return "", nil, false, errors.ErrUnsupported
	}
	return path, lines, s.SkippedCodes(), nil
}

// anyFrame reads every frame that can be read.
func anyFrame(line []byte) (path string, lines [][]byte, err error) {
	if !jsonx.Valid(line) {
		return "", nil, errors.New("a mirror frame is not valid JSON")
	}
	if err := jsonx.EnvelopeNames().Check(line); err != nil {
		return "", nil, fmt.Errorf("a mirror frame: %w", err)
	}
	path = jsonx.Text(jsonx.Member(line, "filePath"))
	return path, slices.Collect(jsonx.Elements(jsonx.Member(line, "entries"))), nil
}

// asInFile returns an entry as it is in the CLI's file. On its output, the CLI
// escapes U+2028 and U+2029, which end a line for some programs; in the file,
// nothing escapes them.
func asInFile(e []byte) store.Entry {
	if !bytes.Contains(e, []byte(`\u202`)) {
		return e
	}
	out := make([]byte, 0, len(e))
	for len(e) > 0 {
		n := 1
		if e[0] == '\\' && len(e) > 1 {
			n = 2 // also of an escaped backslash, which escapes nothing
		}
		switch {
		case bytes.HasPrefix(e, []byte(`\u2028`)):
			out, n = append(out, "\u2028"...), 6
		case bytes.HasPrefix(e, []byte(`\u2029`)):
			out, n = append(out, "\u2029"...), 6
		default:
			out = append(out, e[:n]...)
		}
		e = e[n:]
	}
	return out
}

// transcriptAt returns which transcript is in a file of the CLI. These are
//
//	<config>/projects/<directory>/<session>.jsonl
//	<config>/projects/<directory>/<session>/<sub>.jsonl
//
// where <sub> is a path such as subagents/agent-a1b2c3.
func transcriptAt(path string) (session, sub string, ok bool) {
	path, ok = strings.CutSuffix(filepath.ToSlash(path), ".jsonl")
	parts := strings.Split(path, "/")
	for i, part := range slices.Backward(parts) {
		if i >= 2 && parts[i-2] == "projects" && uuid.Valid(part) {
			return part, strings.Join(parts[i+1:], "/"), ok
		}
	}
	return "", "", false
}
