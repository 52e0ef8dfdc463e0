package serve

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// edit is an edit and the file that it changes.
type edit struct {
	api.FileEdit
	path string
}

func countLines(h *api.Hunk, sign byte) (n int) {
	for _, line := range h.Lines {
		if line[0] == sign {
			n++
		}
	}
	return n
}

// patchName writes a file name for a patch, as git does: in quotes if it has characters
// that would break the line.
func patchName(name string) string {
	if quoted := strconv.QuoteToASCII(name); quoted != `"`+name+`"` {
		var out strings.Builder
		out.WriteByte('"')
		for _, c := range []byte(name) {
			switch {
			case c == '"' || c == '\\':
				out.WriteString(`\` + string(c))
			case c < ' ' || c > '~':
				fmt.Fprintf(&out, `\%03o`, c)
			default:
				out.WriteByte(c)
			}
		}
		return out.String() + `"`
	}
	return name
}

// editOf reads the CLI's report of an edit.
func editOf(e *api.Event, m *message.User, r *message.ToolResultBlock, dir string) (edit, bool) {
	raw := m.ToolUseResult
	if len(raw) == 0 {
		raw = jsonx.Member(e.Message, "toolUseResult") // as transcripts call it
	}
	var report struct {
		Type     string `json:"type"`
		FilePath string `json:"filePath"`
		Content  string `json:"content"`
		Patch    []struct {
			OldStart int      `json:"oldStart"`
			NewStart int      `json:"newStart"`
			Lines    []string `json:"lines"`
		} `json:"structuredPatch"`
	}
	if r.IsError || jsonx.Unmarshal(raw, &report) != nil || report.FilePath == "" {
		return edit{}, false
	}
	out := edit{api.FileEdit{Seq: e.Seq, ToolUseID: r.ToolUseID}, pathIn(dir, report.FilePath)}
	if out.Created = report.Type == "create"; out.Created && report.Content != "" {
		out.Hunks = []api.Hunk{newFile(report.Content)}
		return out, true
	}
	for _, h := range report.Patch {
		if !slices.ContainsFunc(h.Lines, func(line string) bool {
			return line == "" || !strings.ContainsRune(` +-\`, rune(line[0])) || strings.Contains(line, "\n")
		}) {
			hunk := api.Hunk{OldStart: h.OldStart, NewStart: h.NewStart, Lines: h.Lines}
			kept := countLines(&hunk, ' ')
			hunk.OldLines, hunk.NewLines = kept+countLines(&hunk, '-'), kept+countLines(&hunk, '+')
			out.Hunks = append(out.Hunks, hunk)
		}
	}
	return out, len(out.Hunks) > 0 || out.Created
}

// newFile returns the hunk that creates a file.
func newFile(content string) api.Hunk {
	whole, ended := strings.CutSuffix(content, "\n")
	lines := strings.Split(whole, "\n")
	h := api.Hunk{NewStart: 1, NewLines: len(lines)}
	for _, line := range lines {
		h.Lines = append(h.Lines, "+"+line)
	}
	if !ended {
		h.Lines = append(h.Lines, `\ No newline at end of file`)
	}
	return h
}
