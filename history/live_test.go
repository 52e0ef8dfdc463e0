package history_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/message"
)

// heldTurn is a turn of the real CLI whose answer has begun and does not end
// before release is closed.
type heldTurn struct {
	release chan struct{}
	said    []string // ids of the CLI's messages
	ended   chan error
}

// hold asks, and returns in the middle of the answer.
func (w *workshop) hold(t *testing.T, s *claude.Session, prompt, answer string) *heldTurn {
	t.Helper()
	h := &heldTurn{release: make(chan struct{}), ended: make(chan error, 1)}
	w.model.Add(claudetest.UseTool("Bash", map[string]string{"command": "echo begun"}), claudetest.Say(answer).Hold(h.release))
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		tool := false
		for m, err := range s.Run(t.Context(), prompt) {
			if err != nil {
				h.ended <- err
				return
			}
			switch m := m.(type) {
			case *message.Assistant:
				h.said = append(h.said, m.UUID)
			case *message.User:
				h.said = append(h.said, m.UUID)
				tool = true
			case *message.StreamEvent:
				if tool && m.Text() != "" {
					begin()
				}
			}
		}
		h.ended <- nil
	}()
	select {
	case <-begun:
	case err := <-h.ended:
		t.Fatalf("%s: the turn ended too early: %v", prompt, err)
	case <-t.Context().Done():
		t.Fatal(t.Context().Err())
	}
	return h
}

// end lets the answer end.
func (h *heldTurn) end(t *testing.T) {
	t.Helper()
	close(h.release)
	if err := <-h.ended; err != nil {
		t.Fatal(err)
	}
}

func partial(o *claude.Options) { o.PartialMessages = true }

// wholeLines fails if a line of a session is not JSON.
func wholeLines(t *testing.T, config, id string) {
	t.Helper()
	text, err := os.ReadFile(transcriptOf(t, config, id))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		if !json.Valid(line) {
			t.Errorf("a line of %s is torn: %s", id, line)
		}
	}
}

// A session is renamed, tagged, archived and forked in the middle of a turn of the
// real CLI: none of its messages is lost, what was written beside it is read back,
// and both the session and its fork continue.
func TestRealChangesBesideLiveCLI(t *testing.T) {
	w := newWorkshop(t)
	dir := w.dir(t, "work")
	h := history.Disk(w.config)
	ctx := t.Context()
	var fork string
	id := w.session(t, dir, partial, func(s *claude.Session) {
		w.ask(t, s, "First", claudetest.Say("one"))
		turn := w.hold(t, s, "Second", "two is the answer")
		// The CLI gathers lines for 100 ms before it stores them.
		for begin := time.Now(); spokenIn(t, h, s.ID()) != "First one Second"; <-time.After(10 * time.Millisecond) {
			if time.Since(begin) > 30*time.Second {
				t.Fatalf("stored: %q", spokenIn(t, h, s.ID()))
			}
		}
		if err := errors.Join(h.Rename(ctx, s.ID(), "While it runs"), h.Tag(ctx, s.ID(), "live"), h.Archive(ctx, s.ID())); err != nil {
			t.Fatal(err)
		}
		var err error
		if fork, err = h.Fork(ctx, s.ID(), history.ForkOptions{Title: "From the middle"}); err != nil {
			t.Fatal(err)
		}
		info, err := h.Info(ctx, s.ID())
		if err != nil || info.Title != "While it runs" || info.Tag != "live" || !info.Archived {
			t.Errorf("in the middle of the turn: %+v, %v", info, err)
		}
		// The CLI writes the end of the turn while others write beside it.
		renamed := make(chan error, 1)
		go func() {
			var errs []error
			for i := range 50 {
				errs = append(errs, h.Rename(ctx, s.ID(), fmt.Sprint("Title ", i)))
			}
			renamed <- errors.Join(errs...)
		}()
		turn.end(t)
		w.ask(t, s, "Third", claudetest.Say("three"))
		if err := errors.Join(<-renamed, h.Rename(ctx, s.ID(), "At last")); err != nil {
			t.Error(err)
		}
		w.ask(t, s, "Fourth", claudetest.Say("four"))
		if missing := missingMessages(t, h, s.ID(), turn.said); len(turn.said) < 3 || len(missing) > 0 {
			t.Errorf("the CLI said %q, of which the transcript lacks %q", turn.said, missing)
		}
	})
	wholeLines(t, w.config, id)
	info, err := h.Info(ctx, id)
	if err != nil || info.Title != "At last" || info.Tag != "live" || info.Archived {
		t.Errorf("after the end: %+v, %v; want the title and the tag, and not archived since the next prompt", info, err)
	}
	want := "First one Second two is the answer Third three Fourth four"
	if got := spokenIn(t, h, id); got != want {
		t.Errorf("the transcript says %q, want %q", got, want)
	}
	w.session(t, dir, func(o *claude.Options) { o.Resume = id }, func(s *claude.Session) { w.ask(t, s, "Fifth", claudetest.Say("five")) })
	if got := spokenIn(t, h, id); got != want+" Fifth five" {
		t.Errorf("resumed: %q", got)
	}
	if got := spokenIn(t, h, fork); got != "First one Second" {
		t.Errorf("the fork says %q", got)
	}
	w.session(t, dir, func(o *claude.Options) { o.Resume = fork }, func(s *claude.Session) { w.ask(t, s, "Otherwise", claudetest.Say("so")) })
	// The CLI answers for itself where a turn broke off.
	if got := spokenIn(t, h, fork); !strings.HasPrefix(got, "First one Second ") || !strings.HasSuffix(got, " Otherwise so") {
		t.Errorf("the fork, resumed, says %q", got)
	}
}

// missingMessages returns which ids no message of a session has.
func missingMessages(t *testing.T, h *history.History, id string, said []string) []string {
	t.Helper()
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	said = slices.Clone(said)
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		said = slices.DeleteFunc(said, func(uuid string) bool { return uuid == m.UUID })
	}
	return said
}

// spokenIn returns the texts of a session's messages.
func spokenIn(t *testing.T, h *history.History, id string) string {
	t.Helper()
	tr, err := h.Read(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for m, err := range tr.Messages(t.Context(), history.Page{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.Message.(type) {
		case *message.User:
			texts = append(texts, m.Text())
		case *message.Assistant:
			texts = append(texts, m.Text())
		}
	}
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), " ")
}

// A session that is deleted in the middle of a turn of the real CLI is gone, and
// the CLI continues. It does not notice the deletion: it creates the file again,
// with the messages from then on, and nothing from before. Deleted after its end,
// the session stays away.
func TestRealDeleteBesideLiveCLI(t *testing.T) {
	w := newWorkshop(t)
	h := history.Disk(w.config)
	id := w.session(t, w.dir(t, "work"), partial, func(s *claude.Session) {
		w.ask(t, s, "First", claudetest.Say("one"))
		turn := w.hold(t, s, "Second", "two is the answer")
		if removed, err := h.Delete(t.Context(), s.ID()); err != nil || removed.Files == 0 {
			t.Fatalf("removed %+v, %v", removed, err)
		}
		if found := list(t, h, history.Query{}); len(found) > 0 {
			t.Errorf("still listed: %+v", found)
		}
		turn.end(t)
		w.ask(t, s, "Third", claudetest.Say("three"))
	})
	wholeLines(t, w.config, id)
	if got := spokenIn(t, h, id); !strings.HasSuffix(got, "Third three") || strings.Contains(got, "First") {
		t.Errorf("the CLI has written %q again", got)
	}
	if _, err := h.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Info(t.Context(), id); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("after the second time: %v", err)
	}
}
