package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/inspect"
	"github.com/claude-agent-go/claude/internal/terminal"
	"github.com/claude-agent-go/claude/message"
)

// sessionsShow is "claudectl sessions show".
type sessionsShow struct {
	ID     string `arg:"" complete:"session" help:"The session, by its id or the beginning of it."`
	Agent  string `placeholder:"ID" help:"Show what a subagent was told and said."`
	System bool   `help:"Also show system lines, such as the boundary of a compaction."`
	HTML   string `name:"html" placeholder:"FILE" complete:"file" help:"Write one page for a browser to FILE, or - for standard output."`
}

// shown is a message as "sessions show --json" writes it.
type shown struct {
	UUID    string    `json:"uuid"`
	Time    time.Time `json:"time,omitzero"`
	Summary bool      `json:"summary,omitzero"`
	Message any       `json:"message"`
}

// Run shows the conversation.
func (r *sessionsShow) Run(c *console) error {
	return c.with(r.ID, func(ctx context.Context, h *history.History, id string) error {
		t, err := h.Read(ctx, id)
		if err == nil && r.Agent != "" {
			t, err = t.Subagent(ctx, r.Agent)
		}
		if err != nil {
			return err
		}
		if t.Skipped > 0 {
			fmt.Fprintf(c.stderr, "claudectl: %d lines of the file cannot be read\n", t.Skipped)
		}
		switch {
		case r.HTML != "":
			return r.page(ctx, c, h, t)
		case c.json:
			return r.lines(ctx, c, t)
		}
		return r.text(ctx, c, h, t)
	})
}

// lines writes a message a line, as JSON.
func (r *sessionsShow) lines(ctx context.Context, c *console, t *history.Transcript) error {
	for m, err := range t.Messages(ctx, history.Page{System: r.System}) {
		if err != nil {
			return err
		}
		if err := c.emit(shown{m.UUID, m.Time, m.Summary, m.Head().Raw}); err != nil {
			return err
		}
	}
	return nil
}

// page writes the conversation as the page of "claudectl inspect".
func (r *sessionsShow) page(ctx context.Context, c *console, h *history.History, t *history.Transcript) error {
	var stream bytes.Buffer
	for m, err := range t.Messages(ctx, history.Page{System: r.System}) {
		if err != nil {
			return err
		}
		stream.Write(m.Head().Raw)
		stream.WriteByte('\n')
	}
	if stream.Len() == 0 {
		return history.ErrEmpty
	}
	info, err := h.Info(ctx, t.ID)
	if err != nil { // there is something to show anyway
		info.Title = ""
	}
	rep, err := inspect.Read(&stream, &inspect.Options{Title: info.Title, Source: "session " + t.ID, Secrets: c.secrets})
	if err != nil {
		return err
	}
	if r.HTML == "-" {
		return rep.WriteHTML(c.stdout, inspect.Limits{})
	}
	return (&inspectCommand{HTML: r.HTML}).writePage(c, rep)
}

// text writes the conversation for a person: who said what, tools in one line.
func (r *sessionsShow) text(ctx context.Context, c *console, h *history.History, t *history.Transcript) error {
	if info, err := h.Info(ctx, t.ID); err == nil {
		c.printf("%s\n%s\n", c.line(info.Title), c.line(facts(&info)))
	}
	for m, err := range t.Messages(ctx, history.Page{System: r.System}) {
		if err != nil {
			return err
		}
		for _, part := range said(m) {
			c.printf("\n%s  %s\n", m.Time.Local().Format("15:04:05"), part.who)
			c.printf("%s\n", indent(c.clean(part.text)))
		}
	}
	agents, err := t.Subagents(ctx)
	if err != nil || r.Agent != "" {
		return err
	}
	for i, a := range agents {
		if i == 0 {
			c.printf("\nSubagents\n")
		}
		c.printf("  %s  %s: %s\n", c.line(a.ID), c.line(a.Type), c.line(a.Description))
	}
	return nil
}

// facts is the second line of a session.
func facts(info *history.SessionInfo) string {
	parts := []string{info.ID, info.Dir}
	if info.Branch != "" && info.Branch != "HEAD" {
		parts = append(parts, info.Branch)
	}
	if !info.Created.IsZero() {
		parts = append(parts, info.Created.Local().Format(time.DateTime))
	}
	if info.CostUSD > 0 {
		parts = append(parts, "$"+strconv.FormatFloat(info.CostUSD, 'f', 4, 64))
	}
	return strings.Join(parts, " · ")
}

// part is something that was said by one.
type part struct{ who, text string }

// said splits a message into what a person would see.
func said(m *history.StoredMessage) []part {
	switch msg := m.Message.(type) {
	case *message.User:
		var parts []part
		for _, result := range msg.ToolResults() {
			who := "result"
			if result.IsError {
				who = "error"
			}
			parts = append(parts, part{who, clip(strings.TrimSpace(result.Content.Text()), 2000)})
		}
		if text := msg.Text(); text != "" {
			who := "you"
			if m.Summary {
				who = "summary"
			}
			parts = append(parts, part{who, text})
		}
		return parts
	case *message.Assistant:
		var parts []part
		if text := msg.Text(); text != "" {
			parts = append(parts, part{"claude", text})
		}
		for _, use := range msg.ToolUses() {
			parts = append(parts, part{"tool", use.Name + " " + clip(string(use.Input), 500)})
		}
		return parts
	}
	return []part{{"system", clip(string(m.Head().Raw), 500)}}
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

// sessionsResume is "claudectl sessions resume".
type sessionsResume struct {
	ID     string   `arg:"" optional:"" complete:"session" help:"The session, by its id or the beginning of it. If you leave it out, you choose from a list."`
	Prompt []string `arg:"" optional:"" help:"The prompt. If you leave it out, you are asked for it, or it is read from standard input."`
	CLI    string   `name:"cli" placeholder:"PATH" complete:"file" help:"The CLI to use. Default: the \"claude\" that is installed."`
	Mode   string   `placeholder:"MODE" complete:"mode" help:"The permission mode, as with \"claudectl run\"."`
	Fork   bool     `help:"Continue in a copy; the original session is unchanged."`
}

// Run continues a session.
func (r *sessionsResume) Run(c *console) error {
	h, err := c.history()
	if err != nil {
		return err
	}
	id := r.ID
	if id == "" {
		if id, err = r.choose(c, h); err != nil {
			return err
		}
	}
	if id, err = c.session(h, id); err != nil {
		return err
	}
	info, err := h.Info(c.ctx, id)
	if err != nil {
		return noSession(err)
	}
	if info.Dir == "" { // never the caller's directory: the agent acts there
		return &failure{exitInput, fmt.Errorf("session %s does not name its directory: continue it with \"claudectl run --cwd DIR --resume %s\"", id, id)}
	}
	prompt := r.Prompt
	if len(prompt) == 0 && terminal.Is(c.stdin) {
		fmt.Fprintf(c.stderr, "%s\n> ", c.line(info.Title))
		text, err := newKeyboard(c.stdin).line(c.ctx)
		if err != nil || text == "" {
			return &failure{exitInterrupted, errors.New("nothing was asked")}
		}
		prompt = []string{text}
	}
	return (&runCommand{Prompt: prompt, CLI: r.CLI, Cwd: info.Dir, Mode: r.Mode, Resume: id, Fork: r.Fork, Stream: true}).Run(c)
}

// choose lets a person pick a session.
func (r *sessionsResume) choose(c *console, h *history.History) (string, error) {
	if !terminal.Is(c.stdin) || c.json {
		return "", &failure{exitUsage, errors.New("cannot ask which session here: name it")}
	}
	found, err := (&sessionsList{Limit: 20}).find(c, h)
	if err != nil {
		return "", err
	}
	if len(found) == 0 {
		return "", &failure{exitInput, errors.New("no sessions found")}
	}
	for i, s := range found {
		fmt.Fprintf(c.stderr, "%3d  %-4s %s\n", i+1, age(time.Since(s.Modified)), clip(c.line(s.Title), 60))
	}
	keys := newKeyboard(c.stdin)
	for {
		fmt.Fprintf(c.stderr, "Which one? ")
		text, err := keys.line(c.ctx)
		if err != nil || text == "" {
			return "", &failure{exitInterrupted, errors.New("no session was chosen")}
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(found) {
			return found[n-1].ID, nil
		}
		fmt.Fprintf(c.stderr, "%q is not a number from 1 to %d.\n", c.line(text), len(found))
	}
}
