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

// silent has no opinion about an event of any kind.
func silent(context.Context, json.RawMessage, string) (json.RawMessage, error) { return nil, nil }

// every returns a hook for each event. The empty matcher matches everything.
func every() (hooks []hook.Hook) {
	for _, info := range hook.Events() {
		switch info.Event {
		case hook.EventWorktreeCreate, hook.EventWorktreeRemove:
			// The CLI leaves the work to these two: add them only if you do it.
		default:
			hooks = append(hooks, hook.Raw(info.Event, "", silent))
		}
	}
	return hooks
}

// traced wraps a hook, whatever its event, as a middleware wraps a handler.
// Hooks run concurrently; a logger may be used concurrently.
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
