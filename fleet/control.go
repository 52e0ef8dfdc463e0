package fleet

import (
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
)

func newID() string { return uuid.New() }

// State is the state of a conversation.
type State string

// The states of a conversation.
const (
	StateAsleep   State = "asleep"   // nothing to do
	StatePending  State = "pending"  // has prompts, and waits for a place
	StateStarting State = "starting" // its CLI is being started here
	StateAwake    State = "awake"    // has a CLI here
	StateWaiting  State = "waiting"  // waits for a person, without a CLI
	StateHeld     State = "held"     // has prompts, but its budget is spent
	StateStuck    State = "stuck"    // needs a person to look at it
)

// ConversationInfo describes a conversation in a list.
type ConversationInfo struct {
	Key      string
	State    State
	Session  string
	Created  time.Time
	Title    string            // see [Fleet.Describe]
	Labels   map[string]string // see [Fleet.Describe]
	Queued   int               // prompts without an outcome
	Question string            // what it waits for
	Stuck    string            // why it is stuck
	Cause    Cause             // what kind of reason that is
	// Unsettled is why questions about calls of turns that have ended are still in the
	// inbox: the transcript, which records how the calls ended, could not be read. The
	// fleet tries again when the conversation next wakes.
	Unsettled string
	Model     string // if it was chosen
	Mode      permission.Mode
	Cost      Ledger // of all its turns
	// Unprompted is the part of Cost that no prompt bears: turns that the CLI
	// began by itself, because an agent in the background had ended.
	Unprompted Ledger
	// BudgetUSD is the budget that is spent, if it is held: what it may cost, or, with
	// HeldUntil, what its tenant or the fleet may cost on a day.
	BudgetUSD float64
	// HeldUntil is when the day ends whose budget is spent, if it is held for that.
	HeldUntil time.Time
	// Usage is the current usage of its CLI; zero if none runs in this process, or if
	// it cannot be measured.
	Usage ProcessUsage
}
