package fleet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// rewrite changes the only record of a kind, as another program does.
func rewrite(t *testing.T, db store.Records, kind string, change func(string) string) {
	t.Helper()
	r := onlyRecord(t, db, kind)
	if _, err := store.Put(t.Context(), db, r.Key, []byte(change(string(r.Value))), r.Revision, store.Fence{}); err != nil {
		t.Fatal(err)
	}
}

func onlyRecord(t *testing.T, db store.Records, kind string) (only store.Record) {
	t.Helper()
	n := 0
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		only = r
		n++
	}
	if n != 1 {
		t.Fatalf("%d records of kind %s, want 1", n, kind)
	}
	return only
}

// newerBy turns a value into one of a newer version of this module.
func newerBy(value string) string { return strings.Replace(value, `"v":1`, `"v":2`, 1) }

// A fleet does not touch records that a newer one has written.
func TestNewerRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
		defer closeFleet(t, f)
		id := send(t, f, "ada", "one")
		for _, kind := range []string{"conversation", "prompt"} {
			if r := onlyRecord(t, db, kind); !bytes.HasPrefix(r.Value, []byte(`{"v":1,`)) {
				t.Errorf("%s: %s", kind, r.Value)
			}
		}
		rewrite(t, db, "conversation", newerBy)
		before := onlyRecord(t, db, "conversation")
		for name, do := range map[string]func() error{
			"Send":     func() error { _, err := f.Send(t.Context(), "ada", fleet.Prompt{Text: "two"}); return err },
			"SetModel": func() error { return f.SetModel(t.Context(), "ada", "opus") },
			"Delete":   func() error { return f.Delete(t.Context(), "ada") },
			"Get":      func() error { _, err := f.Get(t.Context(), "ada"); return err },
			"Wait":     func() error { _, err := f.Wait(t.Context(), "ada", id); return err },
		} {
			if err := do(); !errors.Is(err, store.ErrNewer) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if after := onlyRecord(t, db, "conversation"); after.Revision != before.Revision {
			t.Errorf("the record was changed: %s", after.Value)
		}
	})
}

// Records of a newer version stop one conversation, and no other: neither a fleet that
// runs, nor one that opens. Their conversation is reported once, and sleeps.
func TestNewerRecordsStopOneConversation(t *testing.T) {
	for _, kind := range []string{"conversation", "prompt", "calls", "question"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db, cli := store.Memory(), newScripted()
				var reports bytes.Buffer
				logged := func(o *fleet.Options) {
					o.Gate = &approval.Options{Patience: time.Second}
					o.Logger = slog.New(slog.NewTextHandler(&reports, nil))
				}
				f := open(t, db, cli, logged)
				text := "hello"
				if kind == "question" {
					text = "tool 1"
				}
				release := sync.OnceFunc(cli.pause())
				send(t, f, "ada", text)
				if kind == "question" {
					release()
					<-time.After(5 * time.Second) // it waits for a person
				}
				closeFleet(t, f)
				if kind == "calls" {
					wasLetGo(t, db, "toolu_x")
				}
				rewrite(t, db, kind, newerBy)
				before := onlyRecord(t, db, kind)
				for range 2 { // one that opens, and one that runs
					f = open(t, db, cli, logged)
					if kind != "question" {
						release()
					}
					if got := ask(t, f, "bob", "hello"); !strings.Contains(got, "hello") {
						t.Errorf("the other conversation: %q", got)
					}
					client := open(t, db, nil, withoutCLIs)
					if _, err := client.Send(t.Context(), "eve", fleet.Prompt{Text: "hi"}); err != nil {
						t.Fatal(err)
					}
					closeFleet(t, client)
					<-time.After(10 * time.Minute)
					var keys []string
					for info, err := range f.List(t.Context()) {
						if err != nil || info.Queued > 0 && info.Key != "ada" {
							t.Errorf("%s: %+v, %v", info.Key, info, err)
						}
						keys = append(keys, info.Key)
					}
					if len(keys) < 2 {
						t.Errorf("the list: %q", keys)
					}
					closeFleet(t, f)
				}
				if after := onlyRecordOf(t, db, kind, "ada"); after.Revision != before.Revision {
					t.Errorf("the record was changed: %s", after.Value)
				}
				if n := strings.Count(reports.String(), "left to a newer version"); kind != "question" && n != 2 {
					t.Errorf("%d reports of two fleets: %s", n, reports.String())
				}
				if n := strings.Count(reports.String(), "\n"); n > 20 {
					t.Errorf("%d lines were logged: %s", n, reports.String())
				}
			})
		})
	}
}

// onlyRecordOf returns the record of a kind whose value or name has a word.
func onlyRecordOf(t *testing.T, db store.Records, kind, word string) (only store.Record) {
	t.Helper()
	for r, err := range db.Scan(t.Context(), store.Folder{Project: "p", Kind: kind}, "") {
		if err != nil {
			t.Fatal(err)
		}
		whole := strings.Contains("/"+r.Key.Name+"/", "/"+word+"/") || strings.Contains(string(r.Value), `"`+word+`"`)
		if whole { // ids may contain the word by chance
			only = r
		}
	}
	return only
}

// Members that a newer program has added to a record, without making it another version,
// are there after a change.
func TestUnknownMembersSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		client := open(t, db, nil, func(o *fleet.Options) { o.Session, o.MaxLive = nil, fleet.NoCLIs })
		send(t, client, "ada", "one")
		closeFleet(t, client)
		const more = `"future":{"a":[1]}`
		for _, kind := range []string{"conversation", "prompt"} {
			// As a program wrote it that knew no versions.
			rewrite(t, db, kind, func(value string) string { return "{" + more + strings.TrimPrefix(value, `{"v":1`) })
		}
		cli := newScripted()
		release := cli.pause()
		f := open(t, db, cli, nil)
		defer closeFleet(t, f)
		defer release()
		synctest.Wait() // the prompt has begun
		for _, kind := range []string{"conversation", "prompt"} {
			value := string(onlyRecord(t, db, kind).Value)
			if !strings.HasPrefix(value, `{"v":1,`) || !strings.Contains(value, more) {
				t.Errorf("%s after a change: %s", kind, value)
			}
		}
	})
}

// Members that a newer program has added to the ledgers of a conversation, to a model in
// them, or to the mark of what was counted are there after a turn is booked.
func TestUnknownMembersOfLedgersSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.Memory()
		f := open(t, db, newScripted(), nil)
		ask(t, f, "ada", "one")
		before, err := f.Get(t.Context(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
		rewrite(t, db, "conversation", func(value string) string {
			for _, add := range []struct{ to, more string }{
				{`"cost":\{`, `"future":{"a":[1]},`}, {`"models":\{"[^"]+":\{`, `"future":7,`}, {`"through":\{`, `"future":"x",`},
			} {
				at := regexp.MustCompile(add.to).FindStringIndex(value)
				if at == nil {
					t.Fatalf("%s lacks %s", value, add.to)
				}
				value = value[:at[1]] + add.more + value[at[1]:]
			}
			return value
		})
		f = open(t, db, newScripted(), nil)
		defer closeFleet(t, f)
		ask(t, f, "ada", "two")
		value := string(onlyRecord(t, db, "conversation").Value)
		var kept struct {
			Cost struct {
				Future json.RawMessage
				Models map[string]struct{ Future int }
			}
			Through struct{ Future string }
		}
		if err := json.Unmarshal([]byte(value), &kept); err != nil {
			t.Fatal(err)
		}
		ofModels := 0
		for _, m := range kept.Cost.Models {
			ofModels += m.Future
		}
		if string(kept.Cost.Future) != `{"a":[1]}` || ofModels != 7 || kept.Through.Future != "x" {
			t.Errorf("after a turn: %s", value)
		}
		if info, err := f.Get(t.Context(), "ada"); err != nil || info.Cost.Turns != 2 || info.Cost.USD <= before.Cost.USD {
			t.Errorf("%+v, %v", info.Cost, err)
		}
	})
}
