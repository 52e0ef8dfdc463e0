package serve_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
)

// story makes events: "p1" a prompt, "c1" a call that has ended, "ask r p1" a rewind
// to before p1 that was asked for, and "done r p1" that it is done.
func story(steps ...string) []api.Event {
	var events []api.Event
	for _, step := range steps {
		e := api.Event{Type: api.EventMessage}
		switch words := strings.Fields(step); {
		case len(words) == 3:
			e.Type = api.EventNotice
			e.Notice = &api.Notice{Rewind: &api.RewindNote{ID: words[1], Message: words[2], Done: words[0] == "done"}}
		case step[0] == 'p':
			e.Message = json.RawMessage(`{"type":"user","uuid":"` + step + `","message":{"role":"user","content":"please"}}`)
		default:
			e.Message = json.RawMessage(`{"type":"user","uuid":"of ` + step + `","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + step + `","content":"ok"}]}}`)
		}
		events = append(events, e)
	}
	return events
}

func TestRevertedCalls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		want   string
	}{
		"nothing":                          {[]string{"p1", "c1"}, ""},
		"asked for, and never done":        {[]string{"p1", "c1", "ask r p1"}, ""},
		"all since a prompt":               {[]string{"p1", "c1", "p2", "c2", "c3", "ask r p2", "done r p2"}, "c2 c3"},
		"and from the beginning":           {[]string{"p1", "c1", "p2", "c2", "ask r p2", "done r p2", "ask s p1", "done s p1"}, "c1 c2"},
		"what came after it stands":        {[]string{"p1", "c1", "ask r p1", "done r p1", "p2", "c2"}, "c1"},
		"forward again":                    {[]string{"p1", "c1", "p2", "c2", "ask r p1", "done r p1", "ask s p2", "done s p2"}, "c2"},
		"to a prompt after another rewind": {[]string{"p1", "c1", "ask r p1", "done r p1", "p2", "c2", "ask s p2", "done s p2"}, "c1 c2"},
		"written down late":                {[]string{"p1", "c1", "ask r p1", "p2", "c2", "done r p1"}, "c1"},
		"written down twice":               {[]string{"p1", "c1", "ask r p1", "done r p1", "p2", "c2", "done r p1"}, "c1"},
		"a prompt that is too old":         {[]string{"c1", "p2", "c2", "ask r p1", "done r p1"}, "c1 c2"},
		"asked for too long ago":           {[]string{"c1", "done r p1", "p2", "c2"}, "c1"},
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(serve.RevertedCalls(story(c.events...)))), " "); got != c.want {
			t.Errorf("%s: %q is taken back, want %q", name, got, c.want)
		}
	}
}

// What stood before a prompt stays known, however many calls came before it and whatever
// happens after files were restored.
func TestRevertedCallsKeepsWhatStood(t *testing.T) {
	t.Parallel()
	for n := range 20 {
		var steps []string
		for i := range n {
			steps = append(steps, "c"+strconv.Itoa(i))
		}
		steps = append(steps, "p2", "kept", "p3", "done r p2", "p4", "gone", "done s p3")
		if got := slices.Collect(maps.Keys(serve.RevertedCalls(story(steps...)))); !slices.Equal(got, []string{"gone"}) {
			t.Errorf("after %d calls: %q is taken back", n, got)
		}
	}
}
