package main

import (
	"context"
	"fmt"
	"time"
)

// client is a client of the fake CLI: an SDK, or a limit.
type client interface {
	// round asks for a round and waits for its result.
	round(ctx context.Context, prompt string) (sample, error)
	// start starts another CLI, waits for the first message of a turn, and
	// ends it. The time is that to the message.
	start(ctx context.Context) (time.Duration, error)
	close() error
}

// sample holds the measurements of one round.
type sample struct {
	wall        time.Duration
	messages    int           // beside init and result
	cpu         time.Duration // of the client's process, in user and in system mode; 0: unknown
	allocs      float64       // of the whole round, in this process
	median, p99 time.Duration
}

// read takes the report of a round of round trips.
func (s *sample) read(report string) error {
	if report == "" {
		return nil
	}
	if _, err := fmt.Sscanf(report, "%d %d", &s.median, &s.p99); err != nil {
		return fmt.Errorf("report %q: %w", report, err)
	}
	return nil
}
