package natsfleet_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// stranger is a client with the rights of a fleet that is not part of it.
type stranger struct {
	t  *testing.T
	nc *nats.Conn
	js jetstream.JetStream
}

func newStranger(t *testing.T, url string) *stranger {
	t.Helper()
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(bound))
	if err != nil {
		t.Fatal(err)
	}
	return &stranger{t, nc, js}
}

// subjects are those that the stream has messages on.
func (s *stranger) subjects() (all []string) {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), "claude")
	if err != nil {
		s.t.Fatal(err)
	}
	in, err := stream.Info(s.t.Context(), jetstream.WithSubjectFilter(">"))
	if err != nil {
		s.t.Fatal(err)
	}
	for subject := range in.State.Subjects {
		all = append(all, subject)
	}
	return all
}

// store puts a message in the stream.
func (s *stranger) store(subject string, header nats.Header, data []byte) {
	s.t.Helper()
	if _, err := s.js.PublishMsg(s.t.Context(), &nats.Msg{Subject: subject, Header: header, Data: data}); err != nil {
		s.t.Fatalf("%s: %v", subject, err)
	}
}

// say sends a message that is not stored.
func (s *stranger) say(subject string, data []byte) {
	s.t.Helper()
	if err := s.nc.PublishMsg(&nats.Msg{Subject: subject, Reply: "nobody", Header: nats.Header{"Piece": {"x 2/1"}}, Data: data}); err != nil {
		s.t.Fatal(err)
	}
	if err := s.nc.Publish(subject, data); err != nil {
		s.t.Fatal(err)
	}
}

// nonsense holds the messages that a stranger publishes: texts, JSON of another
// shape, headers that mean something to a fleet, and a large one.
func nonsense() map[string]*nats.Msg {
	return map[string]*nats.Msg{
		"nothing":    {},
		"text":       {Data: []byte("nonsense")},
		"JSON":       {Data: []byte(`{"key":7,"nonce":[],"ttl":"long","free":"yes"}`)},
		"a lease":    {Data: []byte(`{"nonce":"x","owner":"me","ttl":9000000000000000000}`)},
		"gone":       {Header: nats.Header{"Gone": {"1"}}},
		"batch":      {Header: nats.Header{"Id": {"x"}, "Part": {"1/2"}}, Data: []byte("{")},
		"rewritten":  {Header: nats.Header{"Rewritten": {"1/2"}, "Archived": {"-7"}, "Modified": {"never"}}},
		"record":     {Header: nats.Header{"More": {"many"}}, Data: []byte("{}")},
		"end":        {Header: nats.Header{"Status": {"204"}, "Nats-Num-Pending": {"7"}}},
		"not found":  {Header: nats.Header{"Status": {"404"}}},
		"elsewhere":  {Header: nats.Header{"Nats-Sequence": {"1"}, "Nats-Time-Stamp": {"never"}, "Nats-Subject": {"claude.x"}}},
		"very large": {Data: bytes.Repeat([]byte("x"), 300<<10)},
	}
}

// Foreign messages on the subjects of a fleet change nothing: all the stream's
// content stays as it was, and can still be changed.
func TestForeignMessagesInAStore(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var logged bytes.Buffer
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	stranger := newStranger(t, c.URL())
	k, r := store.Key{Project: "p", Session: newID()}, store.RecordKey{Project: "p", Kind: "k", Name: "a/b"}
	l, err := s.Acquire(t.Context(), "p", "n", "me", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	revision, said := int64(0), 0
	for name, m := range nonsense() {
		line := fmt.Appendf(nil, `{"uuid":%q}`, newID())
		if err := s.Append(t.Context(), k, store.Batch{ID: newID(), Fence: l.Fence, Entries: []store.Entry{line}}); err != nil {
			t.Fatalf("after %s: an entry: %v", name, err)
		}
		said++
		if revision, err = store.Put(t.Context(), s, r, []byte(name), revision, l.Fence); err != nil {
			t.Fatalf("after %s: a record: %v", name, err)
		}
		for _, subject := range append(stranger.subjects(), "claude.d.p."+k.Session, "claude.r.p.k.x", "claude.t.p.x.-.e", "claude.v.p.k.a.b.v", "claude.x", "claude.r.p") {
			if strings.Count(subject, ".") > 2 && !strings.HasSuffix(subject, ".e") || strings.HasPrefix(subject, "claude.t.") {
				stranger.store(subject, m.Header, m.Data)
			}
		}
		if got := entries(t, s, k); len(got) != said {
			t.Errorf("%s: the transcript has %d entries; want %d", name, len(got), said)
		}
		if got, err := store.Get(t.Context(), s, r); err != nil || string(got.Value) != name || got.Revision != revision {
			t.Errorf("%s: the record is %q of revision %d, %v; want revision %d", name, got.Value, got.Revision, err, revision)
		}
		if err := s.Renew(t.Context(), l); err != nil {
			t.Errorf("%s: Renew: %v", name, err)
		}
		for got, err := range s.List(t.Context(), "p") {
			if err != nil || got.Session != k.Session {
				t.Errorf("%s: the list has %v, %v", name, got, err)
			}
		}
		for got, err := range s.Scan(t.Context(), store.Folder{Project: "p", Kind: "k"}, "") {
			if err != nil || got.Key != r {
				t.Errorf("%s: the scan has %v, %v", name, got.Key, err)
			}
		}
	}
	if err := s.Release(t.Context(), l); err != nil {
		t.Error(err)
	}
	if !strings.Contains(logged.String(), `removed a message that does not belong to this fleet" stream=claude subject=claude.r.p.k.a.b sequence=`) {
		t.Errorf("the log does not name them: %.1000s", logged.String())
	}
}

// A foreign message on the subject of a record does not hide the record from the
// scan that meets it first, nor from those that remember where the folder begins.
func TestForeignMessageOnARecord(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openStore(t, c.URL())
	stranger := newStranger(t, c.URL())
	want := map[string]int64{"a/first": create(t, s, "a/first"), "a/second": create(t, s, "a/second")}
	for i := range 50 { // so many that the folder's beginning is remembered
		name := fmt.Sprintf("a/%d", i)
		drop(t, s, name, create(t, s, name))
	}
	for name, m := range nonsense() {
		for _, subject := range []string{"claude.r.p.k.a.first", "claude.r.p.k.a.$"} {
			stranger.store(subject, m.Header, m.Data)
		}
		for range 2 {
			if got := below(t, s, "a"); !maps.Equal(got, want) {
				t.Errorf("after %s: a scan has %v; want %v", name, got, want)
			}
		}
		s.ForgetFloors()
	}
}

// The epoch of a lease is its fencing token. If a foreign client publishes there,
// the owner may lose the lease, and nothing else.
func TestForeignEpoch(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s := openNamed(t, c.URL(), "", beside{})
	stranger := newStranger(t, c.URL())
	for name, m := range nonsense() {
		l, err := s.Acquire(t.Context(), "p", "n", "me", time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		stranger.store("claude.l.p.n.e", m.Header, m.Data)
		r := store.RecordKey{Project: "p", Kind: "k", Name: newID()}
		if _, err := store.Put(t.Context(), s, r, []byte("x"), 0, l.Fence); err != nil && !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Release(t.Context(), l); err != nil {
			t.Errorf("%s: Release: %v", name, err)
		}
	}
}

// A fleet continues, whatever foreign clients publish on its subjects.
func TestForeignMessagesInAFleet(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	startWorker(t, c.URL(), heard, func(o *fleet.Options) {
		o.TTL, o.Attempts, o.IdleAfter, o.Poll = 2*time.Second, 1000, 50*time.Millisecond, 200*time.Millisecond
	})
	client := connect(t, c.URL())
	stranger := newStranger(t, c.URL())
	text := "heard "
	for name, m := range nonsense() {
		text += name
		if got, err := answer(t.Context(), client, "ada", name); err != nil || got != text {
			t.Fatalf("%s: %q, %v; want %q", name, got, err, text)
		}
		text += ", "
		for _, subject := range append(stranger.subjects(), "claude.r.p.prompt.x", "claude.r.p.conversation.c.bob", "claude.r.p.question.x", "claude.r.p.nobody.knows") {
			stranger.store(subject, m.Header, m.Data)
			stranger.say(strings.Replace(subject, "claude.", "claude.stored.", 1), m.Data)
		}
		for _, subject := range []string{"claude.stored.r.p", "claude.stored.x.p.y.z", "claude.bus.live|p|ada", "claude.bus.requests|p", "claude.bus.replies|p|x"} {
			stranger.say(subject, m.Data)
		}
		for info, err := range client.List(t.Context()) {
			if err != nil || info.Key != "ada" {
				t.Errorf("after %s: the list has %q, %v", name, info.Key, err)
			}
		}
		for q, err := range client.Approvals().List(t.Context(), approval.Filter{}) {
			t.Errorf("after %s: the inbox has %v, %v", name, q, err)
		}
	}
}

// A foreign message in a queue, under a name that no prompt has, does not delay the
// prompts in it.
func TestForeignMessageInAQueue(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	startWorker(t, c.URL(), heard, func(o *fleet.Options) { o.Poll = time.Hour })
	client := connect(t, c.URL())
	stranger := newStranger(t, c.URL())
	text := "heard "
	for _, name := range []string{"x", "x-y", "-", "x.y"} {
		stranger.store("claude.r.p.prompt.c.ada."+name, nil, []byte("nonsense"))
		text += name
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		if got, err := answer(ctx, client, "ada", name); err != nil || got != text {
			t.Fatalf("%s: %q, %v; want %q", name, got, err, text)
		}
		cancel()
		text += ", "
	}
}

// Nonsense in place of a worker's reply is left out: the one that has the lease of the
// conversation does not reply.
func TestForeignReplies(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	client := connect(t, c.URL())
	stranger := newStranger(t, c.URL())
	if _, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "one"}); err != nil {
		t.Fatal(err)
	}
	if _, err := openStore(t, c.URL()).Acquire(t.Context(), "p", "fleet/c/ada", "a worker", time.Hour); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	sub, err := stranger.nc.Subscribe("claude.bus.requests|p", func(m *nats.Msg) {
		var q struct{ ID, From string }
		if err := json.Unmarshal(m.Data, &q); err != nil || q.ID == "" || q.From == "" {
			t.Errorf("the request %s: %v", m.Data, err)
		}
		asked.Add(1)
		for _, reply := range []string{"", "nonsense", "[]", `{"error":7}`, `{"id":"x","error":"of another request"}`, fmt.Sprintf(`{"id":%q,"error":7}`, q.ID)} {
			_ = stranger.nc.Publish("claude.bus.replies|p|"+q.From, []byte(reply))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := stranger.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := client.SetModel(t.Context(), "ada", "opus"); err != nil || asked.Load() != 1 {
		t.Errorf("SetModel: %v, asked %d times", err, asked.Load())
	}
	if info, err := client.Get(t.Context(), "ada"); err != nil || info.Model != "opus" {
		t.Errorf("chosen is %q, %v", info.Model, err)
	}
}
