package natsfleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
)

// strandedBy says how many of eight messages a consumer never gets again after a
// message that it has not acknowledged was removed, and the next was acknowledged. It
// is what the pinned server does. A purge has been seen to strand all eight in another
// layout, so a fleet has no such consumers, see TestManyWorkers. If this test fails,
// the server has changed: write down here what it does now.
var strandedBy = map[string]int{"delete": 0, "purge": 0, "rollup": 0}

// TestPurgeStrands shows what the server does, not what a fleet does.
func TestPurgeStrands(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	nc, err := nats.Connect(c.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range strandedBy {
		t.Run(how, func(t *testing.T) {
			if got := stranded(t, js, how); got != want {
				t.Errorf("server %s: %d of 8 messages are not delivered again after a %s; it was %d", server.VERSION, got, how, want)
			}
		})
	}
}

// stranded counts the messages that are not delivered again.
func stranded(t *testing.T, js jetstream.JetStream, how string) int {
	t.Helper()
	s, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: how, Subjects: []string{how + ".>"}, AllowRollup: true})
	if err != nil {
		t.Fatal(err)
	}
	cons, err := s.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "bells", AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second, MaxAckPending: -1})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if _, err := js.Publish(t.Context(), fmt.Sprintf("%s.%d", how, i), nil); err != nil {
			t.Fatal(err)
		}
	}
	first := fetch(t, cons, 10, 5*time.Second)
	if len(first) != 10 {
		t.Fatalf("%d messages were delivered", len(first))
	}
	switch how {
	case "delete":
		err = s.DeleteMsg(t.Context(), 1)
	case "purge":
		err = s.Purge(t.Context(), jetstream.WithPurgeSubject(how+".0"))
	case "rollup":
		_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: how + ".0", Header: nats.Header{"Nats-Rollup": {"sub"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := first[1].DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := make(map[string]bool)
	for limit := time.Now().Add(8 * time.Second); len(again) < 8 && time.Now().Before(limit); {
		for _, m := range fetch(t, cons, 10, time.Second) {
			if m.Subject() != how+".0" { // the rollup itself
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
