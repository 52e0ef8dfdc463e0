package fleet

import (
	"time"

	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/permission"
)

func newID() string { return uuid.New() }

// State is what a conversation does.
type State string

// The states of a conversation.
const (
	Asleep         State = "asleep"   // nothing to do
	Pending        State = "pending"  // has prompts, and waits for a place
	Starting       State = "starting" // its CLI is being started here
	Awake          State = "awake"    // has a CLI here
	AwaitingPerson State = "waiting"  // waits for a person, without a CLI
	Held           State = "held"     // has prompts, but its budget is spent
	Stuck          State = "stuck"    // needs somebody to look at it
)

// ConversationInfo is what a list shows about a conversation.
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
	// Unsettled is why questions about calls of its turns, which have ended, are still
	// in the inbox: the transcript, which says how the calls ended, could not be read.
	// That is tried again when the conversation wakes next.
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
	// Usage is what its CLI uses at the moment; zero if none runs in this
	// process, or if it cannot be measured.
	Usage ProcessUsage
}
