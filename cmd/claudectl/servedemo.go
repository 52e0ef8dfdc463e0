package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// demoReadme is the file that the simulated agent edits.
const demoReadme = `# Shop

The shop sells bolts, nuts and washers.

## Test

Run the tets with go test.
`

// demoSetup is a server whose agent is simulated, in a folder that is removed.
func demoSetup() (*serveSetup, error) {
	dir, err := private.MkdirTemp(os.TempDir(), "claudectl-serve-")
	if err != nil {
		return nil, &failure{exitFailed, err}
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // as the agent reports where it works
	}
	shop := filepath.Join(dir, "shop")
	err = private.Mkdir(shop)
	if err == nil {
		err = os.WriteFile(filepath.Join(shop, "README.md"), []byte(demoReadme), 0o600)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, &failure{exitFailed, err}
	}
	return &serveSetup{
		home:    dir, // an arbitrary name
		refused: newRefusedHosts(), store: store.Memory(), journal: filepath.Join(dir, "journal"),
		presets: []serve.Preset{{
			Name: "shop", Description: "A simulated agent in a small shop", Roots: []string{shop},
			Models: []string{"opus", "sonnet"}, Modes: []permission.Mode{permission.ModePlan, permission.ModeAcceptEdits},
			Options: &claude.Options{Transport: demoAgent(shop), Env: []string{"HOME=" + dir}, PartialMessages: true},
		}},
		needs: func(_ context.Context, in *hook.PreToolUseInput) (string, bool) {
			return "the demo asks about every call", in.ToolName != "Read"
		},
		about: "a demo, whose agent is simulated: no account, no cost, nothing is kept,",
		end:   func() { _ = os.RemoveAll(dir) },
	}, nil
}

// The prompts of the demo.
const (
	demoTypo  = "Fix the typo in the README."
	demoWhich = "Add a database for the stock."
	demoTests = "Run the tests."
	demoStock = "What does the shop sell? Answer with a table."
)

// beginDemo begins the conversations of the demo.
func beginDemo(ctx context.Context, s *serve.Service, u api.User) error {
	for _, prompt := range []string{demoStock, demoTests, demoWhich, demoTypo} {
		if _, err := s.Create(ctx, u, api.NewConversation{Preset: "shop", Content: api.Text(prompt), Shared: true}); err != nil {
			return err
		}
	}
	return nil
}

// demoAgent is the simulated agent.
func demoAgent(shop string) *claudetest.CLI {
	readme := filepath.Join(shop, "README.md")
	return claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			return demoReply(c, readme).Chunks(6, 25*time.Millisecond)
		},
		Tools: map[string]host.RunFunc{
			"Edit": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
				return demoEdit(shop, input)
			},
			"Bash": func(context.Context, json.RawMessage) (host.ToolOutput, error) {
				return host.TextOutput("ok  \tshop\t0.012s\nok  \tshop/stock\t0.034s\n"), nil
			},
		},
	})
}

// demoReply is the answer of the simulated model.
func demoReply(c *claudetest.ModelCall, readme string) claudetest.Reply {
	if n := len(c.ToolResults); n > 0 {
		return demoAfter(c.ToolResults[n-1].Text)
	}
	switch {
	case strings.Contains(c.Prompt, "typo"):
		return claudetest.Say("The README says *tets* where it means *tests*. I'll fix it.").With(claudetest.UseTool("Edit", map[string]any{
			"file_path": readme, "old_string": "Run the tets with go test.", "new_string": "Run the tests with `go test ./...`.",
		}))
	case strings.Contains(c.Prompt, "database"):
		return claudetest.UseTool("AskUserQuestion", map[string]any{"questions": []any{map[string]any{
			"question": "Which database should the stock use?", "header": "Database", "multiSelect": false,
			"options": []any{
				map[string]any{"label": "SQLite", "description": "One file, nothing to run"},
				map[string]any{"label": "Postgres", "description": "A server, for many users"},
			},
		}}})
	case strings.Contains(c.Prompt, "tests"):
		return claudetest.Say("I'll run them all.").With(claudetest.UseTool("Bash", map[string]any{"command": "go test ./...", "description": "Run all tests"}))
	case strings.Contains(c.Prompt, "table"):
		return claudetest.Say("The shop sells three things:\n\n| part | in stock | price |\n|---|---:|---:|\n| bolt | 42 | 0.12 |\n| nut | 17 | 0.08 |\n| washer | 230 | 0.02 |\n\nEach has its page in `stock/`.")
	}
	return claudetest.Say("This agent is simulated and knows little. Ask it to *fix the typo*, to *run the tests*, or to *add a database*.")
}

// demoAfter is its answer after a tool.
func demoAfter(result string) claudetest.Reply {
	switch {
	case strings.HasPrefix(result, "ok"):
		return claudetest.Say("All tests pass:\n\n```\n" + strings.TrimSpace(result) + "\n```")
	case strings.Contains(result, "updated"):
		return claudetest.Say("The typo is fixed.")
	case strings.Contains(result, "SQLite") || strings.Contains(result, "Postgres"):
		return claudetest.Say("Good choice. That would be the next step, if this were not a demo.")
	}
	return claudetest.Say("Then I'll leave it as it is.")
}

// demoEdit makes the change that was allowed.
func demoEdit(shop string, input json.RawMessage) (host.ToolOutput, error) {
	var in struct {
		Path string `json:"file_path"`
		Old  string `json:"old_string"`
		New  string `json:"new_string"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return host.ToolOutput{}, err
	}
	root, err := os.OpenRoot(shop)
	if err != nil {
		return host.ToolOutput{}, err
	}
	defer root.Close()
	name, err := filepath.Rel(shop, in.Path)
	if err != nil {
		return host.ToolOutput{}, err
	}
	text, err := root.ReadFile(name)
	if err != nil {
		return host.ToolOutput{}, err
	}
	if err := root.WriteFile(name, []byte(strings.Replace(string(text), in.Old, in.New, 1)), 0o600); err != nil {
		return host.ToolOutput{}, err
	}
	return host.TextOutput("The file " + name + " has been updated."), nil
}
