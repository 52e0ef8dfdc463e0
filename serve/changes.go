package serve

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// edit is an edit with the file that it is of.
type edit struct {
	api.FileEdit
	path string
}

// Changes returns the edits of a conversation; only those of one prompt if it is
// named.
func (s *Service) Changes(ctx context.Context, u api.User, id, prompt string) (api.Changes, error) {
	edits, err := s.edits(ctx, u, id, prompt)
	out := api.Changes{Files: []api.ChangedFile{}}
	for _, e := range edits {
		i := slices.IndexFunc(out.Files, func(f api.ChangedFile) bool { return f.Path == e.path })
		if i < 0 {
			i = len(out.Files)
			out.Files = append(out.Files, api.ChangedFile{Path: e.path})
		}
		f := &out.Files[i]
		f.Edits = append(f.Edits, e.FileEdit)
		for _, h := range e.Hunks {
			f.Added, f.Removed = f.Added+countLines(&h, '+'), f.Removed+countLines(&h, '-')
			out.Added, out.Removed = out.Added+countLines(&h, '+'), out.Removed+countLines(&h, '-')
		}
	}
	return out, err
}

func countLines(h *api.Hunk, sign byte) (n int) {
	for _, line := range h.Lines {
		if line[0] == sign {
			n++
		}
	}
	return n
}

// Patch returns the edits of a conversation as a patch, one after another, as
// git apply and patch -p1 take them.
func (s *Service) Patch(ctx context.Context, u api.User, id, prompt string) (string, error) {
	edits, err := s.edits(ctx, u, id, prompt)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, e := range edits {
		name := strings.TrimPrefix(filepath.ToSlash(e.path), "/")
		from, to := patchName("a/"+name), patchName("b/"+name)
		fmt.Fprintf(&out, "diff --git %s %s\n", from, to)
		if e.Created {
			out.WriteString("new file mode 100644\n")
			from = "/dev/null"
		}
		if len(e.Hunks) > 0 { // else it is an empty file
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", from, to)
		}
		for _, h := range e.Hunks {
			fmt.Fprintf(&out, "@@ -%d,%d +%d,%d @@\n%s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, strings.Join(h.Lines, "\n"))
		}
	}
	return out.String(), nil
}

// patchName writes a file name in a patch: as git does, in quotes if it has
// characters that would break the line.
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

// edits returns the edits of a conversation in their order.
func (s *Service) edits(ctx context.Context, u api.User, id, prompt string) ([]edit, error) {
	n, err := s.act(ctx, u, id, api.Viewer)
	if err != nil {
		return nil, problemOf(err)
	}
	events, _, err := s.Log(ctx, u, id)
	if err != nil {
		return nil, err
	}
	var all []edit
	now, calls, lost := "", make(map[string]bool), RevertedCalls(events)
	known := prompt == ""
	for i := range events {
		e := &events[i]
		known = known || e.Type == api.EventPrompt && e.Prompt.ID == prompt
		if e.Type != api.EventMessage {
			continue
		}
		m, _ := message.Decode(e.Message) // what cannot be read changes nothing
		switch m := m.(type) {
		case *message.Assistant:
			for _, call := range m.Content.ToolUses() {
				calls[call.ID] = slices.Contains([]string{"Edit", "MultiEdit", "Write"}, call.Name)
			}
		case *message.User:
			if m.Text() != "" {
				now = m.UUID
			}
			for _, r := range m.ToolResults() {
				if edit, ok := editOf(e, m, r, n.Dir); ok && calls[r.ToolUseID] && !lost[r.ToolUseID] && (prompt == "" || prompt == now) {
					edit.Prompt = now
					all = append(all, edit)
				}
			}
		}
	}
	if !known {
		return nil, notFound.because("the conversation has no prompt %q", prompt)
	}
	return all, nil
}

// editOf reads what the CLI reports of an edit.
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

// newFile is the hunk of a file that did not exist.
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
