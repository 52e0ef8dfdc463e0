package natsfleet_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// strandedBy says how many of eight messages a consumer never gets again after a
// message that it has not acknowledged was removed, and the next was acknowledged: on
// one server, and on three that replicate. It is what the pinned server does. A purge
// has been seen to strand all eight in another layout, so a fleet has no such consumers,
// see TestManyWorkers. If this test fails, the server has changed: write down here what
// it does now.
var strandedBy = map[string]int{"delete": 0, "purge": 0, "rollup": 0, "marker": 0, "keyvalue": 0}

// TestPurgeStrands shows what the server does, not what a fleet does.
func TestPurgeStrands(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d replicas", nodes), func(t *testing.T) {
			t.Parallel()
			c := natstest.Start(t, natstest.Options{Nodes: nodes})
			js := newStranger(t, c.URL()).js
			for how, want := range strandedBy {
				t.Run(how, func(t *testing.T) {
					t.Parallel()
					if got := stranded(t, js, how, nodes); got != want {
						t.Errorf("server %s: %d of 8 messages are not delivered again after a %s; it was %d", server.VERSION, got, how, want)
					}
				})
			}
		})
	}
}

// bells makes a stream with ten messages, and a consumer that has to acknowledge them.
// A marker appears in the place of the first when it has expired.
func bells(t *testing.T, js jetstream.JetStream, how string, replicas int) (jetstream.Stream, jetstream.Consumer) {
	t.Helper()
	conf := jetstream.StreamConfig{Name: how, Subjects: []string{how + ".>"}, AllowRollup: true, Replicas: replicas}
	if how == "marker" {
		conf.AllowMsgTTL, conf.SubjectDeleteMarkerTTL = true, 3*time.Second // no message expires before that
	}
	if how == "keyvalue" { // the stream of a bucket
		conf.Name, conf.Subjects = "KV_"+how, []string{"$KV." + how + ".>"}
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
		m := &nats.Msg{Subject: fmt.Sprintf("%s.%d", how, i), Header: make(nats.Header)}
		if how == "keyvalue" {
			m.Subject = "$KV." + m.Subject
		}
		if how == "marker" && i == 0 {
			m.Header.Set("Nats-TTL", "3s")
		}
		if _, err := js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return s, cons
}

// remove removes the first message in a way.
func remove(t *testing.T, js jetstream.JetStream, s jetstream.Stream, how string) {
	t.Helper()
	var err error
	switch how {
	case "delete":
		err = s.DeleteMsg(t.Context(), 1)
	case "purge":
		err = s.Purge(t.Context(), jetstream.WithPurgeSubject(how+".0"))
	case "rollup":
		_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: how + ".0", Header: nats.Header{"Nats-Rollup": {"sub"}}})
	case "keyvalue":
		var kv jetstream.KeyValue
		if kv, err = js.KeyValue(t.Context(), how); err == nil {
			err = kv.Purge(t.Context(), "0")
		}
	case "marker":
		eventually(t, "the message does not expire", func() bool {
			_, err := s.GetMsg(t.Context(), 1)
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

// stranded counts the messages that are not delivered again.
func stranded(t *testing.T, js jetstream.JetStream, how string, replicas int) int {
	t.Helper()
	s, cons := bells(t, js, how, replicas)
	var first []jetstream.Msg
	for limit := time.Now().Add(bound); len(first) < 10; { // a consumer that was just made may have no leader
		if first = append(first, fetch(t, cons, 10-len(first), time.Second)...); time.Now().After(limit) {
			t.Fatalf("%d messages were delivered", len(first))
		}
	}
	remove(t, js, s, how)
	if err := first[1].DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := make(map[string]bool)
	for limit := time.Now().Add(20 * time.Second); len(again) < 8 && time.Now().Before(limit); {
		for _, m := range fetch(t, cons, 10, time.Second) {
			// Not what took its place, nor the one that was acknowledged.
			if !strings.HasSuffix(m.Subject(), ".0") && !strings.HasSuffix(m.Subject(), ".1") {
				again[m.Subject()] = true
			}
			if err := m.Ack(); err != nil {
				t.Fatal(err)
			}
		}
	}
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
