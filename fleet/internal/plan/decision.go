package plan

// Rules are the limits that the owner was given.
type Rules struct {
	// Attempts is how often a prompt may begin without progress, and Resets how often
	// progress restarts the count. Losses is how often an attempt that lost its lease
	// does not count.
	Attempts, Resets, Losses int
}

// Decision is the owner's next action: a line, changes, or a step, and only one of
// them.
type Decision struct {
	// Line is appended to the transcript, nil if none is. Appending it is idempotent.
	Line Line
	// Changes are made in this order. If the owner dies in between, the next one decides
	// about the rest.
	Changes []Change
	// Step is taken if there is neither a line nor a change.
	Step Step
	// Prompt is the subject of the step. It is recorded as begun before a CLI can see
	// it, with the count and the place that it has here. A conversation that sleeps with
	// one waits for a person, or for money.
	Prompt Prompt
	// Question is the one about the deferred call to make, empty if no person was asked.
	Question string
	// Tell are calls that the model must read about with the prompt.
	Tell []string
}

// Step is the owner's action once everything is recorded.
type Step int

// The steps of an owner.
const (
	Sleep  Step = iota // nothing is to be done
	Send               // give the prompt to a CLI
	Finish             // let a CLI make the deferred call
	Resume             // let a CLI continue the turn
	Await              // let the CLI answer the prompt, which it has
	Rewind             // let a CLI restore files
	Erase              // remove what is left of a deleted conversation
	Read               // read the questions and the transcript, and decide again
)

// Line is a line for the transcript.
type Line interface{ line() }

// Defer is the line that the CLI writes when a call is deferred: it makes the turn wait at
// the call of a question.
type Defer struct{ Question string }

// Note informs the model about calls that it does not remember and whose outcome is
// unknown. Without calls it only lets the CLI continue.
type Note struct{ Calls []string }

func (Defer) line() {}
func (Note) line()  {}

// Change is a change of records.
type Change interface{ change() }

// End gives a prompt its outcome and takes it out of the queue.
type End struct {
	Prompt string
	As     Outcome
	// Of is the prompt whose turn took it in, if that is why, and Question the one that
	// was not decided in time.
	Of, Question string
}

// Settle ends a question whose call may have run.
type Settle struct {
	Question string
	Result   Result
}

// Withdraw ends a question whose call will not be made. A decision that it has is kept as
// not used, for its person to see.
type Withdraw struct{ Question string }

// Wait lets a prompt rest until its question is decided. That is progress: attempts
// count from zero.
type Wait struct{ Prompt, Question string }

// Stick gives up a conversation at a prompt.
type Stick struct{ Prompt string }

// Free frees a conversation that was stuck.
type Free struct{}

// Settled means that no questions of ended turns are left.
type Settled struct{}

// Keep puts calls on record that only their questions had.
type Keep struct{ Calls []string }

func (End) change()      {}
func (Settle) change()   {}
func (Withdraw) change() {}
func (Wait) change()     {}
func (Stick) change()    {}
func (Free) change()     {}
func (Settled) change()  {}
func (Keep) change()     {}
