package natsfleet_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// strandedBy counts how many of eight messages a consumer never gets again after
// one of its ten unacknowledged messages was removed and the next was acknowledged:
// if the removed one was the first, and if it was the ninth. The pinned server
// behaves so on one server and on three replicas. A purge lets it believe that
// everything up to the purged delivery was acknowledged; once the next delivery is,
// all messages before it count as acknowledged too. So a fleet has no such
// consumers, see TestManyWorkers. If this test fails, the server has changed: write
// down here what it does now.
var strandedBy = map[string]struct{ first, ninth int }{
	"delete": {0, 0}, "purge": {0, 8}, "rollup": {0, 8}, "marker": {0, 8}, "keyvalue": {0, 8},
}

// tries is how often a loss may fail to show: on three servers, and on a busy machine, the
// acknowledgement may reach the consumer's server before the purge does, and after
// five seconds everything is delivered again.
const tries = 10

// TestPurgeStrands shows what the server does, not what a fleet does.
func TestPurgeStrands(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			js := newStranger(t, c.URL()).js
			for how, want := range strandedBy {
				for which, want := range map[int]int{0: want.first, 8: want.ninth} {
					name := fmt.Sprintf("%s-%d", how, which+1)
					t.Run(name, func(t *testing.T) {
						t.Parallel()
						got := bells{how, name, which}.stranded(t, js, nodes)
						for i := 1; i < tries && got < want; i++ {
							got = bells{how, fmt.Sprintf("%s-%d", name, i), which}.stranded(t, js, nodes)
						}
						if got != want {
							t.Errorf("server %s: %d of 8 messages are not delivered again; it was %d", server.VERSION, got, want)
						}
					})
				}
			}
		})
	}
}

// bells are ten messages of a stream, one of which is removed in a way.
type bells struct {
	how, name string
	which     int // counted from 0
}

// subject is that of a message.
func (b bells) subject(i int) string {
	if b.how == "keyvalue" {
		return fmt.Sprintf("$KV.%s.%d", b.name, i)
	}
	return fmt.Sprintf("%s.%d", b.name, i)
}

// make makes the stream, and a consumer that has to acknowledge its messages. A marker
// appears in the place of one when it has expired.
func (b bells) make(t *testing.T, js jetstream.JetStream, replicas int) (jetstream.Stream, jetstream.Consumer) {
	t.Helper()
	conf := jetstream.StreamConfig{Name: b.name, Subjects: []string{b.name + ".>"}, AllowRollup: true, Replicas: replicas}
	if b.how == "marker" {
		conf.AllowMsgTTL, conf.SubjectDeleteMarkerTTL = true, 3*time.Second // no message expires before that
	}
	if b.how == "keyvalue" { // the stream of a bucket
		conf.Name, conf.Subjects = "KV_"+b.name, []string{"$KV." + b.name + ".>"}
		conf.AllowDirect, conf.MaxMsgsPerSubject, conf.Discard, conf.DenyDelete = true, 1, jetstream.DiscardNew, true
	}
	s, err := js.CreateStream(t.Context(), conf)
	if err != nil {
		t.Fatal(err)
	}
	cons, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "bells", AckPolicy: jetstream.AckExplicitPolicy, AckWait: 5 * time.Second, MaxAckPending: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		m := &nats.Msg{Subject: b.subject(i), Header: make(nats.Header)}
		if b.how == "marker" && i == b.which {
			m.Header.Set("Nats-TTL", "3s")
		}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return s, cons
}

// remove removes the message.
func (b bells) remove(t *testing.T, js jetstream.JetStream, s jetstream.Stream) {
	t.Helper()
	var err error
	switch b.how {
	case "delete":
		err = s.DeleteMsg(t.Context(), uint64(b.which+1))
	case "purge":
		err = s.Purge(t.Context(), jetstream.WithPurgeSubject(b.subject(b.which)))
	case "rollup":
		_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: b.subject(b.which), Header: nats.Header{"Nats-Rollup": {"sub"}}})
	case "keyvalue":
		var kv jetstream.KeyValue
		if kv, err = js.KeyValue(t.Context(), b.name); err == nil {
			err = kv.Purge(t.Context(), fmt.Sprint(b.which))
		}
	case "marker":
		eventually(t, "the message does not expire", func() bool {
			_, err := s.GetMsg(t.Context(), uint64(b.which+1))
			return errors.Is(err, jetstream.ErrMsgNotFound)
		})
		if in, err := s.Info(t.Context()); err != nil || in.State.LastSeq != 11 {
			t.Fatalf("no marker is in its place: %+v, %v", in.State, err)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stranded counts the messages that are not delivered again once the server reports
// that nothing is left to deliver.
func (b bells) stranded(t *testing.T, js jetstream.JetStream, replicas int) int {
	t.Helper()
	s, cons := b.make(t, js, replicas)
	var first []jetstream.Msg
	for limit := time.Now().Add(bound); len(first) < 10; { // a consumer that was just made may have no leader
		if first = append(first, fetch(t, cons, 10-len(first), time.Second)...); time.Now().After(limit) {
			t.Fatalf("%d messages were delivered", len(first))
		}
	}
	b.remove(t, js, s)
	if err := first[b.which+1].DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := make(map[string]bool)
	gone := []string{b.subject(b.which), b.subject(b.which + 1)} // what took its place, and what was acknowledged
	eventually(t, "the server delivers neither, nor says that nothing is left", func() bool {
		for _, m := range fetch(t, cons, 10, time.Second) {
			if !slices.Contains(gone, m.Subject()) {
				again[m.Subject()] = true
			}
			if err := m.DoubleAck(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		in, err := cons.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(again) == 8 || in.NumAckPending == 0 && in.NumPending == 0
	})
	return 8 - len(again)
}

// fetch returns what a consumer delivers in a while.
func fetch(t *testing.T, cons jetstream.Consumer, n int, wait time.Duration) (all []jetstream.Msg) {
	t.Helper()
	batch, err := cons.Fetch(n, jetstream.FetchMaxWait(wait))
	if err != nil {
		t.Fatal(err)
	}
	for m := range batch.Messages() {
		all = append(all, m)
	}
	return all
}
