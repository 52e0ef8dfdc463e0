package eventlog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// saga is a conversation at random, and what its log has to say about it.
type saga struct {
	t      *testing.T
	db     store.Records
	log    *Log
	chance *rand.Rand

	sent, open []string
	silent     map[string]bool // prompts at the edges of segments, about which nothing more comes
	prompts    map[string]api.Prompt
	asked      []string
	notes      map[string]api.ApprovalNote
	unprompted fleet.Ledger
	booked     float64 // what the days must add up to
	turns      int
	written    int64
}

// wrote checks how many events something has added.
func (s *saga) wrote(what string, want int64, err error) {
	s.t.Helper()
	if s.written += want; err != nil || s.log.LastSeq() != s.written {
		s.t.Fatalf("%s: the log has %d events, want %d: %v", what, s.log.LastSeq(), s.written, err)
	}
}

// send accepts a prompt.
func (s *saga) send() {
	p := api.Prompt{ID: fmt.Sprint("p", len(s.sent)), State: api.PromptQueued, By: "ada", Text: fmt.Sprint("text ", len(s.sent))}
	s.sent, s.open, s.prompts[p.ID] = append(s.sent, p.ID), append(s.open, p.ID), p
	s.wrote("a prompt", 1, s.log.Accepted(s.t.Context(), p))
}

// end ends a prompt. Others of its time may end as a part of its turn.
func (s *saga) end() {
	i := s.chance.IntN(len(s.open))
	id := s.open[i]
	if s.silent[id] {
		return
	}
	ticket := fleet.Ticket{Prompt: id, Status: fleet.PromptAnswered, Ended: time.Unix(s.written*7000, 0), Cost: fleet.Ledger{USD: 1, Turns: 1}}
	if s.chance.IntN(3) == 0 {
		ticket.PartOf = s.sent[0]
	} else {
		s.booked, s.turns = s.booked+1, s.turns+1
	}
	if s.chance.IntN(3) == 0 {
		ticket.Result = &message.Result{Header: message.Header{Subtype: message.ResultErrorMaxBudget}}
	}
	s.open = slices.Delete(s.open, i, i+1)
	p := s.prompts[id]
	p.State = api.PromptAnswered
	s.prompts[id] = p
	s.wrote("a turn", 1, s.log.Progress(s.t.Context(), &ticket, s.unprompted))
	s.wrote("a turn again", 0, s.log.Progress(s.t.Context(), &ticket, s.unprompted))
}

// step plays one event, or none.
func (s *saga) step() {
	ctx := s.t.Context()
	switch op := s.chance.IntN(8); {
	case s.written%SegmentSize == 0 || s.written%SegmentSize == SegmentSize-1:
		s.silent[fmt.Sprint("p", len(s.sent))] = true
		s.send()
	case op == 0:
		s.send()
	case op == 1:
		p := s.prompts[s.open[s.chance.IntN(len(s.open))]]
		ticket := fleet.Ticket{Prompt: p.ID, Status: fleet.PromptRunning}
		more := int64(0)
		if s.silent[p.ID] {
			return
		}
		if p.State == api.PromptQueued {
			more, p.State = 1, api.PromptRunning
		}
		s.prompts[p.ID] = p
		s.wrote("progress", more, s.log.Progress(ctx, &ticket, s.unprompted))
	case op == 2:
		s.end()
	case op == 3:
		s.unprompted = fleet.Ledger{USD: s.unprompted.USD + 16, Turns: s.unprompted.Turns + 1}
	case op == 4:
		n := api.ApprovalNote{ID: fmt.Sprint("q", len(s.asked)), State: api.ApprovalPending}
		s.asked, s.notes[n.ID] = append(s.asked, n.ID), n
		s.wrote("a question", 1, s.log.NoteApproval(ctx, &n))
	case op == 5 && len(s.asked) > 0:
		before := s.notes[s.asked[s.chance.IntN(len(s.asked))]]
		n := before
		switch {
		case n.DecidedBy == "":
			n.State, n.DecidedBy, n.DecidedAt = api.ApprovalAllowed, "bob", time.Unix(9, 0).UTC()
		case n.Outcome == "":
			n.Outcome = api.OutcomeRan
		default:
			return
		}
		if err := s.log.RecallAll(ctx); err != nil { // as those do who note one
			s.t.Fatal(err)
		}
		s.notes[n.ID] = n
		s.wrote("a decision", 1, s.log.NoteApproval(ctx, &n))
		s.wrote("the state before", 0, s.log.NoteApproval(ctx, &before))
	default:
		s.written++
		noteEvent(s.t, s.log, api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}})
	}
}

// check opens the log as another process would and compares it with what has happened.
func (s *saga) check() {
	s.t.Helper()
	l := openLog(s.t, s.db)
	if s.chance.IntN(2) == 0 {
		defer func() { s.log = l }() // which continues from there, now and then
	}
	var open []api.Prompt
	for _, id := range s.open {
		open = append(open, s.prompts[id])
	}
	if got := l.Open(); !slices.Equal(got, open) {
		s.t.Fatalf("after %d events, open are %+v\nwant %+v", s.written, got, open)
	}
	booked, turns := 0.0, 0
	for _, day := range l.head.Days {
		booked, turns = booked+day.CostUSD, turns+day.Turns
	}
	if want := s.booked + l.head.Unprompted.USD; booked != want || turns != s.turns {
		s.t.Fatalf("after %d events, %d turns with $%v are booked, want %d with $%v", s.written, turns, booked, s.turns, want)
	}
	dense(s.t, l, s.written)
	for id, want := range s.prompts {
		if got := l.prompts[id]; got.ID != id || got.State != want.State || got.By != want.By || got.Text != want.Text {
			s.t.Fatalf("after %d events, %s is %+v, want %+v", s.written, id, got, want)
		}
	}
	for id, want := range s.notes {
		if got := l.approvals[id]; !sameNote(&got, &want) {
			s.t.Fatalf("after %d events, %s is %+v, want %+v", s.written, id, got, want)
		}
	}
}

// Whatever has happened in a conversation, and however long ago, a log that is opened
// again says so: which prompts are open, in which state everything is, and what it has
// cost. What is told twice is written once.
func TestOpenedLogIsWhole(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	s := &saga{
		t: t, db: db, log: openLog(t, db), chance: rand.New(rand.NewPCG(1, 2)),
		silent: make(map[string]bool), prompts: make(map[string]api.Prompt), notes: make(map[string]api.ApprovalNote),
	}
	for s.written < 2*SegmentSize-10 {
		if s.step(); s.written%61 == 0 {
			s.check()
		}
	}
	s.check()
}

// A turn counts for its own prompt only, and what was spent besides it counts in any case.
func TestBookedOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, partOf := range []string{"", "other"} {
		for _, over := range []bool{false, true} {
			for _, besides := range []fleet.Ledger{{}, {USD: 2, Turns: 1}} {
				day := book(nil, &api.Turn{Prompt: "p", CostUSD: 1, PartOf: partOf, OverBudget: over, Ended: at}, besides)["2026-03-04"]
				own := 0
				if partOf == "" {
					own = 1
				}
				long := 0
				if over {
					long = own
				}
				if day.Turns != own || day.CostUSD != float64(own)+besides.USD || day.Models[""].Turns != own || len(day.Over) != long {
					t.Errorf("part of %q, over budget %v, besides %+v: %+v", partOf, over, besides, day)
				}
			}
		}
	}
}

// Whichever of its events leaves the memory first, the state of a prompt or an approval
// is known as long as an event about it is in memory, or it is open. Then it is forgotten.
func TestStatesOutlastTheirEvents(t *testing.T) {
	t.Parallel()
	const rounds = 120
	chance := rand.New(rand.NewPCG(1, 2))
	k := newKept()
	seq := int64(0)
	add := func(e api.Event) {
		seq++
		e.Seq = seq
		k.add(Event{Event: e})
	}
	notice := api.Event{Type: api.EventNotice, Notice: &api.Notice{Text: "n"}}
	prompts, notes := make(map[string]api.Prompt), make(map[string]api.ApprovalNote)
	for range rounds {
		id := fmt.Sprint(chance.IntN(30))
		switch p, n := prompts[id], notes[id]; {
		case n.Outcome == "" && chance.IntN(2) == 0:
			switch n.ID = id; {
			case n.State == "":
				n.State = api.ApprovalPending
			case n.DecidedBy == "":
				n.State, n.DecidedBy = api.ApprovalDenied, "bob"
			default:
				n.Outcome = api.OutcomeRan
			}
			notes[id] = n
			add(api.Event{Type: api.EventApproval, Approval: &n})
		case p.State == api.PromptAnswered:
		case p.State == api.PromptRunning && chance.IntN(2) == 0:
			p.State = api.PromptAnswered
			prompts[id] = p
			add(api.Event{Type: api.EventTurn, Turn: &api.Turn{Prompt: id, State: p.State}})
		default:
			p = api.Prompt{ID: id, State: api.PromptRunning, Text: id}
			prompts[id] = p
			add(api.Event{Type: api.EventPrompt, Prompt: &p})
		}
	}
	first := slices.Clone(k.events)
	for range keepEvents - len(k.events) {
		add(notice)
	}
	for range first {
		bytes, told := 0, make(map[string]bool)
		for i := range k.events {
			e := &k.events[i]
			switch bytes += e.size(); e.Type {
			case api.EventTurn: // a prompt is known until its end is forgotten
				told["p"+e.Turn.Prompt] = true
			case api.EventApproval:
				told["n"+e.Approval.ID] = true
			}
		}
		if bytes != k.bytes {
			t.Fatalf("from event %d on, %d bytes are counted, want %d", k.first, k.bytes, bytes)
		}
		for id, want := range prompts {
			got, known := k.prompts[id]
			if wants := told["p"+id] || want.State != api.PromptAnswered; known != wants || known && got != want {
				t.Fatalf("from event %d on, prompt %s is %+v, want %+v, %v", k.first, id, got, want, wants)
			}
			if slices.Contains(k.unended, id) != (want.State != api.PromptAnswered) {
				t.Fatalf("from event %d on, open are %q", k.first, k.unended)
			}
		}
		for id, want := range notes {
			got, known := k.approvals[id]
			if wants := told["n"+id] || want.Outcome == ""; known != wants || known && got != want {
				t.Fatalf("from event %d on, approval %s is %+v, want %+v, %v", k.first, id, got, want, wants)
			}
		}
		add(notice)
	}
}

// A log keeps no more bytes than it may, but always its newest event.
func TestLogIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	text := make([]byte, keepBytes)
	for _, test := range []struct{ size, times, kept int }{
		{keepBytes/4 - 200, 5, 4}, {keepBytes/4 - 199, 5, 3}, {keepBytes, 3, 1},
	} {
		k := newKept()
		for i := range test.times {
			k.add(Event{Event: api.Event{Type: api.EventMessage, Seq: int64(i + 1), Message: text[:test.size]}, cursor: fmt.Sprint("at ", i+1)})
		}
		if len(k.events) != test.kept || k.first != int64(test.times-test.kept+1) || k.events[len(k.events)-1].Seq != int64(test.times) {
			t.Errorf("%d times %d bytes: %d are kept, from %d on", test.times, test.size, len(k.events), k.first)
		}
		if want := fmt.Sprint("at ", test.times-test.kept); k.begin != want || len(k.cursors) != test.kept {
			t.Errorf("%d times %d bytes: %d cursors, reading begins at %q", test.times, test.size, len(k.cursors), k.begin)
		}
	}
}
