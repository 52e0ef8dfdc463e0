package main

import (
	"strings"

	"github.com/claude-agent-go/claude/internal/docs"
)

// parityCommand is "claudectl parity".
type parityCommand struct {
	Missing bool `help:"Show only what is not offered, and why."`
}

// Run shows the table that internal/test/parity makes from the declarations of the
// official SDK.
func (p *parityCommand) Run(c *console) error {
	var shown []table
	for _, t := range readTables(docs.Parity) {
		if p.Missing {
			t.Rows = missing(t.Rows)
		}
		if len(t.Rows) > 0 {
			shown = append(shown, t)
		}
	}
	if c.json {
		return c.emit(map[string]any{"tables": shown})
	}
	for i := range shown {
		if i > 0 {
			c.printf("\n")
		}
		shown[i].write(c.stdout)
	}
	return nil
}

func missing(rows [][]string) [][]string {
	var some [][]string
	for _, row := range rows {
		if len(row) > 1 && strings.HasPrefix(row[1], "not offered") {
			some = append(some, row)
		}
	}
	return some
}
