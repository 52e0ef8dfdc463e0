package serve_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// A gate can find out the preset of the conversation whose call it is asked about.
func TestPresetOfACall(t *testing.T) {
	t.Parallel()
	db, got := store.Memory(), make(chan string, 1)
	r := newRigGated(t, db, t.TempDir(), &approval.Options{Patience: time.Hour, Needs: func(ctx context.Context, _ *hook.PreToolUseInput) (string, bool) {
		name, err := serve.PresetOf(ctx, db, "p", approval.ConversationOf(ctx))
		got <- fmt.Sprint(name, ", ", err)
		return "", true
	}}, nil)
	r.as("ada", api.RoleOperator).begin("tool 1")
	if preset := <-got; preset != "shop, <nil>" {
		t.Errorf("the preset is %s", preset)
	}
	if key := approval.ConversationOf(t.Context()); key != "" {
		t.Errorf("elsewhere the conversation is %q", key)
	}
	if _, err := serve.PresetOf(t.Context(), db, "p", "nobody/0"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown conversation: %v", err)
	}
}
