package translate

import (
	"encoding/json"
	"strings"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
)

// results shows how calls ended: first what the tool itself returned, then the
// result that the model reads.
func (m *Machine) results(msg *message.User) (out []schema.SessionUpdate) {
	results := msg.ToolResults()
	for _, r := range results {
		call := m.calls[r.ToolUseID]
		if call == nil {
			continue
		}
		delete(m.calls, r.ToolUseID)
		if call.hidden {
			continue
		}
		if len(results) == 1 && !r.IsError && jsonx.Present(msg.ToolUseResult) {
			out = append(out, response(r.ToolUseID, call.tool, msg.ToolUseResult))
		}
		out = append(out, m.ended(r, call.tool, nonExecution(msg, r.ToolUseID))...)
	}
	return out
}

func nonExecution(msg *message.User, id string) string {
	for _, meta := range msg.ToolResultMeta {
		if meta.ID == id {
			return meta.NonExecutionKind
		}
	}
	return ""
}

// response shows what a tool returned; for an edit, the lines around it.
func response(id, tool string, output json.RawMessage) schema.SessionUpdate {
	up := &schema.ToolCallUpdate{ToolCallID: schema.ToolCallID(id), Meta: metaOf(tool, map[string]any{"toolResponse": output})}
	if tool == "Edit" || tool == "MultiEdit" || tool == "Write" {
		up.Content, up.Locations = hunks(output)
	}
	return schema.SessionUpdate{ToolCallUpdate: up}
}

// hunks returns the pieces of a file that an edit has changed.
func hunks(output json.RawMessage) (content []schema.ToolCallContent, at []schema.ToolCallLocation) {
	var patch struct {
		FilePath string `json:"filePath"`
		Hunks    []struct {
			NewStart int64    `json:"newStart"`
			Lines    []string `json:"lines"`
		} `json:"structuredPatch"`
	}
	if jsonx.Unmarshal(output, &patch) != nil || patch.FilePath == "" {
		return nil, nil
	}
	for _, h := range patch.Hunks {
		var before, after []string
		for _, line := range h.Lines {
			switch {
			case strings.HasPrefix(line, "-"):
				before = append(before, line[1:])
			case strings.HasPrefix(line, "+"):
				after = append(after, line[1:])
			case strings.HasPrefix(line, " "):
				before, after = append(before, line[1:]), append(after, line[1:])
			}
		}
		content = append(content, schema.ToolCallContent{Diff: &schema.Diff{Path: patch.FilePath, OldText: new(strings.Join(before, "\n")), NewText: strings.Join(after, "\n")}})
		at = append(at, schema.ToolCallLocation{Path: patch.FilePath, Line: new(h.NewStart)})
	}
	return content, at
}

// ended shows the result of a call.
func (m *Machine) ended(r *message.ToolResultBlock, tool, nonExecution string) []schema.SessionUpdate {
	id := schema.ToolCallID(r.ToolUseID)
	up := &schema.ToolCallUpdate{ToolCallID: id, Status: schema.ToolCallStatusCompleted, Meta: metaOf(tool, nil)}
	if r.IsError {
		up.Status = schema.ToolCallStatusFailed
	}
	if nonExecution != "" {
		up.Meta["claudeCode"].(map[string]any)["nonExecutionKind"] = nonExecution
	}
	said := r.Content.Text()
	if m.isTerminal(tool) {
		exit := map[string]any{"terminal_id": r.ToolUseID, "exit_code": exitCode(r, said), "signal": nil}
		up.Meta["terminal_exit"] = exit
		output := &schema.ToolCallUpdate{ToolCallID: id, Meta: map[string]any{"terminal_output": map[string]any{"terminal_id": r.ToolUseID, "data": said}}}
		return []schema.SessionUpdate{{ToolCallUpdate: output}, {ToolCallUpdate: up}}
	}
	up.RawOutput = rawOutput(r)
	switch {
	case tool == "ExitPlanMode" && !r.IsError:
		up.Title = new("Exited Plan Mode")
	case tool == "Edit" || tool == "MultiEdit" || tool == "Write" || tool == "NotebookEdit":
		if r.IsError {
			up.Content = text(fenced(said))
		} // otherwise the diff stays
	case tool == "Read" || tool == "Bash" || tool == "PowerShell" || tool == "Grep" || tool == "Glob":
		up.Content = blocks(r.Content, fenced)
	default:
		up.Content = blocks(r.Content, func(s string) string { return s })
	}
	return []schema.SessionUpdate{{ToolCallUpdate: up}}
}

// exitCode returns the exit code of a command: the CLI names it in the text of a
// failure. It is nil if the command did not run.
func exitCode(r *message.ToolResultBlock, said string) any {
	if !r.IsError {
		return 0
	}
	if rest, ok := strings.CutPrefix(said, "Exit code "); ok {
		digits, _, _ := strings.Cut(rest, "\n")
		var code int
		if jsonx.Unmarshal([]byte(digits), &code) == nil {
			return code
		}
	}
	return nil
}

func rawOutput(r *message.ToolResultBlock) json.RawMessage {
	var v any = r.Content
	if r.Plain {
		v = r.Content.Text()
	}
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// blocks shows the content of a result.
func blocks(content message.Content, form func(string) string) (out []schema.ToolCallContent) {
	for _, b := range content {
		switch b := b.(type) {
		case *message.TextBlock:
			if b.Text != "" {
				out = append(out, text(form(b.Text))...)
			}
		case *message.ImageBlock:
			if b.Source.Type == message.SourceBase64 {
				out = append(out, schema.ToolCallContent{Content: &schema.Content{Content: schema.ContentBlock{
					Image: &schema.ImageContent{Data: b.Source.Data, MimeType: b.Source.MediaType}}}})
			}
		}
	}
	return out
}

// fenced returns a text as a block of code, with a fence that it does not have.
func fenced(s string) string {
	if s == "" {
		return ""
	}
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(s, "\n") + "\n" + fence
}
