// Command hooks registers a hook for every event and prints what it sees.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/hook"
)

func main() {
	if err := run(context.Background(), os.Stdout, nil); err != nil {
		log.Fatal(err)
	}
}

// silent has no opinion about an event of any kind, informed is for those that
// nobody can have an opinion about.
func silent[In, Out any](context.Context, *In) (*Out, error) { return nil, nil }
func informed[In any](context.Context, *In) error            { return nil }

// every has a hook for each of the 33 events. The empty matcher fits all.
func every() []hook.Hook {
	return []hook.Hook{
		// Tools.
		hook.PreToolUse("", silent), hook.PostToolUse("", silent), hook.PostToolUseFailure("", silent), hook.PostToolBatch(silent),
		hook.PermissionRequest("", silent), hook.PermissionDenied("", silent),
		hook.Elicitation("", silent), hook.ElicitationResult("", silent),
		// Turns.
		hook.UserPromptSubmit(silent), hook.UserPromptExpansion("", silent), hook.MessageDisplay(silent), hook.Notification("", silent),
		hook.Stop(silent), hook.StopFailure("", informed), hook.SubagentStart("", silent), hook.SubagentStop("", silent),
		hook.TeammateIdle(silent), hook.TaskCreated(silent), hook.TaskCompleted(silent),
		// The session.
		hook.Setup("", silent), hook.SessionStart("", silent), hook.SessionEnd("", informed),
		hook.PreCompact("", silent), hook.PostCompact("", informed), hook.PreModelSwitch("", silent), hook.PostModelSwitch("", silent),
		hook.ConfigChange("", silent), hook.InstructionsLoaded("", informed), hook.CwdChanged(silent), hook.FileChanged("", silent),
		hook.DirectoryAdded("", informed),
		// These two do the work of the CLI in its place: leave them out unless you do it.
		hook.WorktreeCreate(silent), hook.WorktreeRemove(informed),
	}
}

// traced wraps a hook, whatever its event, as a middleware wraps a handler.
// Hooks run at the same time, and a logger may be used so.
func traced(out *log.Logger, h hook.Hook) hook.Hook {
	next := h.Func
	h.Func = func(ctx context.Context, raw json.RawMessage, toolUseID string) (hook.Output, error) {
		out.Println(h.Event)
		return next(ctx, raw, toolUseID)
	}
	return h
}

func run(ctx context.Context, w io.Writer, cli claude.Transport) error {
	hooks := every()
	for i, h := range hooks {
		hooks[i] = traced(log.New(w, "", 0), h)
	}
	_, err := claude.Ask(ctx, "List the files", &claude.Options{Hooks: hooks, Transport: cli})
	return err
}
