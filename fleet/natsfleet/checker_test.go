package natsfleet_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
)

// history holds the promises made to the senders of prompts, and the content of
// the stream.
type history struct {
	accepted map[string][]sent // by conversation, in the order in which they were accepted
	outcomes []fleet.Ticket    // all that are stored
	waiting  []string          // the ids of prompts that are still in the queue
	lines    map[string][]line // by conversation, in the order of the transcript
	writes   []write           // of entries and records under leases, in the order of the stream
}

// sent is a prompt that was accepted.
type sent struct{ id, text string }

// line is something that was said: a prompt, or an answer, which has no prompt.
type line struct{ prompt, text string }

// write is a write under a lease, with the token of its owner.
type write struct {
	lease      string
	token, seq uint64
}

// check returns how a history breaks the promises: every accepted prompt has exactly
// one outcome and was said once; the prompts of a conversation were said in order,
// and each answer knows all that was said before; and no owner wrote after the next
// had begun.
func (h *history) check() (broken []string) {
	fail := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	ended := make(map[string][]fleet.Ticket)
	for _, o := range h.outcomes {
		ended[o.Prompt] = append(ended[o.Prompt], o)
	}
	for key, prompts := range h.accepted {
		var said []string
		at := -1
		for _, p := range prompts {
			said = append(said, p.text)
			if n := len(ended[p.id]); n != 1 {
				fail("%s: prompt %s has %d outcomes", key, p.text, n)
			} else if o, want := ended[p.id][0], "heard "+strings.Join(said, ", "); o.Status != fleet.PromptAnswered || o.Text != want {
				fail("%s: prompt %s is %s with %q, want %q", key, p.text, o.Status, o.Text, want)
			}
			places := h.places(key, p.id)
			if len(places) != 1 {
				fail("%s: prompt %s is %d times in the transcript", key, p.text, len(places))
				continue
			}
			if places[0] < at {
				fail("%s: prompt %s was said before the one before it", key, p.text)
			}
			at = places[0]
			if n := h.answers(key, at, "heard "+strings.Join(said, ", ")); n != 1 {
				fail("%s: prompt %s has %d answers in the transcript", key, p.text, n)
			}
		}
	}
	for _, id := range h.waiting {
		fail("prompt %s is still in the queue", id)
	}
	newest := make(map[string]uint64)
	for _, w := range h.writes {
		if w.token < newest[w.lease] || w.token >= w.seq {
			fail("%s: message %d was written under token %d, after one under %d", w.lease, w.seq, w.token, newest[w.lease])
		}
		newest[w.lease] = max(newest[w.lease], w.token)
	}
	slices.Sort(broken)
	return broken
}

// places are where a prompt is in the transcript of a conversation.
func (h *history) places(key, id string) (places []int) {
	for i, l := range h.lines[key] {
		if l.prompt == id {
			places = append(places, i)
		}
	}
	return places
}

// answers counts an answer between a prompt and the next.
func (h *history) answers(key string, at int, text string) (n int) {
	for _, l := range h.lines[key][at+1:] {
		if l.prompt != "" {
			break
		}
		if l.text == text {
			n++
		}
	}
	return n
}

// judge lets the checker look at what a fleet has stored. All replicas must be current.
func judge(t *testing.T, url, name string, b beside, accepted map[string][]sent) {
	t.Helper()
	s := openNamed(t, url, name, b)
	var h *history
	// A prompt leaves the queue soon after it has its outcome.
	eventually(t, "prompts do not leave the queue", func() bool {
		var err error
		if h, err = readHistory(t.Context(), s, b, accepted); err != nil {
			t.Fatal(err)
		}
		return len(h.waiting) == 0
	})
	for _, b := range h.check() {
		t.Error(b)
	}
}

// readHistory reads what a fleet has stored. All replicas must be current.
func readHistory(ctx context.Context, s *natsfleet.Store, b beside, accepted map[string][]sent) (*history, error) {
	h := &history{accepted: accepted, lines: make(map[string][]line)}
	records, err := s.Everything(ctx, "r", "p")
	if err != nil {
		return nil, err
	}
	for _, r := range records {
		if r.Lease != "" {
			token, err := strconv.ParseUint(r.Token, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("message %d of %s has a lease and no token: %w", r.Seq, r.Subject, err)
			}
			h.writes = append(h.writes, write{r.Lease, token, r.Seq})
		}
		switch strings.Split(r.Subject, ".")[3] {
		case "outcome":
			var o fleet.Ticket
			if err := json.Unmarshal(r.Data, &o); err != nil {
				return nil, err
			}
			h.outcomes = append(h.outcomes, o)
		case "prompt":
			h.waiting = append(h.waiting, r.Subject)
		}
	}
	switch {
	case b.Transcripts != "":
		return h, h.readOutside(ctx, s)
	case b.Archive != "":
		err = h.readArchived(ctx, s)
	default:
		err = h.readStream(ctx, s)
	}
	slices.SortFunc(h.writes, func(a, b write) int { return cmp.Compare(a.seq, b.seq) })
	return h, err
}

// conversation is the key of the conversation that a lease is of.
func conversation(lease string) string {
	return strings.TrimPrefix(strings.TrimPrefix(lease, "fleet/c/"), "fleet/t/")
}

// readStream reads the transcripts that are in the stream.
func (h *history) readStream(ctx context.Context, s *natsfleet.Store) error {
	entries, err := s.Everything(ctx, "t", "p")
	if err != nil {
		return err
	}
	seen := make(map[string]bool) // a batch may be stored twice
	for _, m := range entries {
		token, err := strconv.ParseUint(m.Token, 10, 64)
		if err != nil {
			return fmt.Errorf("message %d of %s was not written under a lease: %w", m.Seq, m.Subject, err)
		}
		h.writes = append(h.writes, write{m.Lease, token, m.Seq})
		for data := range bytes.SplitSeq(m.Data, []byte("\n")) {
			if l, id, ok := said(data); ok && !seen[id] {
				seen[id] = true
				h.lines[conversation(m.Lease)] = append(h.lines[conversation(m.Lease)], l)
			}
		}
	}
	return nil
}

// readArchived reads the transcripts that are in the stream and in an archive. The
// stream records under which lease each was written.
func (h *history) readArchived(ctx context.Context, s *natsfleet.Store) error {
	messages, err := s.Everything(ctx, "t", "p")
	if err != nil {
		return err
	}
	leases := make(map[string]string)
	for _, m := range messages {
		token, err := strconv.ParseUint(m.Token, 10, 64)
		if err != nil {
			return fmt.Errorf("message %d of %s was not written under a lease: %w", m.Seq, m.Subject, err)
		}
		h.writes = append(h.writes, write{m.Lease, token, m.Seq})
		leases[strings.Split(m.Subject, ".")[3]] = m.Lease
	}
	for session, lease := range leases {
		for e, err := range store.Entries(ctx, s, store.Key{Project: "p", Session: session}) {
			if err != nil {
				return err
			}
			if l, _, ok := said(e); ok {
				h.lines[conversation(lease)] = append(h.lines[conversation(lease)], l)
			}
		}
	}
	return nil
}

// readOutside reads the transcripts that are beside the stream. Each batch begins with
// a line that names the lease under which it was written. A store of transcripts
// leaves out what is there already, so a line that is there twice was stored twice.
func (h *history) readOutside(ctx context.Context, s *natsfleet.Store) error {
	for session, err := range s.List(ctx, "p") {
		if err != nil {
			return err
		}
		var by witness
		for e, err := range store.Entries(ctx, s, store.Key{Project: "p", Session: session.Session}) {
			if err != nil {
				return err
			}
			if w, ok := witnessIn(e); ok {
				by = w
				// It has no sequence, and tokens of its own. Sessions come in the order of their
				// ids, so only the writes in one of them have an order.
				h.writes = append(h.writes, write{"outside " + w.Lease + " in " + session.Session, w.Token, w.Token + 1})
			} else if by.Lease == "" {
				return fmt.Errorf("session %s: %s was not written under a lease", session.Session, e)
			} else if l, _, ok := said(e); ok {
				h.lines[conversation(by.Lease)] = append(h.lines[conversation(by.Lease)], l)
			}
		}
	}
	return nil
}

// said parses a line of a transcript; it returns false for a line without a
// message.
func said(data []byte) (l line, id string, ok bool) {
	var e struct {
		Type, UUID string
	}
	if json.Unmarshal(data, &e) != nil {
		return l, "", false
	}
	m, _ := message.DecodeAs(e.Type, "", data) // an odd line holds no message
	switch m := m.(type) {
	case *message.User:
		return line{prompt: e.UUID}, e.UUID, len(m.ToolResults()) == 0
	case *message.Assistant:
		return line{text: m.Text()}, e.UUID, true
	}
	return l, "", false
}

// good is a history that keeps all promises.
func good() *history {
	h := &history{accepted: make(map[string][]sent), lines: make(map[string][]line)}
	for c := range 3 {
		key := fmt.Sprint("conversation-", c)
		var texts []string
		for n := range 4 {
			p := sent{fmt.Sprintf("%d-%d", c, n), fmt.Sprintf("%d.%d", c, n)}
			texts = append(texts, p.text)
			text := "heard " + strings.Join(texts, ", ")
			h.accepted[key] = append(h.accepted[key], p)
			h.lines[key] = append(h.lines[key], line{prompt: p.id}, line{text: text})
			h.outcomes = append(h.outcomes, fleet.Ticket{Prompt: p.id, Status: fleet.PromptAnswered, Text: text})
			h.writes = append(h.writes, write{key, uint64(10 + n/2), uint64(100*c + 20 + n)})
		}
	}
	return h
}

// The checker finds the planted faults, and nothing else.
func TestChecker(t *testing.T) {
	if broken := good().check(); len(broken) != 0 {
		t.Fatalf("a good history: %q", broken)
	}
	const key = "conversation-1"
	for name, c := range map[string]struct {
		plant func(*history)
		want  string
	}{
		"a lost outcome":          {func(h *history) { h.outcomes = h.outcomes[1:] }, "has 0 outcomes"},
		"two outcomes":            {func(h *history) { h.outcomes = append(h.outcomes, h.outcomes[5]) }, "has 2 outcomes"},
		"a failed outcome":        {func(h *history) { h.outcomes[3].Status = fleet.PromptFailed }, "is failed with"},
		"another's answer":        {func(h *history) { h.outcomes[3].Text = h.outcomes[7].Text }, "is answered with"},
		"a prompt in the queue":   {func(h *history) { h.waiting = []string{"1-2"} }, "still in the queue"},
		"a lost line":             {func(h *history) { h.lines[key] = slices.Delete(h.lines[key], 2, 3) }, "is 0 times in the transcript"},
		"a lost transcript":       {func(h *history) { delete(h.lines, key) }, "is 0 times in the transcript"},
		"a doubled line":          {func(h *history) { h.lines[key] = append(h.lines[key], h.lines[key][2]) }, "is 2 times in the transcript"},
		"a lost answer":           {func(h *history) { h.lines[key] = slices.Delete(h.lines[key], 3, 4) }, "has 0 answers"},
		"a doubled answer":        {func(h *history) { h.lines[key] = slices.Insert(h.lines[key], 3, h.lines[key][3]) }, "has 2 answers"},
		"disorder":                {func(h *history) { l := h.lines[key]; l[2], l[4], l[3], l[5] = l[4], l[2], l[5], l[3] }, "was said before the one before it"},
		"overlapping epochs":      {func(h *history) { h.writes[6].token, h.writes[7].token = 11, 10 }, "was written under token 10, after one under 11"},
		"a token of the future":   {func(h *history) { h.writes[0].token = h.writes[0].seq }, "was written under token"},
		"a write of the last-but": {func(h *history) { h.writes = append(h.writes, write{key, 10, 900}) }, "after one under 11"},
	} {
		h := good()
		c.plant(h)
		broken := h.check()
		if len(broken) == 0 || !strings.Contains(strings.Join(broken, "\n"), c.want) {
			t.Errorf("%s: found %q, want %q", name, broken, c.want)
		}
	}
}
