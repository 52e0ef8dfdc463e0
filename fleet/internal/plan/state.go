package plan

// State is everything that is stored of a conversation.
type State struct {
	// Brief means that only its records were read, and neither questions nor turns. Mostly
	// they do not matter, and a transcript may be large.
	Brief        bool
	Conversation Conversation
	// Prompts is the queue, in the order of acceptance.
	Prompts []Prompt
	// Questions holds the questions of this conversation, including those that
	// are over.
	Questions []Question
	// Calls were let go, and were not in the transcript then.
	Calls []string
	// Outcomes has those of ended prompts, as far as turns of the queue depend on them.
	Outcomes map[string]Outcome
	// Transcript holds the facts that the transcript of its session shows.
	Transcript Facts
}

// Conversation is the record of a conversation.
type Conversation struct {
	// Deleted means that its deletion has begun.
	Deleted bool
	// Stuck is the prompt at which it was given up, empty if it was not.
	Stuck string
	// Unsettled means that a turn has ended and its questions could not be ended.
	Unsettled bool
	// Overspent means that nothing new may begin.
	Overspent bool
}

// Prompt is a prompt of the queue. It is there until it has its outcome.
type Prompt struct {
	ID string
	// Sent means that a CLI may have seen it, and Given that the CLI of this owner has it.
	Sent, Given bool
	// Steer means that a running turn may take it in.
	Steer bool
	// Rewind means that it restores files and is not a message.
	Rewind bool
	// Cancelled and Interrupted are marks: decided, and still to be done.
	Cancelled, Interrupted bool
	// Begun counts the attempts without progress, and Resets how often progress has set
	// that back. Since is the message that did so last.
	Begun, Resets int
	Since         string
	// Lost means that this owner made the last attempt, lost its lease during it, and
	// has it again. Losses counts the attempts that do not count for that.
	Lost   bool
	Losses int
	// Question is the one that it waits for.
	Question string
}

func (p Prompt) isCancelled() bool { return p.Cancelled }

// Outcome is how a prompt has ended.
type Outcome int

// The outcomes of prompts.
const (
	Pending Outcome = iota
	Answered
	Failed
	Cancelled
	Interrupted
	Expired
)

// stops reports whether prompts that the turn took in end in the same way.
func (o Outcome) stops() bool { return o == Cancelled || o == Interrupted || o == Expired }

// Question is a call that a person must decide about.
type Question struct {
	ID, Call string
	Stage    Stage
	// Overdue means that it is over because it was not decided in time.
	Overdue bool
	// Aside means that a note must not name its call: the question is not about a tool.
	Aside bool
	// Holds means that its call cannot be deferred.
	Holds bool
}

// Stage is the progress of a question.
type Stage int

// The stages of a question.
const (
	Open     Stage = iota
	Decided        // by a person
	Released       // its call may run
	Over
)

// waits reports whether its call has not been let go.
func (q *Question) waits() bool { return q.Stage == Open || q.Stage == Decided }

// Facts are the contents of a transcript that matter here.
type Facts struct {
	// Turns has the prompts that it has.
	Turns map[string]Turn
	// Calls has the calls that it has, and how they ended.
	Calls map[string]Result
	// Noted has the calls that a note names as unknown.
	Noted map[string]bool
}

// Turn is the progress of a prompt in the transcript.
type Turn struct {
	Standing Standing
	// Of is the prompt that began the turn: this one, or the one whose turn took it in.
	Of string
	// Open are the calls of its last answer without a result.
	Open []string
	// Noted means that a note follows those calls. A deferral would continue from
	// before it, and the model would not read it.
	Noted bool
	// Continued means that it ends with the line by which a CLI has continued it. The
	// next CLI would wait after that line, unless a note replaces it.
	Continued bool
	// Last is the last message of the model or of a tool, empty if there is none.
	Last string
}

// Standing is the progress of a turn.
type Standing int

// The standings of turns.
const (
	Unseen   Standing = iota // the transcript does not have the prompt
	Cut                      // it broke off
	Deferred                 // it waits at a call
	Done                     // it was answered
)

// Result is how a call ended.
type Result int

// The results of calls.
const (
	None Result = iota // it is not known yet
	Ran
	Refused // or failed
	Lost    // it will never be known
)
