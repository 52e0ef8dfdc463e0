package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/store/storeimpl"
)

// Metadata of a stream: the version that made it, and where its transcripts are.
const (
	versionKey     = "claude-fleet-version"
	transcriptsKey = "claude-fleet-transcripts"
	areOutside     = "outside" // otherwise they are in the stream
)

// layoutVersion is the version of the stream's layout.
const layoutVersion = "1"

// stream is the JetStream stream of a fleet: it reads and writes messages. Any replica may
// answer a read; each method states what its answer is sure to hold.
type stream struct {
	*connection
	layout  layout
	id      string // of this process
	replies *replies
}

// config is the stream of a fleet.
func (s *stream) config(o *Options) jetstream.StreamConfig {
	c := jetstream.StreamConfig{
		Name: s.layout.name, Description: "conversations of the fleet " + o.Name, Subjects: s.layout.stored(),
		Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: o.Replicas,
		Discard: jetstream.DiscardNew, MaxBytes: -1, MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1,
		AllowRollup: true, AllowDirect: true, AllowMsgTTL: true, AllowAtomicPublish: true,
		RePublish: &jetstream.RePublish{Source: s.layout.name + ".>", Destination: s.layout.name + ".stored.>", HeadersOnly: true},
		Metadata:  map[string]string{versionKey: layoutVersion},
	}
	if o.Transcripts != nil {
		c.Metadata[transcriptsKey] = areOutside
	}
	if o.MaxBytes > 0 {
		c.MaxBytes = o.MaxBytes
	}
	return c
}

// ensure creates the stream, or checks an existing one.
func (s *stream) ensure(ctx context.Context, o *Options) error {
	js, err := jetstream.New(s.nc)
	if err != nil {
		return fail("stream", err)
	}
	c := s.config(o)
	limit := 2 * patience
	if enabled, _ := s.nc.ConnectedServerJetStream(); !enabled {
		limit = attemptBound // for another server of its cluster
	}
	var lastErr error
	for begin := time.Now(); ; {
		bounded, cancel := context.WithTimeout(ctx, attemptBound)
		lastErr = s.refusals.why(s.ensureOnce(bounded, js, c), begin)
		cancel()
		if lastErr == nil || ctx.Err() != nil || time.Since(begin) > limit || !temporary(lastErr) {
			if errors.Is(lastErr, nats.ErrNoResponders) {
				lastErr = fmt.Errorf("no server with JetStream answers: %w", lastErr)
			}
			return fail("stream "+s.layout.name, lastErr)
		}
		t := time.NewTimer(100 * time.Millisecond)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// temporary reports whether a cluster that is starting may give such an error: it
// has no leader, or does not know all its nodes.
func temporary(err error) bool {
	for _, lasting := range []error{ErrForeignStream, ErrRefused, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		if errors.Is(err, lasting) {
			return false
		}
	}
	if e, ok := errors.AsType[*jetstream.APIError](err); ok {
		return e.Code == 503 || e.ErrorCode == 10005 || e.ErrorCode == jetstream.JSErrCodeStreamNotFound
	}
	return passes(err) || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// ensureOnce tries it once. Several processes may do so at the same time.
func (s *stream) ensureOnce(ctx context.Context, js jetstream.JetStream, c jetstream.StreamConfig) error {
	there, err := js.Stream(ctx, s.layout.name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if c.Replicas == 0 {
			c.Replicas = 1
			if s.nc.ConnectedClusterName() != "" && len(s.nc.DiscoveredServers())+len(s.nc.Servers()) > 1 {
				c.Replicas = 3
			}
		}
		there, err = js.CreateStream(ctx, c)
		switch {
		case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse): // another process was faster, with other limits
			there, err = js.Stream(ctx, s.layout.name)
		case isOverlap(err):
			err = fmt.Errorf("%w: another stream has subjects of %s.>", ErrForeignStream, s.layout.name)
		}
	}
	if err != nil {
		return err
	}
	in := there.CachedInfo()
	if err := foreign(in.Config, c); err != nil {
		return err
	}
	if in.Cluster != nil && in.Cluster.Name != "" && in.Cluster.Leader == "" {
		return errStale // it is being elected
	}
	return nil
}

// isOverlap reports whether a stream cannot be made because another has its subjects.
func isOverlap(err error) bool {
	e, ok := errors.AsType[*jetstream.APIError](err)
	return ok && e.ErrorCode == codeOverlap
}

// foreign returns an error if a stream is not one that a fleet can use.
func foreign(got, want jetstream.StreamConfig) error {
	if v := got.Metadata[versionKey]; v != layoutVersion {
		if v == "" {
			return fmt.Errorf("%w: it is not a stream of a fleet", ErrForeignStream)
		}
		known, _ := strconv.Atoi(layoutVersion)
		if err := storeimpl.CheckLayout(v, known); errors.Is(err, store.ErrNewer) {
			return fmt.Errorf("%w: %w", ErrForeignStream, err)
		}
		return fmt.Errorf("%w: it has version %s, and this is version %s", ErrForeignStream, v, layoutVersion)
	}
	switch got, want := got.Metadata[transcriptsKey], want.Metadata[transcriptsKey]; {
	case got != want && got == areOutside:
		return fmt.Errorf("%w: this fleet keeps them in a store of their own, which Options.Transcripts must name", ErrOtherTranscripts)
	case got != want:
		return fmt.Errorf("%w: this fleet keeps them in the stream, so Options.Transcripts must be nil", ErrOtherTranscripts)
	}
	slices.Sort(got.Subjects)
	slices.Sort(want.Subjects)
	for _, c := range []struct {
		setting string
		ok      bool
	}{
		{"subjects", slices.Equal(got.Subjects, want.Subjects)},
		{"retention", got.Retention == want.Retention},
		{"discard", got.Discard == want.Discard},
		{"max_age", got.MaxAge == 0},
		{"max_msgs", got.MaxMsgs <= 0},
		{"max_msgs_per_subject", got.MaxMsgsPerSubject <= 0},
		{"storage", got.Storage == want.Storage},
		{"deny_delete", !got.DenyDelete},
		{"deny_purge", !got.DenyPurge},
		{"allow_rollup_hdrs", got.AllowRollup},
		{"allow_direct", got.AllowDirect},
		{"allow_msg_ttl", got.AllowMsgTTL},
		{"allow_atomic", got.AllowAtomicPublish},
		{"sealed", !got.Sealed},
		{"no_ack", !got.NoAck},
		{"max_msg_size", got.MaxMsgSize <= 0},
		{"subject_delete_marker_ttl", got.SubjectDeleteMarkerTTL == 0},
		{"subject_transform", got.SubjectTransform == nil},
		{"sources", len(got.Sources) == 0},
		{"allow_msg_counter", !got.AllowMsgCounter},
		{"persist_mode", got.PersistMode == want.PersistMode},
		{"republish", got.RePublish != nil && *got.RePublish == *want.RePublish},
	} {
		if !c.ok {
			return fmt.Errorf("%w: its setting %s was changed", ErrForeignStream, c.setting)
		}
	}
	return nil
}
