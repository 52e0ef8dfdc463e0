package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html/template"
	"net/url"
	"strconv"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/markdown"
	"github.com/claude-agent-go/claude/internal/show"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/serve/api"
)

// How many bytes of foreign text are shown: of an input or an output, of a reason or an
// error, of a name, a path or a rule, of a plan or a diff, and of an address that is a
// link.
const (
	maxText    = 16 << 10
	maxReason  = 2 << 10
	maxLine    = 300
	maxPlan    = 64 << 10
	maxAddress = 2 << 10
)

// line returns a name, a path or the like in one line, truncated if it is very long.
func line(s string) string {
	shown, _ := show.Line(s, maxLine)
	return shown
}

// card is an approval on the page.
type card struct {
	api.Approval
	Version string        // changes with the shown content
	Where   string        // the title of the conversation
	Back    string        // where to go after a decision
	Subject string        // the command, the file, the address
	Code    template.HTML `json:"-"` // the subject, a command in colours
	Diff    *show.Diff
	Plan    template.HTML
	Asked   []show.Question
	Pretty  string // the input
	Rest    string // the part that is not shown
	Edit    string // the input to edit; empty if it could not be shown unchanged
	Rules   []rule // the suggestions
	Cut     bool   // a part of what the decision is about is not shown
	Alone   bool   // on a screen of its own
	Pick    *pick  // to decide it with others; nil: it is decided on its own
	// MayRelease is true if it holds a process that the user may release.
	MayRelease bool
}

// brief returns a text in one line, and notes if it was cut.
func (c *card) brief(s string) string {
	shown, cut := show.Line(s, maxLine)
	c.Cut = c.Cut || cut
	return shown
}

// part returns the beginning of a text, and a remark about the rest.
func (c *card) part(s string, most int) (shown, rest string) {
	shown, rest = show.Text(s, most)
	c.Cut = c.Cut || rest != ""
	return shown, rest
}

// newCard shows an approval to a user. where is the title of its conversation.
func newCard(a *api.Approval, u api.User, where, back string) card {
	c := card{Approval: *a, Where: line(where), Back: back}
	c.MayRelease = a.HoldsProcess && a.MayDecide && u.Role.Covers(api.RoleOperator)
	c.Title, c.Tool, c.Dir = line(a.Title), c.brief(a.Tool), c.brief(a.Dir)
	c.Reason, _ = c.part(a.Reason, maxReason)
	if a.Kind != api.KindTool { // it asks by itself: no rule led here, and no directory matters
		c.Reason, c.Dir = "", ""
	}
	for _, text := range a.Suggestions {
		c.Rules = append(c.Rules, rule{c.brief(text), line(ruleWords(text, a.Dir))})
	}
	full := show.Subject(a.Input)
	c.Subject, c.Rest = c.part(full, maxText)
	whole := pretty(a.Input)
	c.Pretty, _ = c.part(whole, maxText)
	if c.Pretty == whole && a.Kind == api.KindTool {
		c.Edit = whole
	}
	if c.Diff = show.Unified(a.Diff); c.Diff == nil {
		c.Diff = show.Edit(a.Tool, a.Input, maxText)
	}
	if c.Diff != nil {
		c.Cut = c.Cut || c.Diff.Cut
		c.Diff.Colour(full)
		c.Subject = c.brief(shortPath(a.Dir, full))
	}
	switch a.Kind {
	case api.KindPlan:
		plan := show.Head(a.Plan, maxPlan)
		c.Plan, c.Cut = markdown.HTML(plan), c.Cut || len(plan) < len(a.Plan)
	case api.KindQuestion:
		c.Asked = show.Questions(a.Tool, a.Input, nil)
		for _, q := range c.Asked {
			c.Cut = c.Cut || q.Cut
		}
	case api.KindElicitation:
		c.Subject, c.Rest = c.part(jsonx.Text(jsonx.Member(a.Input, "message")), maxText)
		c.form()
	}
	c.Code = codeOf(a.Tool, c.Subject)
	c.Version = version(c)
	return c
}

// form prepares the form of an MCP server. One whose values do not fit into the page is
// filled in as JSON.
func (c *card) form() {
	if c.Form == nil {
		return
	}
	c.brief(c.Form.Server)
	c.brief(c.Form.URL)
	for i := range c.Form.Fields {
		f := &c.Form.Fields[i]
		c.brief(f.Title)
		c.brief(f.Description)
		fits := len(f.Default) <= maxText
		for _, o := range f.Options {
			c.brief(o.Title)
			fits = fits && len(o.Value) <= maxReason
		}
		if !fits {
			c.Form, c.Cut = nil, true
			return
		}
	}
}

// full returns everything that a decision is about as text, with nothing cut.
func full(a *api.Approval) string {
	var out strings.Builder
	part := func(name, text string) {
		if text != "" {
			out.WriteString("== " + name + "\n" + terminal.Clean(text) + "\n\n")
		}
	}
	part("Tool", a.Tool)
	part("Directory", a.Dir)
	part("Why you are asked", a.Reason)
	if about := show.Subject(a.Input); about != string(a.Input) {
		part("What it is about", about)
	}
	part("Input", pretty(a.Input))
	part("Diff", a.Diff)
	part("Plan", a.Plan)
	for i, rule := range a.Suggestions {
		part(fmt.Sprintf("Rule %d to remember", i+1), rule)
	}
	return out.String()
}

// Pending reports whether it can be decided.
func (c *card) Pending() bool { return c.State == api.ApprovalPending }

// File reports whether the subject is a file, not a command.
func (c *card) File() bool { return c.Diff != nil }

// version returns a digest that changes with a value.
func version(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // never fails
	return strconv.FormatUint(h.Sum64(), 36)
}

// pretty formats JSON for people, and leaves anything else unchanged.
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
	if err != nil || len(address) > maxAddress || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || terminal.Line(address) != address {
		return ""
	}
	return address
}

// chosen reports whether a field has a value by default.
func chosen(f api.FormField, value string) bool {
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

// entryType returns the type of input element for a field.
func entryType(f api.FormField) string {
	switch {
	case f.Kind == api.FieldNumber || f.Kind == api.FieldInteger:
		return "number"
	case f.Format == "email" || f.Format == "date":
		return f.Format
	case f.Format == "uri":
		return "url"
	}
	return "text"
}

// presetText returns the default text of a field.
func presetText(f api.FormField) string {
	if text := jsonx.Text(f.Default); text != "" {
		return text
	}
	if f.Kind == api.FieldNumber || f.Kind == api.FieldInteger {
		return string(f.Default)
	}
	return ""
}
