//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
)

// roleVariable names the role of a process of this program.
const roleVariable = "CHAOS_ROLE"

func main() {
	switch os.Getenv(roleVariable) {
	case "cli":
		playCLI()
		return
	case "host":
		playHost()
		return
	}
	if err := run(); err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("ok")
}

func run() error {
	sessions := flag.Int("sessions", 200, "how many sessions are closed, cancelled, killed or suspended")
	soak := flag.Bool("soak", false, "run long and many sessions instead, without accidents")
	scale := flag.Float64("scale", 1, "how much of the soak to run")
	real := flag.Int("real", 8, "how many of the sessions use the real CLI, if it is installed")
	seed := flag.Uint64("seed", 0, "repeat the choices of a run")
	limit := flag.Duration("limit", 6*time.Minute, "give up after this time")
	flag.Parse()
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		return errors.New("chaos needs /proc to count what is left")
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), *limit, fmt.Errorf("not done after %v", *limit))
	defer cancel()
	defer time.AfterFunc(*limit+time.Minute, func() { panic("chaos hangs: here is where") }).Stop()
	fmt.Println("seed", *seed)

	// Everything temporary goes to a folder of this run, where it is counted.
	tmp, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Setenv("TMPDIR", tmp); err != nil {
		return err
	}
	if *soak {
		return runSoak(ctx, *scale)
	}
	return runStorm(ctx, &stormRun{seed: *seed, mark: fmt.Sprintf("%d-%x", os.Getpid(), *seed), tmp: tmp, sessions: *sessions, real: *real})
}
