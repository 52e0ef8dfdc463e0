package serve

import (
	"errors"
	"strings"
	"testing"

	"github.com/claude-agent-go/claude/store"

	"github.com/claude-agent-go/claude/serve/internal/recordio"

	"github.com/claude-agent-go/claude/serve/internal/eventlog"
	"github.com/claude-agent-go/claude/serve/internal/login"
)

// Every record that the server changes keeps the members that a newer program has added,
// and one of a newer version is not read.
func TestNewerRecords(t *testing.T) {
	t.Parallel()
	db := store.Memory()
	k := store.RecordKey{Project: "p", Kind: "k", Name: "n"}
	for _, v := range []any{&note{}, &forking{}, &idempotencyRecord{}, &login.Credential{}, &eventlog.Head{}} {
		if err := recordio.Decode(store.Record{Key: k, Value: []byte(`{"future":{"a":1}}`)}, v); err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		revision, err := recordio.Put(t.Context(), db, k, v, 0)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		r, err := store.Get(t.Context(), db, k)
		if err != nil || !strings.HasPrefix(string(r.Value), `{"v":1,`) || !strings.Contains(string(r.Value), `"future":{"a":1}`) {
			t.Errorf("%T: %s, %v", v, r.Value, err)
		}
		if err := recordio.Decode(store.Record{Key: k, Value: []byte(`{"v":2}`)}, v); !errors.Is(err, store.ErrNewer) {
			t.Errorf("%T: %v", v, err)
		}
		if err := store.Drop(t.Context(), db, k, revision, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
}
