package fleet

import (
	"strings"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet/internal/outcomelog"
	"github.com/claude-agent-go/claude/store"
)

// reaction is the work that a change in the store calls for.
type reaction string

const (
	ignore              reaction = "ignore"
	lookAtAll           reaction = "look at all"
	promptChanged       reaction = "prompt changed" // or new
	promptGone          reaction = "prompt gone"
	promptEnded         reaction = "prompt ended" // it has an outcome
	outcomeMarked       reaction = "outcome marked"
	conversationChanged reaction = "conversation changed"
	questionChanged     reaction = "question changed"
	leaseFree           reaction = "lease free"
	saidMore            reaction = "said more"
)

// reactTo decides what a change calls for. The changes that this process has made itself
// call for nothing. It decides by the names alone: an announcement is only a hint where
// to look.
func reactTo(c store.Changed, own bool) reaction {
	switch {
	case c.IsZero():
		return lookAtAll
	case own:
		return ignore
	case c.Released != "":
		return onlyIf(isPlace(placeOf(c.Released)), leaseFree)
	case c.Transcript != store.Key{}:
		return onlyIf(isPlace(placeOf(c.By.Name)), saidMore)
	}
	name, dropped := c.Record.Name, c.Revision == 0
	switch c.Record.Kind {
	case kindPrompt:
		if dropped {
			return onlyIf(isPlace(name), promptGone)
		}
		return onlyIf(isPlace(name), promptChanged)
	case kindOutcome:
		return onlyIf(isPlace(name), promptEnded)
	case outcomelog.KindMark:
		return onlyIf(!dropped, outcomeMarked) // dropped, it is in the log
	case kindConversation:
		return onlyIf(isPlace(name), conversationChanged)
	case approval.Kind:
		return questionChanged
	}
	return ignore
}

func onlyIf(ok bool, r reaction) reaction {
	if ok {
		return r
	}
	return ignore
}

// placeOf is the place of the conversation that a lease belongs to, "" if it is not the
// lease of one.
func placeOf(lease string) string {
	at, ok := strings.CutPrefix(lease, leasePrefix)
	if !ok {
		return ""
	}
	return at
}

// isPlace reports whether a name begins with the place of a conversation.
func isPlace(name string) bool { return keyAt(name) != "" }
