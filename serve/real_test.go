package serve_test

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/serve"
)

// newRealRig starts a server whose conversations run on the real CLI. The fleet's options
// have the store, the server's the presets.
func newRealRig(t *testing.T, of fleet.Options, o serve.Options) *rig {
	t.Helper()
	r := &rig{t: t, db: of.Store, tokens: make(map[string]string)}
	o.Records, o.Project, o.Logger = of.Store, "p", slog.New(slog.DiscardHandler)
	of.Project, of.Journal, of.Logger, of.Poll = o.Project, t.TempDir(), o.Logger, 50*time.Millisecond
	var err error
	if of.Session, err = serve.Sessions(of.Store, o.Project, o.Presets, nil); err != nil {
		t.Fatal(err)
	}
	if r.fleet, err = fleet.Open(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	if r.server, err = serve.New(r.fleet, o); err != nil {
		t.Fatal(err)
	}
	r.http = httptest.NewServer(r.server)
	t.Cleanup(func() {
		_ = r.server.Close()
		r.http.Close()
		if err := r.fleet.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}
