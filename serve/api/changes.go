package api

// Changes are the edits of a conversation, as the CLI reports them. They do not include
// changes by commands and subagents, or edits that a rewind took back.
type Changes struct {
	// Files are the files that were edited, in the order of their first edit.
	Files   []ChangedFile `json:"files"`
	Added   int           `json:"added"`
	Removed int           `json:"removed"`
}

// ChangedFile is a file with its edits.
type ChangedFile struct {
	// Path is relative to the working directory of the conversation, if the file is
	// inside.
	Path    string     `json:"path"`
	Edits   []FileEdit `json:"edits"`
	Added   int        `json:"added"`
	Removed int        `json:"removed"`
}

// FileEdit is one edit of a file.
type FileEdit struct {
	// Seq is the number of the event with its result, and Prompt the prompt
	// that the agent was working on.
	Seq       int64  `json:"seq"`
	Prompt    string `json:"prompt,omitzero"`
	ToolUseID string `json:"tool_use_id"`
	// Created is true if the file did not exist before.
	Created bool   `json:"created,omitzero"`
	Hunks   []Hunk `json:"hunks"`
}

// Hunk is a piece of a diff. Its lines begin with a blank, + or -.
type Hunk struct {
	OldStart int      `json:"old_start"`
	OldLines int      `json:"old_lines"`
	NewStart int      `json:"new_start"`
	NewLines int      `json:"new_lines"`
	Lines    []string `json:"lines"`
}
