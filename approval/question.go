package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/permission"
)

// Question is a tool call that a person must decide. It is a value; changing it
// does not change the inbox.
type Question struct {
	// ID names the question in its project. [Questions.Ask] sets it: the same
	// call of a conversation always has the same id.
	ID string `json:"id"`
	// Conversation is the conversation that asks.
	Conversation string `json:"conversation"`
	// Prompt is the CLI's own id of the prompt that the agent is working on, if
	// known, as in [hook.Base].PromptID. It is not the id that Send returned.
	Prompt string `json:"prompt,omitzero"`

	Tool      string          `json:"tool"`
	ToolUseID string          `json:"toolUseId"`
	Input     json.RawMessage `json:"input"`
	// Digest identifies the input; see [Digest]. Ask sets it.
	Digest string `json:"digest"`
	// Cwd is the working directory of the CLI, if known.
	Cwd string `json:"cwd,omitzero"`
	// Agent is the id of the subagent that made the call; empty for the main
	// thread. A subagent's call cannot be deferred: its process waits.
	Agent string `json:"agent,omitzero"`
	// HoldsProcess reports that the call cannot be deferred: a process waits
	// for the decision, and the question ends when the process has waited long
	// enough. This applies to calls of subagents, to questions of MCP servers,
	// and to calls that only the CLI's own rules put before a person. All
	// others, even AskUserQuestion and ExitPlanMode, need no process.
	HoldsProcess bool `json:"holdsProcess,omitzero"`
	// Repeatable allows the call to run again if it is unknown whether it ran
	// before.
	Repeatable bool `json:"repeatable,omitzero"`

	// Reason is why a person is asked.
	Reason string `json:"reason,omitzero"`
	// Diff shows the change that an edit would make to the file as of when the
	// question was asked: a unified diff, cut if it is very long.
	Diff string `json:"diff,omitzero"`
	// Suggestions are rules under which calls like this one would not be asked
	// about again, for [Answer.Always]. The first are the narrowest.
	Suggestions []string `json:"suggestions,omitempty"`
	// Plan is the text of the plan to approve, and PlanPath its file.
	Plan     string `json:"plan,omitzero"`
	PlanPath string `json:"planPath,omitzero"`

	// Deciders are the people who may decide. Empty means everyone.
	Deciders []string `json:"deciders,omitempty"`
	// Lifetime is how long the question can be decided, counted by the clock of
	// the store from when it is asked. 0 means forever. It is not stored;
	// Deadline is.
	Lifetime time.Duration `json:"-"`

	// The rest is set by the inbox.

	State State `json:"state"`
	// Asked is when the question was first asked, by the clock of the store.
	Asked time.Time `json:"asked"`
	// Deadline is when the question expires; the zero time if it never does.
	Deadline time.Time `json:"deadline,omitzero"`
	// Deferred reports that no process waits for the decision: the
	// conversation sleeps, and must be woken to learn it.
	Deferred bool `json:"deferred,omitzero"`
	// Answer is the decision, from [StateDecided] on.
	Answer *Answer `json:"answer,omitzero"`
	// Outcome is how a [StateSettled] or [StateGone] question ended.
	Outcome Outcome `json:"outcome,omitzero"`
	// Ended is when it was settled or gone.
	Ended time.Time `json:"ended,omitzero"`
	// Unused explains why the decision was not used: the question is [StateGone], and its call
	// never learned the decision. Empty if the decision was used, or there was none.
	Unused string `json:"unused,omitzero"`
	// UnusedSeen is when the person who decided has seen that; see
	// [Questions.Acknowledge].
	UnusedSeen time.Time `json:"unusedSeen,omitzero"`
	// Successor is the question that replaced one that was superseded.
	Successor string `json:"successor,omitzero"`

	unknown jsonx.Unknown // members of its record that a newer program has added
}

// Answer is a person's decision.
type Answer struct {
	// Decision allows the call, with its input or another, or denies it. Its updates
	// reach the CLI only if that asks for permission itself, as it does for a plan: so a
	// plan can be allowed with the mode that follows it.
	Decision permission.Decision `json:"decision"`
	// By names who decided.
	By string `json:"by"`
	// Digest is the digest of the input that was shown to them.
	Digest string `json:"digest"`
	// Always are rules, such as "Bash(go test:*)", that become rules of the
	// conversation: calls that fit them are decided in the same way from now
	// on, without asking. A rule that denies wins. One that allows must be
	// narrow: it cannot be about all commands, all files or several tools. The
	// syntax is that of Rules in package permission/policy.
	Always []string `json:"always,omitempty"`
	// Rule is the rule of the conversation that gave this answer, if it was
	// not a person. By is then who made the rule.
	Rule string `json:"rule,omitzero"`
	// At is when the inbox took the decision, by the clock of the store.
	At time.Time `json:"at,omitzero"`
}

// same reports whether two answers decide the same.
func (a *Answer) same(b *Answer) bool {
	x, errX := a.Decision.MarshalJSON()
	y, errY := b.Decision.MarshalJSON()
	return errX == nil && errY == nil && bytes.Equal(x, y) && a.By == b.By && slices.Equal(a.Always, b.Always)
}

// State is a stage in the life of a question.
type State string

// The states of a question.
const (
	StateOpen     State = "open"     // waits for a person
	StateDecided  State = "decided"  // the call has not learned the decision yet
	StateReleased State = "released" // the call was allowed and may be running
	StateSettled  State = "settled"  // it is known how the call ended
	StateGone     State = "gone"     // can no longer be decided
)

// Waiting returns the states of a question that is not over.
func Waiting() []State { return []State{StateOpen, StateDecided, StateReleased} }

// over reports whether the question can no longer change.
func (s State) over() bool { return s == StateSettled || s == StateGone }

// Outcome is how a question ended.
type Outcome string

// The outcomes. The first five belong to settled questions, the others to those
// that are gone.
const (
	OutcomeRan     Outcome = "ran"     // the tool ran
	OutcomeFailed  Outcome = "failed"  // the tool ran and returned an error
	OutcomeDenied  Outcome = "denied"  // the call was denied, by a person or, after that, by a hook
	OutcomeUnknown Outcome = "unknown" // the tool was started; whether it finished is unknown
	OutcomeAllowed Outcome = "allowed" // the call was allowed; how it ended was not observed

	OutcomeExpired    Outcome = "expired"    // no person decided in time
	OutcomeWithdrawn  Outcome = "withdrawn"  // the agent no longer asks
	OutcomeSuperseded Outcome = "superseded" // another question replaced it
	OutcomeDeleted    Outcome = "deleted"    // the conversation was deleted
)

// state returns the state in which a question has the outcome.
func (o Outcome) state() State {
	switch o {
	case OutcomeRan, OutcomeFailed, OutcomeDenied, OutcomeUnknown, OutcomeAllowed:
		return StateSettled
	case OutcomeExpired, OutcomeWithdrawn, OutcomeSuperseded, OutcomeDeleted:
		return StateGone
	}
	return ""
}

// MayDecide reports whether the question may be decided by that person.
func (q *Question) MayDecide(by string) bool {
	return len(q.Deciders) == 0 || slices.Contains(q.Deciders, by)
}

// Request returns the question as the request of a permission callback, so that
// everything that describes, checks or answers such requests works for it.
func (q *Question) Request() *permission.Request {
	return &permission.Request{ToolName: q.Tool, Input: q.Input, ToolUseID: q.ToolUseID, AgentID: q.Agent, Cwd: q.Cwd}
}

// expired reports whether an open question can no longer be decided.
func (q *Question) expired(now time.Time) bool {
	return q.State == StateOpen && !q.Deadline.IsZero() && !now.Before(q.Deadline)
}

// Filter selects questions.
type Filter struct {
	Conversation string  // only those of one conversation; empty: of all
	States       []State // only those in one of these states; empty: in any
	Decider      string  // only those that this person may decide; empty: all
	// Unused selects only questions that this person decided, whose decision was not used
	// and who has not seen that yet; empty: all.
	Unused string
}

// matches reports whether the filter selects the question.
func (f *Filter) matches(q *Question) bool {
	return (f.Conversation == "" || f.Conversation == q.Conversation) &&
		(len(f.States) == 0 || slices.Contains(f.States, q.State)) &&
		(f.Decider == "" || q.MayDecide(f.Decider)) &&
		(f.Unused == "" || q.unseen() && q.Answer.By == f.Unused)
}

// Digest identifies an input: the SHA-256 of its JSON without blanks, in
// hexadecimal digits.
func Digest(input json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, input) != nil {
		compact.Reset()
		compact.Write(input)
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:])
}

// idOf makes the id of a question. All processes that ask about a call find the
// same record, without a search.
func idOf(conversation, toolUseID string) string {
	sum := sha256.Sum256([]byte(conversation + "\x00" + toolUseID))
	return hex.EncodeToString(sum[:idBytes])
}

// idBytes are enough that two calls cannot be made to share a question.
const idBytes = 16

// isID reports whether a question can have that id. Ids come from requests.
func isID(id string) bool {
	b, err := hex.DecodeString(id)
	return err == nil && len(b) == idBytes && hex.EncodeToString(b) == id
}
