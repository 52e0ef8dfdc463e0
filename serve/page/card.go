package page

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"html/template"
	"net/url"
	"strconv"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/serve"
)

// maxText is how many bytes of an input or an output are shown.
const maxText = 16 << 10

// card is an approval on the page.
type card struct {
	serve.Approval
	Version string // changes when what is shown does
	Where   string // the title of the conversation
	Back    string // where to go after a decision
	Subject string // the command, the file, the address
	Diff    *show.Diff
	Plan    template.HTML
	Asked   []show.Question
	Pretty  string // the input
	Rest    string // what is not shown of it
	Edit    string // the input to edit; empty if it could not be shown as it is
	Alone   bool   // on a screen of its own
}

// newCard shows an approval. where is the title of its conversation.
func newCard(a *serve.Approval, where, back string) card {
	c := card{Approval: *a, Where: terminal.Line(where), Back: back}
	c.Title, c.Reason, c.Tool = terminal.Line(a.Title), terminal.Clean(a.Reason), terminal.Line(a.Tool)
	full := show.Subject(a.Input)
	c.Subject, c.Rest = show.Text(full, maxText)
	whole := pretty(a.Input)
	c.Pretty, _ = show.Text(whole, maxText)
	if c.Pretty == whole && a.Kind == serve.KindTool {
		c.Edit = whole
	}
	if c.Diff = show.Unified(a.Diff); c.Diff == nil {
		c.Diff = show.Edit(a.Tool, a.Input, maxText)
	}
	if c.Diff != nil {
		c.Subject = terminal.Line(shortPath(a.Dir, full))
	}
	switch a.Kind {
	case serve.KindPlan:
		c.Plan = markdown.HTML(a.Plan)
	case serve.KindQuestion:
		c.Asked = show.Questions(a.Tool, a.Input, nil)
	case serve.KindElicitation:
		c.Subject, c.Rest = show.Text(jsonx.Text(jsonx.Member(a.Input, "message")), maxText)
	}
	c.Version = version(c)
	return c
}

// Pending reports whether it can be decided.
func (c *card) Pending() bool { return c.State == serve.ApprovalPending }

// File reports whether the subject is a file, not a command.
func (c *card) File() bool { return c.Diff != nil }

// version changes when a value does.
func version(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// pretty writes JSON for people, and anything else as it is.
func pretty(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}

// webAddress returns an address that a browser may open, empty if it is not one.
func webAddress(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || terminal.Line(address) != address {
		return ""
	}
	return address
}

// chosen reports whether a field has a value by default.
func chosen(f serve.FormField, value string) bool {
	if string(f.Default) == value || jsonx.Text(f.Default) == value {
		return true
	}
	for one := range jsonx.Elements(f.Default) {
		if jsonx.Text(one) == value {
			return true
		}
	}
	return false
}

// entryType is the kind of input for a field.
func entryType(f serve.FormField) string {
	switch {
	case f.Kind == "number" || f.Kind == "integer":
		return "number"
	case f.Format == "email" || f.Format == "date":
		return f.Format
	case f.Format == "uri":
		return "url"
	}
	return "text"
}

// presetText is what a field has by default.
func presetText(f serve.FormField) string {
	if text := jsonx.Text(f.Default); text != "" {
		return text
	}
	if f.Kind == "number" || f.Kind == "integer" {
		return string(f.Default)
	}
	return ""
}
