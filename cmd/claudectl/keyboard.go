package main

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/claude-agent-go/claude/internal/terminal"
)

// keyboard reads lines that a person types. It reads only when asked to, because
// a line that was typed before a question does not answer it. It is for one
// goroutine at a time.
type keyboard struct {
	stream io.Reader
	in     *bufio.Reader
	lines  chan typed
	begun  bool // a goroutine reads
}

// typed is a line, or why there is none.
type typed struct {
	text string
	err  error
}

func newKeyboard(stream io.Reader) *keyboard {
	return &keyboard{stream: stream, in: bufio.NewReader(stream), lines: make(chan typed, 1)}
}

// forget drops what was typed so far.
func (k *keyboard) forget() {
	terminal.DropInput(k.stream)
	select {
	case <-k.lines:
		k.begun = false
	default:
	}
	if !k.begun {
		_, _ = k.in.Discard(k.in.Buffered())
	}
}

// line waits for a line. When the context ends first, the read continues and its
// line is that of the next call, unless forget is called between.
func (k *keyboard) line(ctx context.Context) (string, error) {
	if !k.begun {
		k.begun = true
		go func() {
			text, err := k.in.ReadString('\n')
			k.lines <- typed{text, err}
		}()
	}
	select {
	case got := <-k.lines:
		k.begun = false
		return strings.TrimSpace(got.text), got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
