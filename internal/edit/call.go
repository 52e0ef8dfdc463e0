package edit

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Call is a call of a tool that edits a file.
type Call struct {
	Path    string
	Changes []Change

	whole    bool // the text is the new file
	notebook *notebook
}

// Change is a text and what replaces it.
type Change struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"` // everywhere, not only at the first place
}

// notebook is the cell that a call edits.
type notebook struct {
	cell string
	mode string // replace, insert or delete
}

// Parse reads the input of a call. It returns nil for tools that do not edit and
// for an input that cannot be read.
func Parse(tool string, input json.RawMessage) *Call {
	var in struct {
		Change
		Path     string   `json:"file_path"`
		Notebook string   `json:"notebook_path"`
		Edits    []Change `json:"edits"`
		Content  string   `json:"content"`
		Source   string   `json:"new_source"`
		Cell     string   `json:"cell_id"`
		Mode     string   `json:"edit_mode"`
	}
	if jsonx.Unmarshal(input, &in) != nil {
		return nil
	}
	switch tool {
	case "Edit":
		return &Call{Path: in.Path, Changes: []Change{in.Change}}
	case "MultiEdit":
		return &Call{Path: in.Path, Changes: in.Edits}
	case "Write":
		return &Call{Path: in.Path, Changes: []Change{{New: in.Content}}, whole: true}
	case "NotebookEdit":
		return &Call{Path: in.Notebook, Changes: []Change{{New: in.Source}}, notebook: &notebook{in.Cell, in.Mode}}
	}
	return nil
}

// On returns the text before and after the call, for a file with this content.
// The text belongs to the file or, for a notebook, to the cell. It returns
// false if the call does not fit the file.
func (c *Call) On(content string) (before, after string, ok bool) {
	switch {
	case c.whole:
		return content, c.Changes[0].New, true
	case c.notebook != nil:
		return c.notebook.on(content, c.Changes[0].New)
	}
	after = content
	for _, e := range c.Changes {
		switch {
		case e.Old == "" && after == "":
			after = e.New
		case e.Old == "" || !strings.Contains(after, e.Old):
			return "", "", false
		case e.All:
			after = strings.ReplaceAll(after, e.Old, e.New)
		default:
			after = strings.Replace(after, e.Old, e.New, 1)
		}
	}
	return content, after, true
}

// on returns the text of the cell before and after.
func (n *notebook) on(content, source string) (before, after string, ok bool) {
	if n.mode == "insert" {
		return "", source, true
	}
	var file struct {
		Cells []struct {
			ID     string          `json:"id"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	if jsonx.Unmarshal([]byte(content), &file) != nil {
		return "", "", false
	}
	for i, cell := range file.Cells {
		// A cell without an id is named by its number.
		if n.cell != cell.ID && n.cell != "cell-"+strconv.Itoa(i) || n.cell == "" {
			continue
		}
		before = jsonx.Text(cell.Source)
		var lines []string
		if jsonx.Unmarshal(cell.Source, &lines) == nil {
			before = strings.Join(slices.Clip(lines), "")
		}
		if n.mode == "delete" {
			source = ""
		}
		return before, source, true
	}
	return "", "", false
}
