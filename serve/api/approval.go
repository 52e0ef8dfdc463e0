package api

import (
	"encoding/json"
	"time"
)

// ApprovalKind is the kind of question that a person is asked.
type ApprovalKind string

// The kinds of approvals.
const (
	KindTool        ApprovalKind = "tool"        // may this call run?
	KindQuestion    ApprovalKind = "question"    // the agent wants to know something
	KindPlan        ApprovalKind = "plan"        // may it begin with this plan?
	KindElicitation ApprovalKind = "elicitation" // an MCP server wants to know something
)

// ApprovalState is the state of an approval.
type ApprovalState string

// The states of an approval. All but the first are final.
const (
	ApprovalPending   ApprovalState = "pending"
	ApprovalAllowed   ApprovalState = "allowed"
	ApprovalDenied    ApprovalState = "denied"
	ApprovalAnswered  ApprovalState = "answered"
	ApprovalExpired   ApprovalState = "expired"   // no one decided in time
	ApprovalWithdrawn ApprovalState = "withdrawn" // the decision is no longer needed
)

// Approval is a question to people: a tool call, a plan or a form.
type Approval struct {
	ID           string       `json:"id"`           // its id
	Conversation string       `json:"conversation"` // the id of the conversation that asks
	Kind         ApprovalKind `json:"kind"`         // what is asked
	Tool         string       `json:"tool"`         // the name of the tool
	// ToolUseID is the id of the call in the messages.
	ToolUseID string `json:"tool_use_id,omitzero"`
	// Title is the question in one line.
	Title string `json:"title"`
	// Reason explains why a person is asked.
	Reason string          `json:"reason,omitzero"`
	Input  json.RawMessage `json:"input"` // the input of the tool call
	// Digest identifies the input. A decision repeats it, so that only the input
	// that was shown can run.
	Digest string `json:"digest"`
	Dir    string `json:"dir,omitzero"` // the working directory of the conversation
	// Diff shows what an edit would change, as a unified diff.
	Diff string `json:"diff,omitzero"`
	// Plan is the text of a plan, and PlanPath its file.
	Plan     string `json:"plan,omitzero"`
	PlanPath string `json:"plan_path,omitzero"`
	// Questions are the agent's questions.
	Questions []Question `json:"questions,omitempty"`
	// Form is the form that an MCP server wants filled in.
	Form *Form `json:"form,omitempty"`
	// Modes are the permission modes that may follow a plan, if the requesting user may
	// choose one with the decision.
	Modes []string `json:"modes,omitempty"`
	// Mode is the permission mode that was chosen with the decision.
	Mode string `json:"mode,omitzero"`
	// Suggestions are rules that a decision may remember, by their index.
	Suggestions []string `json:"suggestions"`
	// AgentID is the subagent that asks; empty for the main agent.
	AgentID string `json:"agent_id,omitzero"`
	// HoldsProcess is true if a process waits for the decision and cannot be
	// released, so the approval ends when it has waited too long.
	HoldsProcess bool `json:"holds_process"`
	// Deferred is true if no process waits.
	Deferred bool      `json:"deferred"`
	AskedAt  time.Time `json:"asked_at"` // when the question was asked
	// ExpiresAt is when it can no longer be decided; missing: never.
	ExpiresAt time.Time     `json:"expires_at,omitzero"`
	State     ApprovalState `json:"state"`               // how it stands
	DecidedBy string        `json:"decided_by,omitzero"` // the user who decided
	DecidedAt time.Time     `json:"decided_at,omitzero"` // when it was decided
	// Rule is the remembered rule that decided, instead of a person.
	Rule string `json:"rule,omitzero"`
	// Message is the text that the model read with a refusal.
	Message string `json:"message,omitzero"`
	// Outcome is how the call ended: ran, failed, denied, unknown or allowed.
	// Unknown: it was started, and may or may not have finished.
	Outcome Outcome `json:"outcome,omitzero"`
	// Unused explains why the decision was not used, if it was not: the approval is
	// withdrawn, and the decision never reached the call. It is kept until the
	// person who decided has read this approval.
	Unused string `json:"unused,omitzero"`
	// Successor is the approval that replaced one that was withdrawn.
	Successor string `json:"successor,omitzero"`
	// MayDecide reports whether the requesting user may decide it.
	MayDecide bool `json:"may_decide"`
}

// Question is something that the agent wants to know.
type Question struct {
	Question    string   `json:"question"`        // the question
	Header      string   `json:"header,omitzero"` // a heading of a few words
	MultiSelect bool     `json:"multi_select"`    // whether several options may be chosen
	Options     []Option `json:"options"`         // the answers to choose from
}

// Option is an answer to choose.
type Option struct {
	Label       string `json:"label"`                // its text, which an answer repeats
	Description string `json:"description,omitzero"` // an explanation
	Preview     string `json:"preview,omitzero"`     // what choosing it would look like
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	State        ApprovalState // empty: in any
	Conversation string        // empty: of all
	Kind         ApprovalKind  // empty: of any
	Preset       string        // of the conversation; empty: of any
	// Text occurs in the title of the conversation, the name of the tool, or the
	// question. Case does not matter.
	Text   string
	Limit  int // 50 if it is 0, at most 200
	Cursor string
}

// DecisionKind is the kind of a decision.
type DecisionKind string

// The kinds of decisions.
const (
	DecideAllow  DecisionKind = "allow"
	DecideDeny   DecisionKind = "deny"
	DecideAnswer DecisionKind = "answer" // questions and elicitations
)

// Decision decides an approval.
type Decision struct {
	Decision DecisionKind `json:"decision" enum:"allow,deny,answer"` // what is decided
	// Digest is the digest of the input that the person saw.
	Digest string `json:"digest"`
	// Message is the text that the model reads with a refusal.
	Message string `json:"message,omitzero"`
	// Input runs the call with another input; for an elicitation it is the
	// content of the form.
	Input json.RawMessage `json:"input,omitzero"`
	// Answers answer the questions of the agent.
	Answers []QuestionAnswer `json:"answers,omitempty"`
	// Remember are the indices of suggestions that become rules of the
	// conversation.
	Remember []int `json:"remember,omitempty"`
	// Mode is the permission mode that follows an allowed plan, one of the approval's
	// Modes. Empty: the CLI chooses.
	Mode string `json:"mode,omitzero"`
	// Stop also ends the turn, with a denial.
	Stop bool `json:"stop,omitzero"`
}

// QuestionAnswer answers one question, which it names by index: with labels of options,
// or with a text.
type QuestionAnswer struct {
	Question int      `json:"question"`         // the index of the question, from 0
	Choose   []string `json:"choose,omitempty"` // labels of options
	Write    string   `json:"write,omitzero"`   // a text of your own
}

// Outcome is how an approval has ended.
type Outcome string

// The outcomes. The first five are for calls that were decided, the others for
// approvals that are no longer needed.
const (
	OutcomeRan     Outcome = "ran"     // the tool ran
	OutcomeFailed  Outcome = "failed"  // the tool ran and returned an error
	OutcomeDenied  Outcome = "denied"  // the call was denied, by a person or, after that, by a hook
	OutcomeUnknown Outcome = "unknown" // the tool was started, and may or may not have finished
	OutcomeAllowed Outcome = "allowed" // the call was allowed, and its end was not observed

	OutcomeExpired    Outcome = "expired"    // no one decided in time
	OutcomeWithdrawn  Outcome = "withdrawn"  // the agent no longer asks
	OutcomeSuperseded Outcome = "superseded" // another approval replaced it
	OutcomeDeleted    Outcome = "deleted"    // the conversation was deleted
)
