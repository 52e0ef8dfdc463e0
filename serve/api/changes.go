package api

// Changes are the edits of a conversation, as the CLI reports them. They do not include
// changes by commands and subagents, or edits that a rewind took back.
type Changes struct {
	// Files are the files that were edited, in the order of their first edit.
	Files   []ChangedFile `json:"files"`
	Added   int           `json:"added"`   // lines that all edits add
	Removed int           `json:"removed"` // lines that all edits remove
}

// ChangedFile is a file with its edits.
type ChangedFile struct {
	// Path is relative to the working directory of the conversation, if the file is
	// inside.
	Path    string     `json:"path"`
	Edits   []FileEdit `json:"edits"`   // its edits, in order
	Added   int        `json:"added"`   // lines that its edits add
	Removed int        `json:"removed"` // lines that its edits remove
}

// FileEdit is one edit of a file.
type FileEdit struct {
	// Seq is the number of the event with its result, and Prompt the prompt
	// that the agent was working on.
	Seq       int64  `json:"seq"`
	Prompt    string `json:"prompt,omitzero"`
	ToolUseID string `json:"tool_use_id"` // the id of the call in the messages
	// Created is true if the file did not exist before.
	Created bool   `json:"created,omitzero"`
	Hunks   []Hunk `json:"hunks"` // what it changed
}

// Hunk is a piece of a diff. Its lines begin with a blank, + or -.
type Hunk struct {
	OldStart int      `json:"old_start"` // the first line before, from 1
	OldLines int      `json:"old_lines"` // how many lines it covered before
	NewStart int      `json:"new_start"` // the first line afterwards, from 1
	NewLines int      `json:"new_lines"` // how many lines it covers afterwards
	Lines    []string `json:"lines"`     // its lines
}
