package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

const writtenSession = "00000000-0000-4000-8000-0000000000cc"

// newWritten returns what looks at the transcript of a CLI that runs, and adds to it.
func newWritten(t *testing.T) (w *written, add func(string)) {
	t.Helper()
	dir := t.TempDir()
	w = writtenIn(history.Disk(dir), writtenSession, slog.New(slog.DiscardHandler))
	w.runs = func(context.Context) bool { return true }
	project := filepath.Join(dir, "projects", "-repo")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	return w, func(text string) {
		t.Helper()
		f, err := os.OpenFile(filepath.Join(project, writtenSession+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
}

// TestQuestionWaitsForTranscript asks about a call that the CLI writes later, in two pieces.
// Neither the editor nor the inbox shows the question before both are there.
func TestQuestionWaitsForTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, add := newWritten(t)
		k := &keeper{inbox: approval.NewQuestions(store.Memory(), "p"), session: writtenSession, by: "editor", gone: make(chan struct{}), log: w.log, written: w}
		begin := time.Now()
		asked := make(chan time.Duration, 1)
		go func() {
			_, err := k.decide(t.Context(), &permission.Request{ToolName: "Bash", ToolUseID: "toolu_1", Input: json.RawMessage(`{}`)}, func(context.Context) (permission.Decision, error) {
				asked <- time.Since(begin)
				return permission.Allow(), nil
			})
			if err != nil {
				t.Error(err)
			}
		}()
		for _, piece := range []string{`{"id":"toolu_12"}` + "\n", `{"id":"tool`} {
			<-time.After(50 * time.Millisecond)
			synctest.Wait()
			add(piece)
			for q, err := range k.inbox.List(t.Context(), approval.Filter{Conversation: writtenSession}) {
				t.Errorf("the question %+v, %v is there before its call", q, err)
			}
		}
		<-time.After(50 * time.Millisecond)
		synctest.Wait()
		add(`u_1"}` + "\n")
		if after := <-asked; after < 150*time.Millisecond || after > 150*time.Millisecond+2*writingLook {
			t.Errorf("asked after %v, and the call was written after 150 ms", after)
		}
		synctest.Wait()
	})
}

// TestWrittenGivesUp waits once for a CLI that writes nothing here, and not at all for one
// that does not run here, for calls that are known, or when the call is withdrawn.
func TestWrittenGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := func(w *written, ctx context.Context, call string) time.Duration {
			begin := time.Now()
			w.wait(ctx, call)
			return time.Since(begin)
		}
		w, add := newWritten(t)
		w.known = map[string]string{"toolu_0": "q"}
		ended, end := context.WithCancel(t.Context())
		end()
		for name, at := range map[string]time.Duration{"known": took(w, t.Context(), "toolu_0"), "no call": took(w, t.Context(), ""), "withdrawn": took(w, ended, "toolu_1")} {
			if at != 0 {
				t.Errorf("%s: waited %v", name, at)
			}
		}
		add("{}\n")
		if first, second := took(w, t.Context(), "toolu_1"), took(w, t.Context(), "toolu_2"); first != writing || second != 0 {
			t.Errorf("waited %v, then %v, want %v and nothing", first, second, writing)
		}
		w, _ = newWritten(t)
		w.runs = func(context.Context) bool { return false }
		if at := took(w, t.Context(), "toolu_1"); at != 0 {
			t.Errorf("a CLI that does not run here: waited %v", at)
		}
	})
}

// TestWrittenCallWithEscapes finds a call whose id JSON writes with escapes, and does not
// take another for it.
func TestWrittenCallWithEscapes(t *testing.T) {
	w, add := newWritten(t)
	for _, call := range []string{`a"b`, `a\b`, "a\nb", "a<b>&c", "ä😀"} {
		line, err := json.Marshal(call + "!")
		if err != nil {
			t.Fatal(err)
		}
		add(`{"id":` + string(line) + "}\n")
		if found, err := w.has(call, make(map[string]int64)); found || err != nil {
			t.Errorf("%q is not there: %t, %v", call, found, err)
		}
		var text strings.Builder
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false) // the CLI does not
		if err := enc.Encode(map[string]string{"id": call}); err != nil {
			t.Fatal(err)
		}
		add(text.String())
		if found, err := w.has(call, make(map[string]int64)); !found || err != nil {
			t.Errorf("%q was not found: %v", call, err)
		}
	}
}

// A CLI whose registration cannot be read may still run, and a warning is logged, unless
// the context of the caller has ended.
func TestUnknownProcessesMayRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "sessions"), nil, 0o600); err != nil { // not a directory
		t.Fatal(err)
	}
	var said bytes.Buffer
	w := writtenIn(history.Disk(dir), writtenSession, slog.New(slog.NewTextHandler(&said, nil)))
	left, leave := context.WithCancel(t.Context())
	leave()
	if !w.runs(left) || said.Len() > 0 {
		t.Errorf("after the end: %s", said.String())
	}
	if !w.runs(t.Context()) || !strings.Contains(said.String(), writtenSession) {
		t.Errorf("nobody runs, and the log has %q", said.String())
	}
	if err := os.Remove(filepath.Join(dir, "sessions")); err != nil {
		t.Fatal(err)
	}
	if w.runs(t.Context()) {
		t.Error("a CLI runs where none is registered")
	}
}

// TestSearch finds a text wherever it is in a file, and across the pieces that are read.
func TestSearch(t *testing.T) {
	const text = "needle"
	for _, at := range []int{0, 1, 64<<10 - 3, 64 << 10, 64<<10 + 3, 200_000} {
		hay := strings.Repeat("-", at) + text + "--"
		if found, err := search(strings.NewReader(hay), text); err != nil || !found {
			t.Errorf("at %d: %t, %v", at, found, err)
		}
		if found, err := search(strings.NewReader(hay[:at+len(text)-1]), text); err != nil || found {
			t.Errorf("cut at %d: %t, %v", at, found, err)
		}
	}
	if found, err := search(iotest.OneByteReader(bytes.NewReader([]byte("nee needle"))), text); err != nil || !found {
		t.Errorf("byte by byte: %t, %v", found, err)
	}
	if found, err := search(iotest.ErrReader(os.ErrDeadlineExceeded), text); err == nil || found {
		t.Errorf("a broken file: %t, %v", found, err)
	}
}
