package proc

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/claude-agent-go/claude/internal/secret"
)

// collect runs chunks through a lineQueue and returns the lines.
func collect(chunks ...string) []string {
	var lines []string
	l := newLineQueue(func(line string) { lines = append(lines, line) }, secret.FromEnv(env), slog.New(slog.DiscardHandler))
	for _, chunk := range chunks {
		l.write([]byte(chunk))
	}
	l.end()
	synctest.Wait()
	return lines
}

func TestLines(t *testing.T) {
	more := func(n int) string { return fmt.Sprintf(" … (%d more bytes)", n) }
	long := strings.Repeat("é", maxLine)
	for _, test := range []struct {
		name   string
		chunks []string
		want   []string
	}{
		{"none", nil, nil},
		{"chunks and lines differ", []string{"o", "ne\ntw", "o\n"}, []string{"one", "two"}},
		{"line ends", []string{"a\r\n\nb\rc\n"}, []string{"a", "", "b\rc"}},
		{"half a character at the end", []string{"a\xc3\n"}, []string{"a\ufffd"}},
		{"no end", []string{"a\nb"}, []string{"a", "b"}},
		{"as long as can be", []string{long[:maxLine], "\nnext\n"}, []string{long[:maxLine], "next"}},
		{"long", []string{long, long, "\nnext\n"}, []string{long[:maxLine] + more(3*maxLine), "next"}},
		{"long at the end", []string{long}, []string{long[:maxLine] + more(maxLine)}},
		{"whole characters", []string{"x" + long + "\n"}, []string{"x" + long[:maxLine-2] + more(maxLine+2)}},
		{"secret in two chunks", []string{"a key-01234", "56789 b\n"}, []string{"a [redacted] b"}},
		{
			"secret across the limit",
			[]string{strings.Repeat("-", maxLine-5) + "key-0123456789 and more\n"},
			[]string{strings.Repeat("-", maxLine-5) + secret.Mask[:5] + more(len(secret.Mask)-5+len(" and more"))},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := collect(test.chunks...); !slices.Equal(got, test.want) {
					t.Errorf("got %d lines %.60q, want %d %.60q", len(got), got, len(test.want), test.want)
				}
			})
		})
	}
}

// logBuffer collects log records as text.
func logBuffer() (*bytes.Buffer, *slog.Logger) {
	var b bytes.Buffer
	return &b, slog.New(slog.NewTextHandler(&b, nil))
}

func TestSlowCallback(t *testing.T) {
	for _, test := range []struct {
		name string
		line string
		most int // lines that may wait
	}{
		{"many lines", "x\n", maxLines},
		{"long lines", strings.Repeat("x", maxLine) + "\n", maxQueue / maxLine},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged, log := logBuffer()
				release := make(chan struct{})
				var calls atomic.Int64
				l := newLineQueue(func(string) { calls.Add(1); <-release }, secret.FromEnv(nil), log)
				l.write([]byte(test.line))
				synctest.Wait() // the first line is with the callback
				for range test.most + 5 {
					l.write([]byte(test.line))
				}
				l.end()
				close(release)
				synctest.Wait()
				if got, want := int(calls.Load()), test.most+1; got != want {
					t.Errorf("calls: got %d, want %d", got, want)
				}
				if n := strings.Count(logged.String(), "callback is slow"); n != 1 {
					t.Errorf("told %d times that lines are dropped, want once:\n%s", n, logged)
				}
				if !strings.Contains(logged.String(), "count=5") {
					t.Errorf("log does not count 5 dropped lines:\n%s", logged)
				}
				if got := l.waiting.Load(); got != 0 {
					t.Errorf("bytes waiting at the end: got %d, want 0", got)
				}
			})
		})
	}
}

// A callback that does what it should is not worth a word in the log.
func TestQuietCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged, log := logBuffer()
		l := newLineQueue(func(string) {}, secret.FromEnv(nil), log)
		l.write([]byte("one\ntwo\n"))
		l.end()
		synctest.Wait()
		if logged.Len() > 0 {
			t.Errorf("logged %s", logged)
		}
	})
}

func TestPanickingCallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged, log := logBuffer()
		calls := 0
		l := newLineQueue(func(string) { calls++; panic("boom") }, secret.FromEnv(nil), log)
		l.write([]byte("one\ntwo\n"))
		l.end()
		synctest.Wait()
		if calls != 2 {
			t.Errorf("calls: got %d, want 2", calls)
		}
		if !strings.Contains(logged.String(), "level=ERROR") || !strings.Contains(logged.String(), "boom") {
			t.Errorf("the panic is not logged as an error:\n%s", logged)
		}
	})
}
