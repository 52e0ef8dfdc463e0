package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/claude-agent-go/claude/history"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// sessionsList is "claudectl sessions list".
type sessionsList struct {
	Here   bool   `help:"Only sessions of this directory and of the worktrees of its repository."`
	All    bool   `help:"All sessions, including archived ones, not just the newest."`
	Limit  int    `default:"20" placeholder:"N" help:"How many sessions to list at most."`
	Tag    string `placeholder:"TAG" help:"Only sessions with this tag."`
	Search string `placeholder:"TEXT" help:"Only sessions whose title, first prompt, directory or branch has this text."`
}

// sessionRow is a session as the list writes it in JSON.
type sessionRow struct {
	ID          string    `json:"session"`
	Title       string    `json:"title"`
	FirstPrompt string    `json:"first_prompt,omitzero"`
	Tag         string    `json:"tag,omitzero"`
	Archived    bool      `json:"archived,omitzero"`
	Dir         string    `json:"dir,omitzero"`
	Branch      string    `json:"branch,omitzero"`
	Entrypoint  string    `json:"entrypoint,omitzero"`
	Created     time.Time `json:"created,omitzero"`
	Modified    time.Time `json:"modified"`
	Turns       int       `json:"turns"`
	CostUSD     float64   `json:"cost_usd,omitzero"`
	Bytes       int64     `json:"bytes"`
}

// Run lists the sessions.
func (l *sessionsList) Run(c *console) error {
	h, err := c.history()
	if err != nil {
		return err
	}
	found, err := l.find(c, h)
	if err != nil {
		return err
	}
	if c.json {
		for _, s := range found {
			if err := c.emit(s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(found) == 0 {
		c.printf("No sessions.\n")
		return nil
	}
	l.print(c, found, time.Now())
	return nil
}

// find reads the sessions that are wanted.
func (l *sessionsList) find(c *console, h *history.History) ([]sessionRow, error) {
	q := history.Query{Tag: l.Tag, Archived: history.ArchivedExcluded}
	limit := l.Limit
	if l.All {
		limit, q.Archived = 0, history.ArchivedIncluded
	}
	if l.Here {
		dir, err := os.Getwd()
		if err != nil {
			return nil, &failure{exitInput, err}
		}
		q.Dir = dir
	}
	var found []sessionRow
	for info, err := range h.List(c.ctx, q) {
		if err != nil {
			return nil, noSession(err)
		}
		if !l.matches(&info) {
			continue
		}
		s := sessionRow{
			ID: info.ID, Title: info.Title, FirstPrompt: info.FirstPrompt, Tag: info.Tag, Archived: info.Archived,
			Dir: info.Dir, Branch: info.Branch, Entrypoint: info.Entrypoint, Created: info.Created, Modified: info.Modified,
			CostUSD: info.CostUSD, Bytes: info.Size,
		}
		t, err := h.Read(c.ctx, info.ID)
		if err != nil && !errors.Is(err, history.ErrNotFound) {
			return nil, noSession(err)
		}
		if err == nil {
			s.Turns = t.Prompts()
		}
		if found = append(found, s); limit > 0 && len(found) == limit {
			break
		}
	}
	return found, nil
}

// matches reports whether a session has the text that is looked for.
func (l *sessionsList) matches(info *history.SessionInfo) bool {
	if l.Search == "" {
		return true
	}
	text := strings.ToLower(strings.Join([]string{info.Title, info.FirstPrompt, info.Dir, info.Branch, info.Tag}, "\n"))
	return strings.Contains(text, strings.ToLower(l.Search))
}

// titleWidth is how much of a title a row shows.
const titleWidth = 48

// print writes the list as a table that a person reads.
func (l *sessionsList) print(c *console, found []sessionRow, now time.Time) {
	t := table{Names: []string{"AGE", "TITLE", "BRANCH", "TURNS", "COST", "ID"}}
	for _, s := range found {
		title := c.line(s.Title)
		if s.Tag != "" {
			title = "#" + c.line(s.Tag) + " " + title
		}
		if s.Archived {
			title = "(archived) " + title
		}
		branch, cost := c.line(s.Branch), ""
		if branch == "HEAD" {
			branch = "" // outside a repository
		}
		switch {
		case s.CostUSD >= 0.01:
			cost = fmt.Sprintf("$%.2f", s.CostUSD)
		case s.CostUSD > 0:
			cost = "<$0.01"
		}
		t.Rows = append(t.Rows, []string{age(now.Sub(s.Modified)), clip(title, titleWidth), clip(branch, 24), fmt.Sprint(s.Turns), cost, s.ID})
	}
	width := 0 // ids are cut where they would not be copied
	if terminal.Is(c.stdout.stream) {
		width = 8
	}
	for _, row := range t.Rows {
		if last := len(row) - 1; width > 0 {
			row[last] = row[last][:width]
		}
	}
	t.write(c.stdout)
}

// age returns how long ago something was, as one number.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "now"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d < 365*24*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
	return fmt.Sprintf("%dy", int(d.Hours()/24/365))
}

// clip shortens a text to a number of characters.
func clip(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}
