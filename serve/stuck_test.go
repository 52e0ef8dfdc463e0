package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A prompt at which its conversation is stuck shows that, with the reason, wherever it
// is shown. Those behind it have the same reason. A retry answers all of them.
func TestStuck(t *testing.T) {
	t.Parallel()
	const reason = "no such repository"
	var looked, mended atomic.Bool
	behind := make(chan struct{}) // closed when a prompt waits behind the first
	r := newRigFleet(t, store.Memory(), t.TempDir(), func(o *fleet.Options) {
		usual := o.Session
		o.Attempts = 1
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if !looked.Swap(true) {
				return usual(ctx, key) // to see which CLI is installed
			}
			<-behind
			if !mended.Load() {
				return nil, errors.New(reason)
			}
			return usual(ctx, key)
		}
	}, nil)
	ada := r.as("ada", api.RoleOperator)
	at := "/v1/conversations/" + ada.begin("first").ID
	want[api.Prompt](ada, ada.do("POST", at+"/prompts", api.NewPrompt{Content: json.RawMessage(`"second"`)}), http.StatusAccepted)
	close(behind)

	reasons := make(map[string]string) // by the text of the prompt
	ada.follow(at+"/events?after=0", func(e sse) bool {
		var event api.Event
		if err := json.Unmarshal([]byte(e.data), &event); err == nil && event.Prompt != nil && event.Prompt.Error != "" {
			reasons[event.Prompt.Text] = string(event.Prompt.State) + ": " + event.Prompt.Error
		}
		return len(reasons) == 2
	})
	if s := reasons["first"]; !strings.HasPrefix(s, "stuck: ") || !strings.Contains(s, reason) {
		t.Errorf("the stream has for the first prompt %q", s)
	}
	if s := reasons["second"]; !strings.HasPrefix(s, "queued: ") || !strings.Contains(s, reason) {
		t.Errorf("the stream has for the second prompt %q", s)
	}
	if c := get[api.Conversation](ada, at); c.State != api.StateFailed || !strings.Contains(c.Reason, reason) {
		t.Errorf("%+v", c)
	}
	for _, p := range get[api.List[api.Prompt]](ada, at+"/prompts").Items {
		one := get[api.Prompt](ada, at+"/prompts/"+p.ID)
		if got := string(one.State) + ": " + one.Error; got != reasons[p.Text] || one.State != p.State || one.Error != p.Error {
			t.Errorf("prompt %q: %+v, in the list %+v", p.Text, one, p)
		}
	}
	if p := want[api.Problem](ada, ada.do("POST", at+"/interrupt", nil), http.StatusConflict); p.Type != "/problems/idle" {
		t.Errorf("interrupted: %+v", p)
	}

	mended.Store(true)
	if got := ada.do("POST", at+"/retry", nil); got.status != http.StatusAccepted {
		t.Fatalf("retry: %d %s", got.status, got.body)
	}
	answered := 0
	ada.follow(at+"/events?after=0", func(e sse) bool {
		var event api.Event
		if err := json.Unmarshal([]byte(e.data), &event); err == nil && event.Turn != nil {
			if event.Turn.State != "answered" || event.Turn.Error != "" {
				t.Errorf("%+v", event.Turn)
			}
			answered++
		}
		return answered == 2
	})
}
