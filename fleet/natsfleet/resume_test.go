package natsfleet_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	onDisk "github.com/claude-agent-go/claude/history"
)

// sessionOnDisk puts a session on a disk, in which "one" was said.
func sessionOnDisk(t *testing.T) (disk, id string) {
	t.Helper()
	const first, second = "00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"
	disk, id = t.TempDir(), "00000000-0000-4000-8000-000000000001"
	file := filepath.Join(disk, "projects", "-work", id+".jsonl")
	text := fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":null,"sessionId":%[3]q,"cwd":"/work","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"one"}}
{"type":"assistant","uuid":%[2]q,"parentUuid":%[1]q,"sessionId":%[3]q,"cwd":"/work","timestamp":"2026-01-01T00:00:01Z","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"heard one"}]}}
`, first, second, id)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return disk, id
}

// A client makes a conversation of a session on its own disk, and a worker, which
// has another one, continues it.
func TestResume(t *testing.T) {
	t.Parallel()
	disk, id := sessionOnDisk(t)
	c := natstest.Start(t, natstest.Options{})
	startWorker(t, c.URL(), heard, nil)
	client := connect(t, c.URL())
	from := fleet.ResumeFrom{Disk: onDisk.Disk(disk), Session: id}
	if err := client.Resume(t.Context(), "ada", from); err != nil {
		t.Fatal(err)
	}
	if err := client.Resume(t.Context(), "copy", fleet.ResumeFrom{Disk: onDisk.Disk(disk), Session: id, Fork: true}); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ada", "copy"} {
		if text, err := answer(t.Context(), client, key, "two"); err != nil || text != "heard one, two" {
			t.Errorf("%s: %q, %v", key, text, err)
		}
	}
	err := connect(t, c.URL()).Resume(t.Context(), "bob", from)
	if held, ok := errors.AsType[*fleet.ResumedError](err); !ok || held.Key != "ada" {
		t.Errorf("on another machine: %v", err)
	}
}

// A session that was copied from a disk is archived under the lease of its conversation:
// not while a worker runs it, even if it has no new messages.
func TestArchiveOfAResumed(t *testing.T) {
	t.Parallel()
	disk, id := sessionOnDisk(t)
	c := natstest.Start(t, natstest.Options{})
	b := beside{Archive: t.TempDir(), Plain: true}
	client, err := natsfleet.Connect(t.Context(), b.options(natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, client)
	if err := client.Resume(t.Context(), "ada", fleet.ResumeFrom{Disk: onDisk.Disk(disk), Session: id}); err != nil {
		t.Fatal(err)
	}
	s := openBeside(t, c.URL(), b)
	l, err := s.Acquire(t.Context(), "p", "fleet/c/ada", "a worker", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	archives := func(when string, want int) {
		if moved, err := s.Archive(t.Context(), "p", time.Now().Add(time.Hour)); err != nil || moved != want {
			t.Errorf("%s, %d sessions were archived, %v; want %d", when, moved, err, want)
		}
	}
	archives("while a worker runs it", 0)
	if err := s.Release(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	archives("while it sleeps", 1)
}
