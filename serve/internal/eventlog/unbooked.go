package eventlog

import (
	"slices"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
)

// unbooked is the cost of a conversation that is not in the sums of its log when the
// log is closed: of prompts that have not ended, and of turns that answer no prompt.
// The fleet forgets it with the conversation. The cost of a turn that the deletion cuts
// off is unknown.
type unbooked struct {
	At         time.Time    `json:"at"`
	Turns      []api.Turn   `json:"turns,omitempty"`
	Unprompted fleet.Ledger `json:"unprompted,omitzero"`
}

// AllDays returns the sums of the log, including the unbooked cost.
func (h *Head) AllDays() map[string]DaySum {
	if h.Erasing == nil || h.Erasing.Unbooked == nil {
		return h.Days
	}
	days, rest := h.Days, h.Erasing.Unbooked
	for i := range rest.Turns {
		days = book(days, &rest.Turns[i], fleet.Ledger{})
	}
	if more := difference(rest.Unprompted, h.Unprompted); more.Turns > 0 {
		days = bookBesides(days, rest.At, more)
	}
	return days
}

// With returns the unbooked cost after the fleet was asked again. It modifies none of its
// arguments.
func (u *unbooked) With(turns []api.Turn, unprompted fleet.Ledger, now time.Time) *unbooked {
	next := &unbooked{At: now.UTC(), Turns: turns, Unprompted: unprompted}
	if u == nil {
		return next
	}
	for _, old := range u.Turns {
		if !slices.ContainsFunc(turns, func(t api.Turn) bool { return t.Prompt == old.Prompt }) {
			next.Turns = append(next.Turns, old)
		}
	}
	if u.Unprompted.Turns > unprompted.Turns {
		next.At, next.Unprompted = u.At, u.Unprompted
	}
	return next
}
