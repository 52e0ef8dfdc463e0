package fleet_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/store"
)

// A turn that breaks off again and again behind the line by which a CLI continues it is
// continued nevertheless: a note replaces each such line.
func TestContinuedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, cli := store.Memory(), newScripted()
		release := cli.pause()
		m := start(t, db, cli, nil)
		id := send(t, m.fleet, "ada", "work")
		const cuts = 2
		for range cuts {
			<-time.After(time.Minute) // the lease has ended, and the model is asked
			crash(t, m)
			continued(t, db, m)
			m = start(t, db, cli, nil)
		}
		<-time.After(time.Minute)
		release()
		defer func() { closeFleet(t, m.fleet) }()
		<-time.After(time.Minute)
		if o := outcome(t, m.fleet, "ada", id); o.Status != fleet.PromptAnswered {
			t.Errorf("%+v", o)
		}
		said := transcriptOf(t, db, m)
		if n := strings.Count(said, "The program was restarted while you were at work."); n != cuts {
			t.Errorf("%d notes: %s", n, said)
		}
	})
}

// continued adds the line by which a CLI continues a turn behind the last line of the
// conversation, as if it had been the last that was stored.
func continued(t *testing.T, db *store.MemoryStore, m *machine) {
	t.Helper()
	last, session := "", ""
	for line := range strings.Lines(transcriptOf(t, db, m)) {
		if id := jsonx.Text(jsonx.Member([]byte(line), "uuid")); id != "" {
			last, session = id, jsonx.Text(jsonx.Member([]byte(line), "sessionId"))
		}
	}
	if last == "" {
		t.Fatal("nothing is stored")
	}
	line := fmt.Sprintf(`{"parentUuid":%q,"isSidechain":false,"type":"user","message":{"role":"user","content":"Continue from where you left off."},"isMeta":true,"uuid":%q,"timestamp":%q,"promptSource":"system","sessionId":%q}`,
		last, uuid.New(), time.Now().UTC().Format(time.RFC3339), session)
	if err := db.Append(t.Context(), store.Key{Project: "p", Session: session}, store.Batch{ID: uuid.New(), Entries: []store.Entry{store.Entry(line)}}); err != nil {
		t.Fatal(err)
	}
}
