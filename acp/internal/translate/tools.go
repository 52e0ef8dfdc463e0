package translate

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Call is how an editor shows a tool call.
type Call struct {
	Title     string
	Kind      schema.ToolKind
	Content   []schema.ToolCallContent
	Locations []schema.ToolCallLocation
}

// input has the members of all tools' inputs that are shown. A tool reads those
// that it has.
type input struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	FilePath    string `json:"file_path"`
	Notebook    string `json:"notebook_path"`
	Path        string `json:"path"`
	Pattern     string `json:"pattern"`
	Offset      int64  `json:"offset"`
	Limit       int64  `json:"limit"`
	OldString   string `json:"old_string"`
	NewString   string `json:"new_string"`
	NewSource   string `json:"new_source"`
	Content     string `json:"content"`
	Edits       []struct {
		OldString string `json:"old_string"`
		NewString string `json:"new_string"`
	} `json:"edits"`
	URL       string `json:"url"`
	Query     string `json:"query"`
	Prompt    string `json:"prompt"`
	Plan      string `json:"plan"`
	Skill     string `json:"skill"`
	Questions []struct {
		Question string `json:"question"`
	} `json:"questions"`
}

// Shown configures how the machine shows calls: relative to a directory, and with
// terminals for commands if the editor can show them.
type Shown struct {
	Cwd      string
	Terminal bool
}

// Describe returns how a call of a tool is shown. raw is nil as long as the
// model is still writing the input.
func (s Shown) Describe(id, tool string, raw json.RawMessage) Call {
	var in input
	if raw != nil {
		jsonx.Unmarshal(raw, &in) // what does not fit is not shown
	}
	switch tool {
	case "Bash", "PowerShell":
		c := Call{Title: cmp.Or(in.Command, "Terminal"), Kind: schema.ToolKindExecute}
		switch {
		case s.Terminal:
			c.Content = []schema.ToolCallContent{{Terminal: &schema.Terminal{TerminalID: schema.TerminalID(id)}}}
		case in.Description != "":
			c.Content = text(in.Description)
		}
		return c
	case "Read":
		c := Call{Title: "Read File", Kind: schema.ToolKindRead}
		if in.FilePath != "" {
			c.Title = "Read " + s.relative(in.FilePath)
			c.Locations = []schema.ToolCallLocation{{Path: in.FilePath, Line: new(max(in.Offset, 1))}}
		}
		return c
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return s.describeEdit(tool, &in)
	case "Glob", "Grep", "LS":
		return s.describeSearch(tool, &in)
	case "WebFetch":
		c := Call{Title: "Fetch", Kind: schema.ToolKindFetch}
		if in.URL != "" {
			c.Title, c.Content = "Fetch "+in.URL, text(in.Prompt)
		}
		return c
	case "WebSearch":
		return Call{Title: cmp.Or(quoted(in.Query), "Web search"), Kind: schema.ToolKindFetch}
	case "Task", "Agent":
		return Call{Title: cmp.Or(in.Description, "Task"), Kind: schema.ToolKindThink, Content: text(in.Prompt)}
	case "ExitPlanMode":
		return Call{Title: "Approve Plan", Kind: schema.ToolKindSwitchMode, Content: text(in.Plan)}
	case "EnterPlanMode":
		return Call{Title: "Plan first", Kind: schema.ToolKindSwitchMode}
	case "AskUserQuestion":
		c := Call{Title: "Asking for your input", Kind: schema.ToolKindOther}
		if len(in.Questions) > 0 {
			c.Title, c.Content = in.Questions[0].Question, text(in.Questions[0].Question)
		}
		return c
	case "Skill":
		return Call{Title: strings.TrimSpace("Skill " + in.Skill), Kind: schema.ToolKindOther}
	}
	return Call{Title: tool, Kind: schema.ToolKindOther}
}

func (s Shown) describeEdit(tool string, in *input) Call {
	path := cmp.Or(in.FilePath, in.Notebook)
	c := Call{Title: "Edit", Kind: schema.ToolKindEdit}
	if tool == "Write" {
		c.Title = "Write File"
	}
	if path == "" {
		return c
	}
	c.Locations = []schema.ToolCallLocation{{Path: path}}
	switch {
	case tool == "Write":
		c.Title = "Write " + s.relative(path)
		c.Content = []schema.ToolCallContent{{Diff: &schema.Diff{Path: path, NewText: in.Content}}}
		return c
	case tool == "NotebookEdit":
		c.Content = []schema.ToolCallContent{{Diff: &schema.Diff{Path: path, NewText: in.NewSource}}}
	case in.Edits != nil:
		for _, e := range in.Edits {
			c.Content = append(c.Content, schema.ToolCallContent{Diff: &schema.Diff{Path: path, OldText: new(e.OldString), NewText: e.NewString}})
		}
	default:
		c.Content = []schema.ToolCallContent{{Diff: &schema.Diff{Path: path, OldText: new(in.OldString), NewText: in.NewString}}}
	}
	c.Title = "Edit " + s.relative(path)
	return c
}

func (s Shown) describeSearch(tool string, in *input) Call {
	c := Call{Kind: schema.ToolKindSearch}
	switch {
	case tool == "LS":
		c.Title = strings.TrimSpace("List " + s.relative(in.Path))
	case in.Pattern == "":
		c.Title = "Find"
	case tool == "Grep":
		c.Title = "grep " + quoted(in.Pattern)
	default:
		c.Title = "Find " + quoted(in.Pattern)
	}
	if in.Path != "" {
		if tool != "LS" {
			c.Title += " in " + s.relative(in.Path)
		}
		c.Locations = []schema.ToolCallLocation{{Path: in.Path}}
	}
	return c
}

// relative shortens a path in the working directory.
func (s Shown) relative(path string) string {
	if rel, err := filepath.Rel(s.Cwd, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "`" + s + "`"
}

// text returns content with a text, and none for an empty one.
func text(s string) []schema.ToolCallContent {
	if s == "" {
		return nil
	}
	return []schema.ToolCallContent{{Content: &schema.Content{Content: TextBlock(s)}}}
}

// TextBlock returns a block of text.
func TextBlock(s string) schema.ContentBlock {
	return schema.ContentBlock{Text: &schema.TextContent{Text: s}}
}

// keepsList reports whether a tool keeps the to-do list, which is shown as a
// plan and not as a call.
func keepsList(tool string) bool {
	switch tool {
	case "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet":
		return true
	}
	return false
}
