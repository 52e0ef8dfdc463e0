// Command natsbench measures a fleet on NATS JetStream: what the replicas add to a
// turn, and what many conversations take while they sleep. The servers are processes
// of their own, so that the memory of this one is that of the workers and clients. The
// CLI is a scripted one in this process. It prints one JSON object;
// internal/test/bench starts it. It is a program of its own because only this module
// links NATS.
//
//	go run ./internal/natsbench -turns 100                # what three replicas add to a turn
//	go run ./internal/natsbench -conversations 10000      # what ten thousand conversations take
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
	"os/signal"
	"runtime/pprof"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/internal/servers"
	"github.com/claude-agent-go/claude/internal/test/fleetload"
)

// project is that of all conversations.
const project = "bench"

// Report holds the measurements.
type Report struct {
	Turns *Turns `json:",omitzero"`
	Many  *Many  `json:",omitzero"`
}

// sizes are how much is measured.
type sizes struct {
	nodes                       int // servers, and replicas
	turnRounds, turns           int
	conversations, rounds, live int
}

func main() {
	if servers.Play() {
		return
	}
	var n sizes
	flag.IntVar(&n.nodes, "nodes", 3, "how many servers there are, and replicas: 1 or 3")
	flag.IntVar(&n.turns, "turns", 0, "how many turns a round has; 0: they are not measured")
	flag.IntVar(&n.turnRounds, "turn-rounds", 11, "how many rounds of turns there are")
	flag.IntVar(&n.conversations, "conversations", 0, "how many conversations there are; 0: they are not measured")
	flag.IntVar(&n.rounds, "rounds", 3, "how many prompts each of them gets")
	flag.IntVar(&n.live, "live", 8, "how many CLIs run at once")
	profile := flag.String("cpuprofile", "", "write a CPU profile of this process to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, n, *profile); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, n sizes, profile string) error {
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	var r Report
	var err error
	if n.turns > 0 {
		if r.Turns, err = measureTurns(ctx, n); err != nil {
			return err
		}
	}
	if n.conversations > 0 {
		if r.Many, err = measureMany(ctx, n); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// cluster is the servers that are measured.
type cluster struct{ *servers.Cluster }

// inScratch calls do with servers and a directory, and removes both.
func inScratch(ctx context.Context, nodes int, do func(c *cluster, dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "natsbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := servers.Start(ctx, dir, nodes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()
	return do(&cluster{c}, dir)
}

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// options are those of a worker or client on the servers.
func (c *cluster) options() natsfleet.Options {
	return natsfleet.Options{URL: c.URL(), Project: project, Replicas: c.Nodes(), Logger: quiet()}
}

// sessions are the options of all conversations.
func sessions(dir string) func(context.Context, string) (*claude.Options, error) {
	return func(context.Context, string) (*claude.Options, error) {
		return &claude.Options{Transport: fleetload.CLI{}, Cwd: dir, Env: []string{"HOME=" + dir}, Logger: quiet()}, nil
	}
}

// closing closes a fleet, and adds its error to another.
func closing(f interface{ Close(context.Context) error }, err *error) {
	*err = errors.Join(*err, f.Close(context.Background()))
}
