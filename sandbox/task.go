package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A helper elsewhere is told everything by its standard input, because a command line
// and the environment of a remote login are seen by others, or not handed on:
//
//	a line with a task, in JSON
//	the files of the launch, as a tar archive in chunks
//	what the CLI reads, in lines, among them lines for the helper
//
// Lines for the helper begin with a byte that no line of JSON begins with.

// task describes the process that a helper starts on the other side.
type task struct {
	Path string   // the CLI there
	Args []string // with filesMark for the folder of the files
	Env  []string // added to what the helper itself has, with filesMark
	Dir  string
	// API is a socket there that leads to the API, if the API is on our loopback
	// interface. The helper listens for the CLI and changes ANTHROPIC_BASE_URL.
	API string `json:",omitempty"`
	// Forwarded means that the socket was made for this task, so the helper removes it: an
	// ssh server leaves it.
	Forwarded bool `json:",omitempty"`
}

// filesMark stands for the folder of the files. No argument and no variable of a
// process can hold a NUL, so it needs no escape.
const filesMark = "\x00files"

// at returns a task whose files lie in dir.
func (t task) at(dir string) task {
	t.Args, t.Env = replaced(t.Args, dir), replaced(t.Env, dir)
	return t
}

func replaced(texts []string, dir string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strings.ReplaceAll(text, filesMark, dir)
	}
	return out
}

// Lines for the helper.
const (
	endLine  = "\x1eend\n"  // the input of the CLI has ended as it should
	beatLine = "\x1ebeat\n" // we are still there
)

// maxTask bounds the line with the task.
const maxTask = 16 << 20

func writeTask(w io.Writer, t task) error {
	line, err := json.Marshal(t)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// lineReader is the source of a task.
type lineReader interface {
	io.Reader
	ReadSlice(delim byte) ([]byte, error)
}

func readTask(r lineReader) (t task, err error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, errBufferFull) || len(line) > maxTask {
			return task{}, fmt.Errorf("read the task: %w", err)
		}
	}
	return t, json.Unmarshal(line, &t)
}

// chunks writes an archive of unknown length: a length before each piece, 0 at the end.
type chunks struct{ w io.Writer }

func (c chunks) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(len(b)))
	if _, err := c.w.Write(head); err != nil {
		return 0, err
	}
	return c.w.Write(b)
}

func (c chunks) Close() error {
	_, err := c.w.Write(make([]byte, 4))
	return err
}

// maxChunk bounds what a helper believes of a length.
const maxChunk = 1 << 20

// unchunk reads what chunks has written, up to its end and not further.
type unchunk struct {
	r    io.Reader
	left uint32
	done bool
}

func (u *unchunk) Read(b []byte) (int, error) {
	if u.done {
		return 0, io.EOF
	}
	if u.left == 0 {
		var head [4]byte
		if _, err := io.ReadFull(u.r, head[:]); err != nil {
			return 0, errors.Join(io.ErrUnexpectedEOF, err)
		}
		if u.left = binary.BigEndian.Uint32(head[:]); u.left == 0 {
			u.done = true
			return 0, io.EOF
		}
		if u.left > maxChunk {
			return 0, errors.New("a piece of the files is too long")
		}
	}
	n, err := u.r.Read(b[:min(len(b), int(u.left))])
	u.left -= uint32(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
