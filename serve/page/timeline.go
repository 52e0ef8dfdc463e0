package page

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/serve/api"
)

// item is an entry of a conversation's timeline.
type item struct {
	Key, Version string
	Seq          int64  // of its event
	Kind         string // prompt, text, thinking, tool, turn, notice
	At           time.Time
	By           string // who sent a prompt, or caused a notice
	Agent        string // the subagent that it comes from
	Text, Rest   string
	HTML         template.HTML // of the Markdown, see render
	markdown     string
	Bad          bool
	Tool         *toolRow
	Files        []attached
	Prompt       string // the id of a prompt of the main conversation
	Rewind       string // where to restore files to what they were before it; empty: nothing to restore
}

// toolRow is a tool call.
type toolRow struct {
	ID, Name, Subject string
	State             string // running, waiting, ok, failed, denied, unknown
	Took              string
	Agent             bool // it is a subagent
	Input, InputRest  string
	Output, Rest      string
	InputCode         template.HTML `json:"-"` // in colours, see colour
	OutputCode        template.HTML `json:"-"`
	Diff              *show.Diff
	Path              string
	Full              string // the address of its full input and output; empty: all is shown
	Questions         []show.Question
	Approval          *api.ApprovalNote

	input json.RawMessage
	began time.Time
	done  bool
}

// timeline gathers the items of a conversation.
type timeline struct {
	dir     string // the working directory
	items   []*item
	tools   map[string]*toolRow
	prompts map[string]api.Prompt
	notes   map[string]api.ApprovalNote // by tool call
	seq     int64                       // of the current event
	earlier int64                       // there are items before this event; 0: there are none
}

func newTimeline(dir string, events []api.Event) *timeline {
	t := &timeline{dir: dir, tools: make(map[string]*toolRow), prompts: make(map[string]api.Prompt), notes: make(map[string]api.ApprovalNote)}
	for i := range events {
		t.take(&events[i])
	}
	for id, row := range t.tools {
		if note, ok := t.notes[id]; ok {
			row.Approval = &note
			row.judge(&note)
		}
	}
	for _, it := range t.items {
		if it.Tool != nil {
			it.Version = version(it.Tool)
		}
	}
	return t
}

// render makes the markup of the remaining items, which is most of the work.
func (t *timeline) render() {
	for _, it := range t.items {
		if it.markdown != "" {
			it.HTML = markdown.HTML(it.markdown)
		}
		if it.Tool != nil {
			it.Tool.colour()
		}
	}
}

// take adds an event.
func (t *timeline) take(e *api.Event) {
	t.seq = e.Seq
	key := fmt.Sprintf("e%d", e.Seq)
	switch e.Type {
	case api.EventMessage:
		t.message(e, key)
	case api.EventPrompt:
		t.prompts[e.Prompt.ID] = *e.Prompt
	case api.EventTurn:
		delete(t.prompts, e.Turn.Prompt)
		t.turn(e, key)
	case api.EventApproval:
		t.notes[e.Approval.ToolUseID] = *e.Approval
	case api.EventNotice:
		t.add(&item{Key: key, Kind: "notice", At: e.At, By: line(e.Notice.User), Text: line(e.Notice.Text)})
	}
}

// add adds an item. The log may learn that a turn has ended before it has read the last
// messages; they go before the end.
func (t *timeline) add(it *item) {
	it.Seq = t.seq
	last := len(t.items)
	if said := it.Kind == "text" || it.Kind == "thinking" || it.Kind == "tool"; said && last > 0 && t.items[last-1].Kind == "turn" {
		last--
	}
	t.items = slices.Insert(t.items, last, it)
}

func (t *timeline) turn(e *api.Event, key string) {
	it := &item{Key: key, Kind: "turn", At: e.At, Text: string(e.Turn.State), Bad: e.Turn.State == "failed"}
	if e.Turn.PartOf != "" {
		it.Text += " in the turn that it steers"
	} else if e.Turn.Millis > 0 {
		it.Text += " in " + show.Span(float64(e.Turn.Millis))
	}
	if e.Turn.CostUSD > 0 {
		it.Text += " · " + show.Money(e.Turn.CostUSD)
	}
	var more string
	if it.Rest, more = show.Text(e.Turn.Error, maxReason); more != "" {
		it.Rest += "… " + more
	}
	t.add(it)
}

// message adds a message.
func (t *timeline) message(e *api.Event, key string) {
	m, _ := message.Decode(e.Message) // an unreadable message is not shown
	switch m := m.(type) {
	case *message.User:
		for _, result := range m.ToolResults() {
			t.result(e, m, result)
		}
		if text, files := m.Text(), attachedTo(m); text != "" || len(files) > 0 {
			it := &item{Key: key, Kind: "prompt", At: e.At, Agent: agentOf(m), Files: files}
			it.By = line(t.prompts[m.UUID].By)
			if it.Agent == "" && !m.IsSynthetic {
				it.Prompt = m.UUID
			}
			it.Text, it.Rest = show.Text(text, maxText)
			t.add(it)
		}
	case *message.LocalCommandOutput:
		t.block(e, &message.TextBlock{Text: m.Content}, key, "")
	case *message.Informational:
		it := &item{Key: key, Kind: "notice", At: e.At}
		it.Text, it.Rest = show.Text(m.Content, maxText)
		t.add(it)
	case *message.CompactBoundary:
		t.add(&item{Key: key, Kind: "notice", At: e.At, Text: compacted(&m.Metadata)})
	case *message.Assistant:
		for i, block := range m.Content {
			t.block(e, block, fmt.Sprintf("%s-%d", key, i), agentOf(m))
		}
	}
}

// compacted describes the effect of a compaction.
func compacted(m *message.CompactMetadata) string {
	if m.PreTokens <= 0 || m.PostTokens <= 0 {
		return "the context was compacted"
	}
	return fmt.Sprintf("the context was compacted: %d tokens became %d", m.PreTokens, m.PostTokens)
}

// agentOf names the subagent that a message comes from.
func agentOf(m message.Message) string {
	sub := message.SubagentOf(m)
	if sub.Type == "" && sub.ToolUseID != "" {
		return "sub-agent"
	}
	return line(sub.Type)
}

func (t *timeline) block(e *api.Event, block message.Block, key, agent string) {
	switch b := block.(type) {
	case *message.TextBlock:
		if strings.TrimSpace(b.Text) != "" {
			it := &item{Key: key, Kind: "text", At: e.At, Agent: agent, Text: terminal.Line(show.Short(b.Text))}
			it.markdown = show.Head(b.Text, maxPlan)
			if len(it.markdown) < len(b.Text) {
				_, it.Rest = show.Text(b.Text, maxPlan)
			}
			t.add(it)
		}
	case *message.ThinkingBlock:
		if strings.TrimSpace(b.Thinking) != "" {
			it := &item{Key: key, Kind: "thinking", At: e.At, Agent: agent}
			it.Text, it.Rest = show.Text(b.Thinking, maxText)
			t.add(it)
		}
	case *message.ToolUseBlock:
		row := newToolRow(b, t.dir)
		row.began = e.At
		t.tools[b.ID] = row
		t.add(&item{Key: "t-" + show.Head(b.ID, maxLine), Kind: "tool", At: e.At, Agent: agent, Tool: row})
	}
}

func newToolRow(b *message.ToolUseBlock, dir string) *toolRow {
	row := &toolRow{ID: b.ID, Name: line(b.Name), Subject: terminal.Line(show.Short(show.Subject(b.Input))), State: "running", input: b.Input}
	row.Agent = b.Name == "Task" || b.Name == "Agent"
	if row.Agent {
		row.Subject = terminal.Line(show.Short(jsonx.Text(jsonx.Member(b.Input, "description"))))
	}
	row.Input, row.InputRest = show.Text(pretty(b.Input), maxText)
	row.Diff = show.Edit(b.Name, b.Input, maxText)
	if row.Diff != nil {
		row.Path = line(shortPath(dir, show.Subject(b.Input)))
		row.Subject = show.Short(row.Path)
	}
	row.Questions = show.Questions(b.Name, b.Input, nil)
	return row
}

// result adds the result of a call.
func (t *timeline) result(e *api.Event, m *message.User, result *message.ToolResultBlock) {
	row := t.tools[result.ToolUseID]
	if row == nil {
		return
	}
	row.done, row.State = true, "ok"
	if result.IsError {
		row.State = "failed"
	}
	if took := e.At.Sub(row.began); took > 0 && !row.began.IsZero() {
		row.Took = show.Span(float64(took.Milliseconds()))
	}
	row.Output, row.Rest = show.Text(result.Content.Text(), maxText)
	report := m.ToolUseResult
	if len(report) == 0 {
		report = jsonx.Member(e.Message, "toolUseResult") // as transcripts call it
	}
	if diff := show.Patch(report); diff != nil {
		row.Diff = diff
	}
	answers := make(map[string]string)
	if jsonx.Unmarshal(jsonx.Member(report, "answers"), &answers) == nil && len(answers) > 0 {
		row.Questions = show.Questions(row.Name, row.input, answers)
	}
}

// shortPath returns a path as people know it: relative to the working directory, if it
// is inside.
func shortPath(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && dir != "" && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

// judge adds people's decision about a call.
func (r *toolRow) judge(note *api.ApprovalNote) {
	switch {
	case note.State == api.ApprovalPending:
		r.State = "waiting"
	case note.Outcome == "unknown":
		r.State = "unknown"
	case note.State == api.ApprovalDenied:
		r.State = "denied"
	case note.State == api.ApprovalExpired, note.State == api.ApprovalWithdrawn:
		if !r.done {
			r.State = string(note.State)
		}
	}
}

// Tone returns the CSS class of the state.
func (r *toolRow) Tone() string {
	switch r.State {
	case "ok":
		return "good"
	case "failed", "denied":
		return "bad"
	case "waiting", "unknown", "expired", "withdrawn":
		return "warn"
	}
	return ""
}

// queue returns the prompts that wait, the oldest first, and the one at which the
// conversation is stuck. They can be taken back.
func queue(prompts []api.Prompt) []api.Prompt {
	var out []api.Prompt
	for _, p := range prompts {
		if p.State == "queued" || p.State == "stuck" {
			p.Text = show.Short(terminal.Clean(p.Text))
			out = append(out, p)
		}
	}
	return out
}

// offerRewind offers to restore files at each prompt since which some were changed.
func (t *timeline) offerRewind(to string) {
	edited := false
	for _, it := range slices.Backward(t.items) {
		edited = edited || it.Tool != nil && it.Tool.Diff != nil && it.Tool.State == "ok"
		if edited && it.Prompt != "" {
			it.Rewind, it.Version = to, "rewind"
		}
	}
}

// link links calls that are not shown in full to all of their text, and files to what
// is in them. The addresses begin with that of the conversation.
func (t *timeline) link(to string) {
	for id, row := range t.tools {
		if row.Rest != "" || row.InputRest != "" {
			row.Full = to + "/call/" + url.PathEscape(id)
		}
	}
	for _, it := range t.items {
		for i := range it.Files {
			if it.Files[i].Here {
				it.Files[i].At = fmt.Sprintf("%s/file/%d/%d", to, it.Seq, i)
			}
		}
	}
}

// changedFile is a file and its changes.
type changedFile struct {
	Path           string
	Diffs          []*show.Diff
	Added, Removed int
	What           string // the kind of the change, if that is not only other lines
}

// changes returns the files that the conversation has changed, in order, without the
// calls whose edits are gone.
func (t *timeline) changes(gone map[string]bool) []*changedFile {
	byPath := make(map[string]*changedFile)
	var all []*changedFile
	for _, it := range t.items {
		if it.Tool == nil || it.Tool.Diff == nil || it.Tool.State != "ok" || gone[it.Tool.ID] {
			continue
		}
		f := byPath[it.Tool.Path]
		if f == nil {
			f = &changedFile{Path: it.Tool.Path}
			byPath[f.Path] = f
			all = append(all, f)
		}
		it.Tool.Diff.Colour(f.Path)
		f.Diffs = append(f.Diffs, it.Tool.Diff)
		f.Added += it.Tool.Diff.Added
		f.Removed += it.Tool.Diff.Removed
	}
	return all
}
