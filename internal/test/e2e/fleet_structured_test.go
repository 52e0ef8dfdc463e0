package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/realcli"
	"github.com/claude-agent-go/claude/store"
)

// forgetful is a store that takes everything but outcomes.
type forgetful struct{ *store.FileStore }

func (f forgetful) Change(ctx context.Context, fence store.Fence, c ...store.RecordChange) ([]int64, error) {
	if slices.ContainsFunc(c, func(c store.RecordChange) bool { return c.Key.Kind == "outcome" && !c.Drop }) {
		return nil, errors.New("no outcome today")
	}
	return f.FileStore.Change(ctx, fence, c...)
}

// A turn that ended with a structured answer and no text is over, although its program
// ended before it could write the outcome down: the next one finds the answer, and the
// model is not asked again.
func TestRealFleetFindsStructuredAnswer(t *testing.T) {
	t.Parallel()
	realcli.Needs(t, "2.1.325", "sessions in a store")
	machine := func() *real {
		r := startReal(t, claudetest.NewModelFunc(func(*claudetest.ModelCall) claudetest.Reply {
			return claudetest.UseTool(structured, map[string]any{"name": "Oslo"})
		}))
		r.opts.OutputSchema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
		return r
	}
	db := store.Files(t.TempDir())
	f := machine().fleet(t, forgetful{db}, fleet.Options{})
	id, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "Where?"})
	if err != nil {
		t.Fatal(err)
	}
	stored(t, db, "p", `"toolEndsTurn":true`)
	now, cancel := context.WithCancel(t.Context())
	cancel()
	_ = f.Close(now) // which cannot store the outcome either
	second := machine()
	f = second.fleet(t, db, fleet.Options{})
	defer closeFleet(t, f)
	ticket, err := f.Wait(t.Context(), "ada", id)
	if err != nil || string(ticket.Output) != `{"name":"Oslo"}` || len(second.calls()) != 0 {
		t.Errorf("%+v, output %s, %v; the model was asked %d times more", ticket, ticket.Output, err, len(second.calls()))
	}
}
