package api

import "time"

// Usage is the total cost of turns.
type Usage struct {
	Items []UsageRow `json:"items"` // a sum for each group
	Total UsageRow   `json:"total"` // the sum of all
	// OverBudget are turns that ended because they were over budget, the newest first
	// and at most 100. Those of deleted conversations are not among them, and each
	// conversation has only its last 20 of a day, and its last 100.
	OverBudget []OverBudget `json:"over_budget"`
	// Held are the conversations whose prompts wait at the moment because their budget
	// is spent.
	Held []Held `json:"held"`
}

// OverBudget is a turn that the CLI ended because it had spent Options.MaxBudgetUSD of
// the preset.
type OverBudget struct {
	Conversation string    `json:"conversation"`    // the id of the conversation
	Title        string    `json:"title"`           // the title of the conversation
	User         string    `json:"user,omitzero"`   // the owner of the conversation
	Preset       string    `json:"preset,omitzero"` // the preset of the conversation
	Prompt       string    `json:"prompt"`          // the id of the prompt
	Ended        time.Time `json:"ended"`           // when the turn ended
	// CostUSD is the cost of the turn.
	CostUSD float64 `json:"cost_usd"`
}

// Held is a conversation that has spent BudgetUSD of the fleet, or that waits because a
// budget of the day is spent. Its prompts are kept, and run once it may cost more, or
// on the next day.
type Held struct {
	Conversation string  `json:"conversation"`    // the id of the conversation
	Title        string  `json:"title"`           // its title
	User         string  `json:"user,omitzero"`   // its owner
	Preset       string  `json:"preset,omitzero"` // its preset
	Queued       int     `json:"queued"`          // prompts that wait
	CostUSD      float64 `json:"cost_usd"`        // what it has cost
	// BudgetUSD is the most that it may cost, or that may be spent in a day if that
	// is why it waits. Missing: the server's limits are not valid.
	BudgetUSD float64 `json:"budget_usd,omitzero"`
}

// UsageRow is one sum. The members by which it was not grouped are empty.
type UsageRow struct {
	Day     string  `json:"day,omitzero"`    // 2006-01-02, in UTC
	User    string  `json:"user,omitzero"`   // the owner of the conversations
	Preset  string  `json:"preset,omitzero"` // the preset
	Model   string  `json:"model,omitzero"`  // the model
	Turns   int     `json:"turns"`           // how many turns
	CostUSD float64 `json:"cost_usd"`        // what the turns cost
	Input   int64   `json:"input_tokens"`    // tokens read, without the cache
	Output  int64   `json:"output_tokens"`   // tokens written
	Cached  int64   `json:"cached_tokens"`   // tokens read from the cache
}

// UsageQuery selects and groups turns.
type UsageQuery struct {
	From, To time.Time // zero: no limit
	By       []UsageGroup
}

// UsageGroup is a criterion by which the sums of turns can be grouped.
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
