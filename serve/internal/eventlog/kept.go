package eventlog

import (
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// kept is the part of a log that is in memory: its newest events, and the states that
// follow from them. The lock of its log guards it.
type kept struct {
	events []Event // without gaps
	first  int64   // the number of events[0]
	bytes  int
	edge   int64 // no event before this one can be brought back

	prompts   map[string]api.Prompt       // the last state of each that is kept or has not ended
	unended   []string                    // the ids of those that have not ended, the oldest first
	approvals map[string]api.ApprovalNote // likewise
	cursors   map[string]int64            // the events of messages, by their places, from begin on
	begin     string                      // the cursor of the last message that is older than what is kept, and was read
	unloaded  int                         // events whose messages have not been read yet
}

func newKept() kept {
	return kept{first: 1, prompts: make(map[string]api.Prompt), approvals: make(map[string]api.ApprovalNote), cursors: make(map[string]int64)}
}

// How much a log keeps in memory. A reader that is further behind must load the
// conversation again.
const (
	keepEvents = 10_000
	keepBytes  = 64 << 20
	keepFrames = 64 // encoded frames of the newest events

	LoadEvents = 160 // read when a log is opened, enough for a screen; older ones are recalled when they are needed
)

// add takes an event into memory.
func (k *kept) add(e Event) {
	e.frame = new(frame)
	k.events = append(k.events, e)
	if old := len(k.events) - 1 - keepFrames; old >= 0 {
		k.events[old].frame = nil
	}
	switch e.Type {
	case api.EventMessage:
		k.cursors[e.place()] = e.Seq
		if e.Message == nil {
			k.unloaded++
		}
	case api.EventPrompt:
		if _, known := k.prompts[e.Prompt.ID]; !known {
			k.unended = append(k.unended, e.Prompt.ID)
		}
		k.prompts[e.Prompt.ID] = *e.Prompt
	case api.EventTurn:
		k.unended = slices.DeleteFunc(k.unended, func(id string) bool { return id == e.Turn.Prompt })
		p := k.prompts[e.Turn.Prompt]
		p.ID, p.State, p.Error, p.Problem = e.Turn.Prompt, e.Turn.State, e.Turn.Error, ""
		k.prompts[p.ID] = p
	case api.EventApproval:
		k.approvals[e.Approval.ID] = *e.Approval
	}
	k.bytes += e.size()
	for len(k.events) > keepEvents || k.bytes > keepBytes && len(k.events) > 1 {
		k.forget(&k.events[0])
		k.bytes -= k.events[0].size()
		k.events[0] = Event{}
		k.events, k.first = k.events[1:], k.first+1
	}
}

// forget drops the state that follows from an event that leaves the memory: of a prompt
// once it has ended, of an approval once it is settled and no newer event is about it.
func (k *kept) forget(e *Event) {
	switch e.Type {
	case api.EventMessage:
		if e.Message == nil { // its cursor stays until the message is read, or it would seem new
			k.unloaded--
		} else {
			k.passed(e.cursor)
		}
	case api.EventTurn:
		delete(k.prompts, e.Turn.Prompt)
	case api.EventApproval:
		if last := k.approvals[e.Approval.ID]; last.Outcome != "" && last == *e.Approval {
			delete(k.approvals, e.Approval.ID)
		}
	}
}

// passed notes that a message was read after its event had left the memory. Messages
// are read in order, so the next reading begins after it.
func (k *kept) passed(cursor string) {
	delete(k.cursors, fleet.Cursor(cursor).ID())
	k.begin = cursor
}

// size estimates how many bytes an event takes.
func (e *Event) size() int {
	n := 200 + len(e.Message)
	if e.Prompt != nil {
		n += len(e.Prompt.Text)
	}
	return n
}

// prepend takes older events into memory, as far as they adjoin those that are there, and
// have their messages.
func (k *kept) prepend(old []Event) {
	for _, e := range slices.Backward(old) {
		if e.Seq != k.first-1 || e.Type == api.EventMessage && e.Message == nil || k.bytes+e.size() > keepBytes || len(k.events) >= keepEvents {
			break
		}
		k.first--
		k.bytes += e.size()
	}
	n := slices.IndexFunc(old, func(e Event) bool { return e.Seq == k.first })
	if n < 0 {
		return
	}
	old = old[n:]
	k.events = append(slices.Clone(old), k.events...)
	for _, e := range slices.Backward(old) { // newer states are known already
		switch e.Type {
		case api.EventMessage:
			k.cursors[e.place()] = e.Seq
		case api.EventPrompt:
			if _, known := k.prompts[e.Prompt.ID]; !known {
				k.prompts[e.Prompt.ID] = *e.Prompt
			} else if p := k.prompts[e.Prompt.ID]; p.By == "" && p.Text == "" { // only its end was known
				p.By, p.Text = e.Prompt.By, e.Prompt.Text
				k.prompts[p.ID] = p
			}
		case api.EventTurn:
			if _, known := k.prompts[e.Turn.Prompt]; !known {
				k.prompts[e.Turn.Prompt] = api.Prompt{ID: e.Turn.Prompt, State: e.Turn.State, Error: e.Turn.Error}
			}
		case api.EventApproval:
			if _, known := k.approvals[e.Approval.ID]; !known {
				k.approvals[e.Approval.ID] = *e.Approval
			}
		}
	}
}

// settle removes other senders' attempts from a head once the log has their prompts. It
// keeps those younger than SettledAfter, whose senders may still be running.
func (k *kept) settle(h *Head, now time.Time) {
	if len(h.Accepting) == 0 {
		return
	}
	h.Accepting = slices.DeleteFunc(slices.Clone(h.Accepting), func(a acceptance) bool {
		_, known := k.prompts[a.Prompt.ID]
		return known && now.Sub(a.At) >= SettledAfter
	})
}

// advance makes the event of a prompt that has progressed, unless the log has it. Only
// a prompt that is known to be open can progress: one that has ended may be forgotten,
// and its turn must not be recorded and billed twice. The cost of turns that answer no
// prompt is booked on the day on which the next prompt ends.
func (k *kept) advance(h *Head, t *fleet.Ticket, unprompted fleet.Ledger) []Event {
	p := k.prompts[t.Prompt]
	if !slices.Contains(k.unended, t.Prompt) || StandsAs(&p, t) {
		return nil
	}
	if !t.Status.Done() {
		TakeTicket(&p, t)
		return []Event{{Event: api.Event{Type: api.EventPrompt, Prompt: &p}}}
	}
	turn := &api.Turn{
		Prompt: t.Prompt, State: api.PromptState(t.Status), Error: t.Error, Ended: t.Ended.UTC(), CostUSD: t.Cost.USD, Models: ModelsOf(t.Cost.Models), PartOf: t.PartOf, Output: t.Output,
	}
	turn.Failure = failureKind(t)
	if t.Result != nil {
		turn.StopReason = t.Result.StopReason
		turn.Millis, turn.OverBudget = t.Result.DurationMS, t.Result.Subtype == message.ResultErrorMaxBudget
	}
	h.Days = book(h.Days, turn, difference(unprompted, h.Unprompted))
	if unprompted.Turns > h.Unprompted.Turns {
		h.Unprompted = unprompted
	}
	h.Context = h.Context.ended(t.Cost.Models)
	return []Event{{Event: api.Event{Type: api.EventTurn, Turn: turn}}}
}
