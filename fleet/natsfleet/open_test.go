package natsfleet_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// pretend is a server of some version, as far as a client sees that connects.
func pretend(t *testing.T, info string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				fmt.Fprintf(c, "INFO %s\r\n", info)
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if lines.Text() == "PING" {
						fmt.Fprint(c, "PONG\r\n")
					}
				}
			}()
		}
	}()
	return "nats://" + l.Addr().String()
}

func TestServerIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		info string
		want string
	}{
		"2.10":     {`{"server_id":"x","version":"2.10.29","max_payload":1048576,"headers":true,"jetstream":true}`, "too old: it has version 2.10.29, and 2.12.15 is needed"},
		"2.12.0":   {`{"server_id":"x","version":"2.12.0","max_payload":1048576,"headers":true,"jetstream":true}`, "too old: it has version 2.12.0, and 2.12.15 is needed"},
		"2.11":     {`{"server_id":"x","version":"2.11.9","max_payload":1048576,"headers":true,"jetstream":true}`, "too old: it has version 2.11.9"},
		"odd":      {`{"server_id":"x","version":"","max_payload":1048576,"headers":true,"jetstream":true}`, "too old"},
		"messages": {`{"server_id":"x","version":"2.15.2","max_payload":4096,"headers":true,"jetstream":true}`, "max_payload must be at least"},
	} {
		_, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: pretend(t, c.info)})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(c.want, "too old") != errors.Is(err, natsfleet.ErrOldServer) {
			t.Errorf("%s: %v; want %s", name, err, c.want)
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]natsfleet.Options{
		"URL is missing":        {},
		"of 1 to 40 letters":    {URL: "nats://127.0.0.1:1", Name: "a.b"},
		"Name: \"a>":            {URL: "nats://127.0.0.1:1", Name: "a>"},
		"is not 1, 3 or 5":      {URL: "nats://127.0.0.1:1", Replicas: 2},
		"MaxBytes is negative":  {URL: "nats://127.0.0.1:1", MaxBytes: -1},
		"cannot be read":        {URL: "nats://user:hunter2@127.0.0.1:x"},
		"no servers available":  {URL: "nats://user:hunter2@127.0.0.1:1"},
		"claude: natsfleet: co": {URL: "nats://127.0.0.1:1"},
	} {
		s, err := natsfleet.OpenStore(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: %v, %v; want %s", o, s, err, want)
		}
	}
}

// A reconnection to a server that is too old is reported.
func TestServerIsReplaced(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	g := newGate(t, strings.TrimPrefix(c.URL(), "nats://"))
	s := openNamed(t, g.url(), "", beside{})
	old := pretend(t, `{"server_id":"x","version":"2.10.29","max_payload":1048576,"headers":true,"jetstream":true}`)
	swap := func(url string) {
		g.set(func() { g.cut, g.target = true, strings.TrimPrefix(url, "nats://") })
		g.heal()
	}
	now := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Now(ctx)
		return err
	}
	swap(old)
	eventually(t, "nothing says that the server is too old", func() bool { return errors.Is(now(), natsfleet.ErrOldServer) })
	swap(c.URL())
	eventually(t, "a good server does not help", func() bool { return now() == nil })
}

// One who does not get an answer does not wait longer than its context.
func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := natsfleet.OpenStore(ctx, natsfleet.Options{URL: "nats://" + l.Addr().String()}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a silent server: %v", err)
	}
}

func TestCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Configure: func(o *server.Options) { o.Username, o.Password = "fleet", "secret" }})
	_, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), NATS: []nats.Option{nats.UserInfo("fleet", "stale")}})
	if !errors.Is(err, natsfleet.ErrRefused) || strings.Contains(err.Error(), "stale") {
		t.Errorf("another password: %v", err)
	}
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), NATS: []nats.Option{nats.UserInfo("fleet", "secret")}})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// A stream that a fleet cannot use is not touched.
func TestStreamIsRefused(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	openStore(t, c.URL()).Close()
	js := newStranger(t, c.URL()).js
	ours, err := js.Stream(t.Context(), "claude")
	if err != nil {
		t.Fatal(err)
	}
	good := ours.CachedInfo().Config
	for want, change := range map[string]func(*jetstream.StreamConfig){
		"not a stream of a fleet":                   func(c *jetstream.StreamConfig) { c.Metadata = nil },
		"it has version 7, and this program knows":  func(c *jetstream.StreamConfig) { c.Metadata = map[string]string{"claude-fleet-version": "7"} },
		"its setting max_age was changed":           func(c *jetstream.StreamConfig) { c.MaxAge, c.Duplicates = time.Hour, time.Minute },
		"its setting discard was changed":           func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld },
		"setting max_msgs_per_subject":              func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 },
		"its setting allow_direct was changed":      func(c *jetstream.StreamConfig) { c.AllowDirect = false },
		"its setting allow_atomic was changed":      func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false },
		"its setting republish was changed":         func(c *jetstream.StreamConfig) { c.RePublish = nil },
		"its setting subjects was changed":          func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "claude.extra") },
		"its setting allow_rollup_hdrs was changed": func(c *jetstream.StreamConfig) { c.AllowRollup = false },
	} {
		bad := good
		bad.Subjects = append([]string(nil), good.Subjects...)
		change(&bad)
		if _, err := js.UpdateStream(t.Context(), bad); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if _, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL()}); !errors.Is(err, natsfleet.ErrForeignStream) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if _, err := js.UpdateStream(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	openStore(t, c.URL()).Close()
}

// A stream whose settings would lose or change messages is refused, and so is one that
// has the subjects.
func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	js := newStranger(t, c.URL()).js
	for want, change := range map[string]func(*jetstream.StreamConfig){
		"its setting deny_delete was changed":               func(c *jetstream.StreamConfig) { c.DenyDelete = true },
		"its setting deny_purge was changed":                func(c *jetstream.StreamConfig) { c.AllowRollup, c.DenyPurge = false, true },
		"its setting no_ack was changed":                    func(c *jetstream.StreamConfig) { c.NoAck = true },
		"its setting max_msg_size was changed":              func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1 << 10 },
		"its setting subject_delete_marker_ttl was changed": func(c *jetstream.StreamConfig) { c.SubjectDeleteMarkerTTL = time.Minute },
		"its setting subject_transform was changed": func(c *jetstream.StreamConfig) {
			c.SubjectTransform = &jetstream.SubjectTransformConfig{Source: c.Name + ".x.>", Destination: c.Name + ".y.>"}
		},
		"its setting sources was changed": func(c *jetstream.StreamConfig) { c.Sources = []*jetstream.StreamSource{{Name: "elsewhere"}} },
		"another stream has subjects of": func(c *jetstream.StreamConfig) {
			c.Subjects, c.RePublish = []string{c.Name + ".t.>"}, nil
			c.Name = "another"
		},
	} {
		name := "f-" + newID()[:8]
		s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), Name: name})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		made, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		bad := made.CachedInfo().Config
		change(&bad)
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if _, err := js.CreateStream(t.Context(), bad); err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if _, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), Name: name}); !errors.Is(err, natsfleet.ErrForeignStream) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// entries reads a transcript.
func entries(t *testing.T, s store.Transcripts, k store.Key) (all []store.Entry) {
	t.Helper()
	for e, err := range store.Entries(t.Context(), s, k) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// A full stream refuses new messages, and keeps the old ones.
func TestStreamIsFull(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: c.URL(), MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	k := store.Key{Project: "p", Session: "00000000-0000-4000-8000-000000000001"}
	entry := store.Entry(`{"pad":"` + strings.Repeat("x", 200<<10) + `"}`)
	stored := 0
	begin := time.Now()
	for range 10 {
		if err = s.Append(t.Context(), k, store.Batch{Entries: []store.Entry{entry}}); err != nil {
			break
		}
		stored++
	}
	if !errors.Is(err, natsfleet.ErrFull) || !strings.Contains(err.Error(), "maximum bytes exceeded") || stored < 3 {
		t.Fatalf("%d entries, then %v", stored, err)
	}
	if waited := time.Since(begin); waited > 10*time.Second {
		t.Errorf("it took %v; a full stream is not worth another attempt", waited)
	}
	if n := len(entries(t, s, k)); n != stored {
		t.Errorf("%d of %d entries are there", n, stored)
	}
}
