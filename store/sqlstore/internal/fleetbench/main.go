// Command fleetbench measures a fleet whose conversations are in SQLite: how many
// it answers with a few CLIs, what a conversation takes while it sleeps, and what
// waking costs. The CLI is a scripted one in this process, so that almost
// everything that is measured belongs to the SDK. It prints one JSON object;
// internal/test/bench starts it. It is a program of its own because only this
// module links the driver.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/fleetload"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// Report holds the measurements.
type Report struct {
	fleetload.Report
	MaxLive int
	// WakeNS are the times from a prompt to the answer of conversations that
	// sleep, with nothing else to do; AwakeNS of ones that are awake.
	WakeNS, AwakeNS []float64
}

func main() {
	conversations := flag.Int("conversations", 10_000, "how many there are")
	rounds := flag.Int("rounds", 3, "how many prompts each of them gets")
	live := flag.Int("live", 8, "how many CLIs run at once")
	wakes := flag.Int("wakes", 101, "how often waking is measured")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	r := &Report{MaxLive: *live}
	if err := run(context.Background(), r, *conversations, *rounds, *wakes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, r *Report, conversations, rounds, wakes int) (err error) {
	dir, err := os.MkdirTemp("", "fleetbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "fleet.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	slots, quiet := new(fleetload.Slots), slog.New(slog.NewTextHandler(io.Discard, nil))
	f, err := fleet.Open(ctx, fleet.Options{
		Store: db, Project: "bench", MaxLive: r.MaxLive, IdleAfter: 100 * time.Millisecond, QueueAll: max(conversations, fleetload.WarmUp), Journal: filepath.Join(dir, "journal"), Logger: quiet, Trace: slots.Trace(),
		Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: fleetload.CLI{}, Cwd: dir, Env: []string{"HOME=" + dir}, Logger: quiet}, nil
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(ctx)) }()
	load := &fleetload.Load{Fleet: f, Slots: slots, Conversations: conversations, Rounds: rounds, Progress: os.Stderr}
	many, err := load.Run(ctx)
	if err != nil {
		return err
	}
	r.Report = *many
	return r.wake(ctx, f, slots, wakes)
}

// wake measures single prompts: to a conversation that sleeps, and then to the
// same one, which is awake.
func (r *Report) wake(ctx context.Context, f *fleet.Fleet, slots *fleetload.Slots, wakes int) error {
	for i := range wakes {
		if err := slots.AllAsleep(ctx); err != nil {
			return err
		}
		for _, times := range []*[]float64{&r.WakeNS, &r.AwakeNS} {
			begin := time.Now()
			if err := ask(ctx, f, fleetload.Key(i%r.Conversations)); err != nil {
				return err
			}
			*times = append(*times, float64(time.Since(begin).Nanoseconds()))
		}
	}
	return nil
}

// ask runs a prompt up to its result.
func ask(ctx context.Context, f *fleet.Fleet, key string) error {
	for m, err := range f.Run(ctx, key, "again") {
		if err != nil {
			return err
		}
		if _, ok := m.(*message.Result); ok {
			return nil // what is written down after it is not waited for
		}
	}
	return errors.New("there was no result")
}
