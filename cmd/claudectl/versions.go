package main

import (
	"runtime"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/docs"
)

// versionsCommand is "claudectl versions".
type versionsCommand struct{}

// Run shows what this build is, and the table that internal/test/compat has measured.
func (*versionsCommand) Run(c *console) error {
	about := struct {
		Version string  `json:"version"`
		Go      string  `json:"go"`
		Tested  string  `json:"tested_with"`
		Tables  []table `json:"tables"`
	}{claude.Version, runtime.Version(), claudetest.Version, readTables(docs.Compatibility)}
	if c.json {
		return c.emit(about)
	}
	c.printf("claudectl %s, built with %s, tested with version %s of the CLI\n", about.Version, about.Go, about.Tested)
	for i := range about.Tables {
		c.printf("\n")
		about.Tables[i].write(c.stdout)
	}
	return nil
}
