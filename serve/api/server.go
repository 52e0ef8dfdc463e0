package api

import "time"

// ServerInfo describes the server to a client before it begins.
type ServerInfo struct {
	Version string `json:"version"` // the version of the server
	// CLI is the version of the CLI that conversations run on; missing: not known.
	CLI      string       `json:"cli,omitzero"`
	User     User         `json:"user"`     // the user who asks
	Presets  []PresetInfo `json:"presets"`  // the kinds of conversations to begin
	Limits   Limits       `json:"limits"`   // the sizes that it accepts
	Features []string     `json:"features"` // what this server can do beyond the basics
}

// PresetInfo describes a preset to users.
type PresetInfo struct {
	Name        string   `json:"name"`                 // its name in requests
	Description string   `json:"description,omitzero"` // its purpose
	Model       string   `json:"model,omitzero"`       // its model; empty: the CLI's default
	Models      []string `json:"models"`               // other models to choose from
	Mode        string   `json:"mode,omitzero"`        // its permission mode; empty: the CLI's default
	Modes       []string `json:"modes"`                // other permission modes to choose from
	Roots       []string `json:"roots"`                // the directories in which its conversations may work; the first is the default
	// DailyUSD is the most that its conversations may cost in a day; missing: no
	// limit.
	DailyUSD float64 `json:"daily_usd,omitzero"`
	// Rewind is true if files of its conversations can be restored.
	Rewind bool `json:"rewind"`
	// Unguarded warns that tools may run without a person's approval.
	Unguarded bool `json:"unguarded"`
}

// Limits are the sizes that the server accepts.
type Limits struct {
	Body   int64 `json:"body"`    // bytes of a request
	Prompt int64 `json:"prompt"`  // bytes of a request with a prompt
	List   int   `json:"list"`    // items of a page
	Stream int   `json:"streams"` // open streams of one user
}

// SessionInfo is a session of the CLI on the server's disk.
type SessionInfo struct {
	ID       string    `json:"id"`           // its id, a UUID
	Title    string    `json:"title"`        // its title, or how it begins
	Dir      string    `json:"dir,omitzero"` // its working directory
	Modified time.Time `json:"modified"`     // when it was last written
	// Presets are the presets whose roots contain the directory: any of them can resume
	// the session.
	Presets []string `json:"presets"`
	// Conversation is the conversation that has it, if there is one.
	Conversation string `json:"conversation,omitzero"`
}

// TokenInfo is a bearer token, without its secret.
type TokenInfo struct {
	ID      string    `json:"id"`                                         // its id
	Name    string    `json:"name"`                                       // its purpose
	User    string    `json:"user"`                                       // the user as whom it acts
	Role    Role      `json:"role" enum:"viewer,approver,operator,admin"` // the role that it has
	Created time.Time `json:"created"`                                    // when it was made
	By      string    `json:"by,omitzero"`                                // the user who made it
	Expires time.Time `json:"expires,omitzero"`                           // when it stops working; missing: never
}

// NewToken asks for a bearer token.
type NewToken struct {
	// Name describes its purpose.
	Name string `json:"name"`
	// User is the user as whom it acts. Empty: the user who asks.
	User string `json:"user,omitzero"`
	Role Role   `json:"role" enum:"viewer,approver,operator,admin"` // the role that it has
	// Expires is when it stops working. Missing: never.
	Expires *time.Time `json:"expires,omitempty"`
}

// CreatedToken is a new token. Its secret is shown only once.
type CreatedToken struct {
	TokenInfo
	Secret string `json:"secret"` // the text of the token: keep it
}

// LoginRequest logs in.
type LoginRequest struct {
	// Token is a one-time token, or a bearer token.
	Token string `json:"token"`
}

// LoginInfo is a browser in which a user is logged in.
type LoginInfo struct {
	ID      string    `json:"id"`                                         // its id
	User    string    `json:"user"`                                       // the user who is logged in
	Role    Role      `json:"role" enum:"viewer,approver,operator,admin"` // the role that it has
	Created time.Time `json:"created"`                                    // when it was made
	// Expires is when it ends unless it is used earlier.
	Expires time.Time `json:"expires"`
	// Address is the address that it was made from.
	Address string `json:"address,omitzero"`
	// Browser is the browser's User-Agent, which the browser is free to choose.
	Browser string `json:"browser,omitzero"`
	// Token is the id of the bearer token that it was made with and ends with.
	Token string `json:"token,omitzero"`
	// Provider is the name of the login provider that it was made with. It then ends at
	// Expires, even if it is used.
	Provider string `json:"provider,omitzero"`
	// Current is true if this request was made with it.
	Current bool `json:"current"`
}
