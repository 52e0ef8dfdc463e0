package serve_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/claude-agent-go/claude/serve"
	"github.com/claude-agent-go/claude/serve/api"
	"github.com/claude-agent-go/claude/store"
)

// tokensDown is a store that cannot read tokens for a while.
type tokensDown struct {
	store.Records
	down atomic.Bool
}

func (d *tokensDown) View(ctx context.Context, v store.View) ([]store.Record, error) {
	k := v.Keys[0]
	if d.down.Load() && k.Kind == "serve-token" {
		return nil, errors.New("the store is down")
	}
	return d.Records.View(ctx, v)
}

// A login that was made with a token ends with the token. While the store cannot tell
// whether the token was revoked, the login fails closed.
func TestLoginWhoseTokenCannotBeRead(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	records := &tokensDown{Records: db}
	r := newRig(t, db, func(o *serve.Options) { o.Records = records })
	nobody := &client{rig: r}
	login := nobody.do("POST", "/v1/login", api.LoginRequest{Token: r.token("ada", api.RoleViewer)})
	cookie, _, ok := strings.Cut(login.header.Get("Set-Cookie"), ";")
	if !ok {
		t.Fatalf("status %d: %s", login.status, login.body)
	}
	for _, down := range []bool{false, true} {
		records.down.Store(down)
		got := nobody.do("GET", "/v1/conversations", nil, "Cookie", cookie)
		if in := got.status == http.StatusOK; in == down {
			t.Errorf("store down: %v, status %d", down, got.status)
		}
	}
}
