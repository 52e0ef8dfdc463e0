package main

import (
	"io"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/brief"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// screen is where a command shows what happens: the answer on standard output,
// everything about it on standard error. On a terminal the last line may be
// live: it is drawn over and over until something else is printed.
//
// Only standard error is ever coloured, and only if it is a terminal, so piped
// output has no escape codes. It is safe for concurrent use.
type screen struct {
	out, notes io.Writer
	colour     bool
	live       bool // a live line can be drawn
	shared     bool // both streams end at one terminal

	mu   sync.Mutex
	open bool      // the last line of the answer has no end yet
	line bool      // a live line stands there
	held bool      // a question stands there; what comes meanwhile waits
	lent bool      // another program has the terminal, and its keys
	back time.Time // when it gave them back
	wait []func()
}

func newScreen(c *console) *screen {
	return &screen{
		out: c.stdout, notes: c.stderr,
		colour: terminal.Coloured(c.env, c.stderr),
		live:   terminal.SupportsEscapes(c.stderr) && c.variable("TERM") != "dumb",
		shared: terminal.Is(c.stderr) && terminal.Is(c.stdout.stream),
	}
}

// answer writes text of the answer, which must be clean.
func (s *screen) answer(text string) {
	s.print(func() {
		s.erase()
		if text != "" {
			_, _ = io.WriteString(s.out, text) // a failure ends the command
			s.open = !strings.HasSuffix(text, "\n")
		}
	})
}

// endAnswer ends the last line of the answer.
func (s *screen) endAnswer() { s.print(s.end) }

func (s *screen) end() {
	if s.open {
		s.erase()
		_, _ = io.WriteString(s.out, "\n")
		s.open = false
	}
}

// note writes a line about what happens.
func (s *screen) note(text string) { s.print(func() { s.write(text + "\n") }) }

// print does some printing, now or when the question that is open has its
// answer.
func (s *screen) print(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		s.wait = append(s.wait, do)
		return
	}
	do()
}

// tell writes text at once, even while a question is open: it is for the
// question itself.
func (s *screen) tell(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(text)
}

func (s *screen) write(text string) {
	if s.shared {
		s.end()
	}
	s.erase()
	_, _ = io.WriteString(s.notes, text)
}

// hold keeps everything else away while a question waits for its answer.
func (s *screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// release prints what has waited for the answer.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	for _, do := range s.wait {
		do()
	}
	s.wait = nil
}

// lend gives the terminal to another program, or takes it back. Signals that keys
// send to both are meant for that program.
func (s *screen) lend(lent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = lent
	if !lent {
		s.back = time.Now()
	}
}

// lateKeys is how long a key may have been pressed for the program that had the
// terminal. Its signal goes to both at once: that program may have ended by it
// before we learn about it.
const lateKeys = time.Second

func (s *screen) isLent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lent || time.Since(s.back) < lateKeys
}

// draw shows clean text in the live line. In the middle of a line of the answer
// there is no place for it.
func (s *screen) draw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || s.held || s.shared && s.open {
		return
	}
	columns, ok := terminal.Width(s.notes)
	if !ok {
		return
	}
	_, _ = io.WriteString(s.notes, "\r\x1b[K"+s.style(terminal.Faint, brief.Fit(text, columns-1)))
	s.line = true
}

// clear takes the live line away.
func (s *screen) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
}

func (s *screen) erase() {
	if s.line {
		_, _ = io.WriteString(s.notes, "\r\x1b[K")
		s.line = false
	}
}

// style colours clean text for a note, where colours are wanted.
func (s *screen) style(code, text string) string {
	if !s.colour {
		return text
	}
	return terminal.Paint(code, text)
}
