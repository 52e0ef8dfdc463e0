package api

import (
	"encoding/json"
	"time"
)

// List is a page of a list. Next is the cursor of the next page, empty on the
// last.
type List[T any] struct {
	Items []T    `json:"items"`         // the items of this page
	Next  string `json:"next,omitzero"` // the cursor of the next page
}

// State is the state of a conversation.
type State string

// The states of a conversation.
const (
	StateIdle     State = "idle"     // nothing to do
	StateQueued   State = "queued"   // has prompts, and waits for a free process
	StateStarting State = "starting" // its process is being started
	StateRunning  State = "running"  // a turn runs
	StateWaiting  State = "waiting"  // a process waits for a person
	StateDeferred State = "deferred" // waits for a person without a process
	StateFailed   State = "failed"   // stuck for the Reason given; retry tries again
	StateEnded    State = "ended"    // archived: it takes no prompts until it is taken out of the archive
)

// Conversation is a conversation as its users see it.
type Conversation struct {
	ID     string `json:"id"`              // its id in paths
	Title  string `json:"title"`           // its title in lists
	Preset string `json:"preset,omitzero"` // the name of its preset
	Owner  string `json:"owner,omitzero"`  // the user who began it
	// Shared conversations are visible to all users.
	Shared bool  `json:"shared"`
	State  State `json:"state"` // what it is doing
	// Reason explains why a conversation has failed, and what to do; or why its
	// prompts wait, if its budget is spent.
	Reason string `json:"reason,omitzero"`
	// Problem is the kind of that reason, if an operator can fix it on the
	// server.
	Problem Cause `json:"problem,omitzero" enum:"cli-missing,cli-failed,option-refused,options-failed"`
	// Pending counts the approvals that wait for a person.
	Pending int `json:"pending"`
	// Queued counts the prompts without an answer.
	Queued int      `json:"queued"`
	Model  string   `json:"model,omitzero"` // the chosen model; empty: the preset's own
	Mode   string   `json:"mode,omitzero"`  // the chosen permission mode; empty: the preset's own
	Dir    string   `json:"dir,omitzero"`   // its working directory on the server
	Labels []string `json:"labels"`         // words to find it by
	// Archived conversations are left out of lists, and take no prompts.
	Archived bool    `json:"archived"`
	CostUSD  float64 `json:"cost_usd"` // what its turns have cost so far
	Turns    int     `json:"turns"`    // how many turns have ended
	// Context is how full the context is. Missing: unknown, because no turn has ended
	// yet, or because there is no answer yet after a compaction.
	Context *ContextUse `json:"context,omitzero"`
	// LastSeq is the number of the last event; follow the stream after it.
	LastSeq int64 `json:"last_seq"`
	// Unread is true if something has happened since the requesting user read it;
	// see ReadMark.
	Unread  bool      `json:"unread"`
	Created time.Time `json:"created"` // when it was begun
	// Session is the id of the CLI's session.
	Session string `json:"session,omitzero"`
	// ForkOf is the conversation that this one began as a copy of.
	ForkOf string `json:"fork_of,omitzero"`
	// Resumed is the session on the server's disk that this one continues.
	Resumed string `json:"resumed,omitzero"`
}

// ContextUse is how much of its context a conversation fills: what the model read for
// the last answer of the main agent. Subagents have contexts of their own.
type ContextUse struct {
	// Model is the model that answered, and Window the size of its context.
	Model  string `json:"model"`
	Tokens int64  `json:"tokens"` // what the model read, in tokens
	Window int64  `json:"window"`
	// Percent is Tokens as a share of Window, rounded, but at least 1.
	Percent int `json:"percent"`
}

// ReadMark marks how far a user has read a conversation.
type ReadMark struct {
	// Seq is the number of the last event that the user has seen. Missing: all.
	Seq int64 `json:"seq,omitzero"`
}

// ConversationQuery selects conversations. Empty members select all.
type ConversationQuery struct {
	State    State
	Preset   string
	Owner    string
	Label    string
	Text     string // in the title or the id
	Archived bool   // include archived ones
	Limit    int    // 50 if it is 0, at most 200
	Cursor   string
}

// NewConversation asks for a conversation.
type NewConversation struct {
	Preset string `json:"preset"` // the name of a preset
	// Content is the first prompt: a text, or a list of blocks, as in NewPrompt.
	// Without it the conversation is empty, and begins with the first prompt that is
	// sent to it.
	Content json.RawMessage `json:"content,omitzero"`
	// Title is the title in lists. Empty: the beginning of the first prompt.
	Title string `json:"title,omitzero"`
	Model string `json:"model,omitzero"` // the model, one that the preset offers; empty: the preset's own
	Mode  string `json:"mode,omitzero"`  // the permission mode, one that the preset offers; empty: the preset's own
	// Dir is the working directory: below one of the preset's roots. Empty: the
	// first of them.
	Dir    string   `json:"dir,omitzero"`
	Labels []string `json:"labels,omitempty"` // words to find it by
	Shared bool     `json:"shared,omitzero"`  // whether all users see it
	// Resume continues a session that the CLI has kept on the server's disk, by its
	// id, in the session's directory. Later messages are not written to that disk.
	// It needs the role admin, as the list of these sessions does.
	Resume string `json:"resume,omitzero"`
	// Fork makes it a copy of another conversation, or of a session on the disk.
	Fork *ForkFrom `json:"fork,omitzero"`
}

// ForkFrom names the conversation or session to copy.
type ForkFrom struct {
	Conversation string `json:"conversation,omitzero"` // the id of the conversation
	// Session is the id of a session on the server's disk. It needs the role
	// admin.
	Session string `json:"session,omitzero"`
	// Message is the UUID of the last message to copy. Empty: all of them.
	Message string `json:"message,omitzero"`
}

// Change changes a conversation. Missing members stay unchanged.
type Change struct {
	Title    *string   `json:"title,omitempty"`    // its title in lists
	Archived *bool     `json:"archived,omitempty"` // whether it has ended: see Conversation
	Shared   *bool     `json:"shared,omitempty"`   // whether all users see it
	Labels   *[]string `json:"labels,omitempty"`   // all its labels
	Model    *string   `json:"model,omitempty"`    // the model, one that the preset offers; empty: the preset's own
	Mode     *string   `json:"mode,omitempty"`     // the permission mode, one that the preset offers; empty: the preset's own
}

// Message is a message of a conversation.
type Message struct {
	// Seq is the number of its event.
	Seq int64     `json:"seq"`
	At  time.Time `json:"at"` // when it was said
	// Message is the line of the CLI's transcript. What the CLI told people and not the
	// model, such as the output of a slash command, has the form of the CLI's stream; its
	// type is system.
	Message json.RawMessage `json:"message"`
	// HTML is safe markup for it, if it was asked for and there is a page.
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

// RewindRequest asks for files as they were when a prompt was sent.
type RewindRequest struct {
	// Message is the id of the prompt. The agent's edits since then are taken back, but
	// not the changes of its commands. The messages stay; NewConversation.Fork copies
	// them up to one.
	Message string `json:"message"`
	// DryRun only reports what would change.
	DryRun bool `json:"dry_run,omitzero"`
}

// Rewound lists the files that a rewind has changed, or would change.
type Rewound struct {
	// Files are relative to the working directory of the conversation, if they
	// are there.
	Files []string `json:"files"`
	// Added and Removed count the lines that the rewind adds and removes.
	Added   int `json:"added"`
	Removed int `json:"removed"`
	// SkippedLinks counts the symbolic links that were left alone.
	SkippedLinks int  `json:"skipped_links,omitzero"`
	DryRun       bool `json:"dry_run"` // whether nothing was changed
}
