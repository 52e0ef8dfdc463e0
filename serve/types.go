package serve

import (
	"encoding/json"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/permission"
)

// List is a page of a list. Next is the cursor of the next page, empty on the
// last.
type List[T any] struct {
	Items []T    `json:"items"`
	Next  string `json:"next,omitzero"`
}

// State is what a conversation does.
type State string

// The states of a conversation.
const (
	Idle     State = "idle"     // nothing to do
	Queued   State = "queued"   // has prompts, and waits for a free process
	Starting State = "starting" // its process is being started
	Running  State = "running"  // a turn runs
	Waiting  State = "waiting"  // a process waits for a person
	Deferred State = "deferred" // waits for a person without a process
	Failed   State = "failed"   // stuck: Reason says why, and retry tries again
	Ended    State = "ended"    // archived: it takes no prompts until it is taken out of the archive
)

// Conversation is a conversation as its users see it.
type Conversation struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Preset string `json:"preset,omitzero"`
	Owner  string `json:"owner,omitzero"`
	// Shared conversations are seen by all users.
	Shared bool  `json:"shared"`
	State  State `json:"state"`
	// Reason says why a conversation has failed, and what to do; or why its prompts
	// wait, if its budget is spent.
	Reason string `json:"reason,omitzero"`
	// Problem is what kind of reason that is, if people can fix it on the server.
	Problem fleet.Cause `json:"problem,omitzero" enum:"cli-missing,cli-failed"`
	// Pending is how many approvals wait for a person.
	Pending int `json:"pending"`
	// Queued is how many prompts have no answer yet.
	Queued int             `json:"queued"`
	Model  string          `json:"model,omitzero"`
	Mode   permission.Mode `json:"mode,omitzero"`
	Dir    string          `json:"dir,omitzero"`
	Labels []string        `json:"labels"`
	// Archived conversations are left out of lists, and take no prompts.
	Archived bool    `json:"archived"`
	CostUSD  float64 `json:"cost_usd"`
	Turns    int     `json:"turns"`
	// Context is how full the context is. Missing: not known, because no turn has
	// ended yet, or the context was compacted and nothing was answered since.
	Context *ContextUse `json:"context,omitzero"`
	// LastSeq is the number of the last event; follow the stream after it.
	LastSeq int64 `json:"last_seq"`
	// Unread says that something has happened since you read it; see ReadMark.
	Unread  bool      `json:"unread"`
	Created time.Time `json:"created"`
	// Session is the id of the CLI's session.
	Session string `json:"session,omitzero"`
	// ForkOf is the conversation that this one began as a copy of.
	ForkOf string `json:"fork_of,omitzero"`
	// Resumed is the session on the server's disk that this one continues.
	Resumed string `json:"resumed,omitzero"`
}

// ContextUse is how much of its context a conversation fills: what the model read for
// the last answer of the main agent. Sub-agents have contexts of their own.
type ContextUse struct {
	// Model is the one that answered, and Window the size of its context.
	Model  string `json:"model"`
	Tokens int64  `json:"tokens"`
	Window int64  `json:"window"`
	// Percent is the share of Window that Tokens are, rounded, but at least 1.
	Percent int `json:"percent"`
}

// ReadMark says how far somebody has read a conversation.
type ReadMark struct {
	// Seq is the number of the last event that they have seen. Missing: all.
	Seq int64 `json:"seq,omitzero"`
}

// ConversationQuery selects conversations. Empty members select all.
type ConversationQuery struct {
	State    State
	Preset   string
	Owner    string
	Label    string
	Text     string // in the title or the id
	Archived bool   // also those
	Limit    int    // 50 if it is 0, at most 200
	Cursor   string
}

// NewConversation asks for a conversation.
type NewConversation struct {
	Preset string `json:"preset"`
	// Prompt is the first prompt. Without one the conversation is empty, and
	// begins with the first that is sent to it.
	Prompt string `json:"prompt,omitzero"`
	// Title is what lists show. Empty: the beginning of the prompt.
	Title string          `json:"title,omitzero"`
	Model string          `json:"model,omitzero"`
	Mode  permission.Mode `json:"mode,omitzero"`
	// Dir is the working directory: below one of the preset's roots. Empty: the
	// first of them.
	Dir    string   `json:"dir,omitzero"`
	Labels []string `json:"labels,omitempty"`
	Shared bool     `json:"shared,omitzero"`
	// Resume continues a session that the CLI has kept on the server's disk, by its
	// id, in the session's directory. What is said from then on is not on that disk.
	// It needs the role admin, as the list of these sessions does.
	Resume string `json:"resume,omitzero"`
	// Fork makes it a copy of another conversation, or of a session on the disk.
	Fork *ForkFrom `json:"fork,omitzero"`

	id      string        // chosen by an Idempotency-Key
	request string        // what id was, if a session decides about that
	first   *fleet.Prompt // instead of Prompt
}

// ForkFrom says what to copy: a conversation or a session.
type ForkFrom struct {
	Conversation string `json:"conversation,omitzero"`
	// Session is the id of a session on the server's disk. It needs the role
	// admin.
	Session string `json:"session,omitzero"`
	// Message is the UUID of the last message to copy. Empty: all of them.
	Message string `json:"message,omitzero"`
}

// Change changes a conversation. Members that are missing stay as they are.
type Change struct {
	Title    *string          `json:"title,omitempty"`
	Archived *bool            `json:"archived,omitempty"`
	Shared   *bool            `json:"shared,omitempty"`
	Labels   *[]string        `json:"labels,omitempty"`
	Model    *string          `json:"model,omitempty"`
	Mode     *permission.Mode `json:"mode,omitempty"`
}

// NewPrompt asks for something to be said to a conversation.
type NewPrompt struct {
	// ID is a UUID that names the prompt. One that the conversation already has
	// is not accepted again. Empty: a random one.
	ID string `json:"id,omitzero"`
	// Content is a text, or a list of blocks as in the Messages API.
	Content json.RawMessage `json:"content"`
	// Delivery is "queue" by default: the prompts of a conversation run one
	// after another. "steer" gives the prompt to the running turn, which takes
	// it in with the results of its next tool calls. If no turn does, it
	// becomes the next turn, ahead of the prompts that are waiting.
	Delivery Delivery `json:"delivery,omitzero" enum:"queue,steer"`
}

// Delivery is how a prompt reaches a conversation.
type Delivery string

// The ways in which a prompt can reach a conversation.
const (
	DeliveryQueue Delivery = "queue" // it waits for its turn
	DeliverySteer Delivery = "steer" // the running turn takes it in
)

// Prompt is something that was said to a conversation.
type Prompt struct {
	ID    string             `json:"id"`
	State fleet.PromptStatus `json:"state" enum:"queued,running,waiting,stuck,answered,failed,cancelled,expired"`
	// By is who sent it.
	By string `json:"by,omitzero"`
	// Text is what it says, cut if it is very long.
	Text string `json:"text,omitzero"`
	// Approval is what it waits for.
	Approval string `json:"approval,omitzero"`
	// Error says why nobody answered, or why the conversation is stuck.
	Error string `json:"error,omitzero"`
	// Problem is why the conversation is stuck, if people can fix it on the server.
	Problem fleet.Cause `json:"problem,omitzero" enum:"cli-missing,cli-failed"`
}

// Turn is how a prompt ended, with what it cost.
type Turn struct {
	Prompt string             `json:"prompt"`
	State  fleet.PromptStatus `json:"state" enum:"answered,failed,cancelled,expired"`
	Error  string             `json:"error,omitzero"`
	// CostUSD and Models are all that the prompt took, even if it waited for a
	// person in between and ran in several processes.
	CostUSD float64                       `json:"cost_usd"`
	Millis  int64                         `json:"duration_ms,omitzero"`
	Models  map[string]message.ModelUsage `json:"models,omitempty"`
	// PartOf is the prompt whose turn took this one in, because it was sent to
	// steer that turn. It is not a turn of its own and has no cost: the other
	// prompt bears it.
	PartOf string `json:"part_of,omitzero"`
	// OverBudget says that the CLI ended it because it had spent what it may.
	OverBudget bool      `json:"over_budget,omitzero"`
	Ended      time.Time `json:"ended"`
}

// Message is something that was said in a conversation.
type Message struct {
	// Seq is the number of its event.
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"`
	// Message is the line of the CLI's transcript, as it is.
	Message json.RawMessage `json:"message"`
	// HTML is safe markup of it, if it was asked for and there is a page.
	HTML string `json:"html,omitzero"`
}

// MessageQuery selects messages: the newest ones before a number, or the oldest
// ones after it.
type MessageQuery struct {
	Before int64 // 0: from the end
	After  int64 // not 0: from there on instead
	Limit  int   // 50 if it is 0, at most 200
	HTML   bool
}

// ServerInfo is what a client should know before it begins.
type ServerInfo struct {
	Version string `json:"version"`
	// CLI is the version of the CLI that conversations run on; missing: not known.
	CLI      string       `json:"cli,omitzero"`
	User     User         `json:"user"`
	Presets  []PresetInfo `json:"presets"`
	Limits   Limits       `json:"limits"`
	Features []string     `json:"features"`
}

// PresetInfo is what users see of a preset.
type PresetInfo struct {
	Name        string            `json:"name"`
	Description string            `json:"description,omitzero"`
	Model       string            `json:"model,omitzero"`
	Models      []string          `json:"models"`
	Mode        permission.Mode   `json:"mode,omitzero"`
	Modes       []permission.Mode `json:"modes"`
	Roots       []string          `json:"roots"`
	// DailyUSD is what its conversations may cost on a day; missing: no limit.
	DailyUSD float64 `json:"daily_usd,omitzero"`
	// Rewind says that files of its conversations can be restored.
	Rewind bool `json:"rewind"`
	// Unguarded warns that tools may run without anybody being asked.
	Unguarded bool `json:"unguarded"`
}

// Limits are the sizes that the server accepts.
type Limits struct {
	Body   int64 `json:"body"`    // bytes of a request
	Prompt int64 `json:"prompt"`  // bytes of a request with a prompt
	List   int   `json:"list"`    // items of a page
	Stream int   `json:"streams"` // open streams of one user
}

// Usage is what turns have cost, summed up.
type Usage struct {
	Items []UsageRow `json:"items"`
	Total UsageRow   `json:"total"`
	// OverBudget are turns that ended because they were over budget, the newest first
	// and at most 100. Those of deleted conversations are not among them, and each
	// conversation has only its last 20 of a day, and its last 100.
	OverBudget []OverBudget `json:"over_budget"`
	// Held are the conversations whose prompts wait at the moment because their budget
	// is spent.
	Held []Held `json:"held"`
}

// OverBudget is a turn that the CLI ended because it had spent what it may, which is
// Options.MaxBudgetUSD of the preset.
type OverBudget struct {
	Conversation string    `json:"conversation"`
	Title        string    `json:"title"`
	User         string    `json:"user,omitzero"`
	Preset       string    `json:"preset,omitzero"`
	Prompt       string    `json:"prompt"`
	Ended        time.Time `json:"ended"`
	// CostUSD is what the turn has cost.
	CostUSD float64 `json:"cost_usd"`
}

// Held is a conversation that has cost as much as it may, which is
// BudgetUSD of the fleet. Its prompts are kept, and run once it may cost more.
type Held struct {
	Conversation string  `json:"conversation"`
	Title        string  `json:"title"`
	User         string  `json:"user,omitzero"`
	Preset       string  `json:"preset,omitzero"`
	Queued       int     `json:"queued"` // prompts that wait
	CostUSD      float64 `json:"cost_usd"`
	// BudgetUSD is what it may cost. Missing: the server's limits are not valid.
	BudgetUSD float64 `json:"budget_usd,omitzero"`
}

// UsageRow is one sum. The members by which it was not grouped are empty.
type UsageRow struct {
	Day     string  `json:"day,omitzero"` // 2006-01-02, in UTC
	User    string  `json:"user,omitzero"`
	Preset  string  `json:"preset,omitzero"`
	Model   string  `json:"model,omitzero"`
	Turns   int     `json:"turns"`
	CostUSD float64 `json:"cost_usd"`
	Input   int64   `json:"input_tokens"`
	Output  int64   `json:"output_tokens"`
	Cached  int64   `json:"cached_tokens"`
}

// UsageQuery selects and groups turns.
type UsageQuery struct {
	From, To time.Time // zero: no limit
	By       []UsageGroup
}

// UsageGroup is what sums of turns can be grouped by.
type UsageGroup string

// The members of a [UsageRow] that turns can be grouped by.
const (
	ByDay    UsageGroup = "day"
	ByUser   UsageGroup = "user"
	ByPreset UsageGroup = "preset"
	ByModel  UsageGroup = "model"
)

// UsageGroups returns all groups.
func UsageGroups() []UsageGroup { return []UsageGroup{ByDay, ByUser, ByPreset, ByModel} }

// SessionInfo is a session of the CLI on the server's disk.
type SessionInfo struct {
	ID       string    `json:"id"`
	Title    string    `json:"title"`
	Dir      string    `json:"dir,omitzero"`
	Modified time.Time `json:"modified"`
	// Presets are those in whose roots the directory is: it can be resumed with
	// one of them.
	Presets []string `json:"presets"`
	// Conversation is the conversation that has it, if there is one.
	Conversation string `json:"conversation,omitzero"`
}

// TokenInfo is a bearer token, without its secret.
type TokenInfo struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	User    string    `json:"user"`
	Role    Role      `json:"role" enum:"viewer,approver,operator,admin"`
	Created time.Time `json:"created"`
	By      string    `json:"by,omitzero"`
	Expires time.Time `json:"expires,omitzero"`
}

// NewToken asks for a bearer token.
type NewToken struct {
	// Name says what it is for.
	Name string `json:"name"`
	// User is who it acts as. Empty: who asks.
	User string `json:"user,omitzero"`
	Role Role   `json:"role" enum:"viewer,approver,operator,admin"`
	// Expires is when it stops working. Missing: never.
	Expires *time.Time `json:"expires,omitempty"`
}

// CreatedToken is a new token. Its secret is shown only once.
type CreatedToken struct {
	TokenInfo
	Secret string `json:"secret"`
}

// LoginRequest logs in.
type LoginRequest struct {
	// Token is a one-time token, or a bearer token.
	Token string `json:"token"`
}
