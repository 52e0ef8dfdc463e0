package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"sync/atomic"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	p := plan{dir: "."}
	flag.StringVar(&p.dir, "C", ".", "the folder of the module")
	flag.IntVar(&p.times, "times", 20, "how often")
	flag.IntVar(&p.loops, "loops", 2, "busy loops beside the tests; none with -procs")
	flag.IntVar(&p.procs, "procs", 0, "GOMAXPROCS of the tests, and how many packages run at once")
	flag.BoolVar(&p.long, "long", false, "the long level")
	flag.Parse()
	if p.procs > 0 {
		p.loops = 0
	}
	p.patterns = flag.Args()
	good, err := p.run(ctx, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "steady:", err)
	}
	if !good {
		os.Exit(1)
	}
}

// plan describes the run.
type plan struct {
	dir      string // of the module
	patterns []string
	times    int
	loops    int
	procs    int
	long     bool
}

// run runs the rounds and reports whether all tests passed in all of them.
func (p *plan) run(ctx context.Context, w io.Writer) (bool, error) {
	scratch, err := os.MkdirTemp("", "steady-")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	begin := time.Now()
	binaries, err := compile(ctx, p.dir, scratch, p.patterns)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "%d test binaries, compiled in %.0f s\n", len(binaries), time.Since(begin).Seconds())
	defer busy(p.loops)()
	var failures table
	rounds := 0
	for round := 1; round <= p.times && ctx.Err() == nil; round++ {
		begin := time.Now()
		outcomes := p.round(ctx, binaries)
		failed := failures.add(outcomes)
		if ctx.Err() == nil || failed > 0 {
			rounds = round
		}
		fmt.Fprintf(w, "round %d of %d: %.0f s, %.0f s of CPU, %d failed\n",
			round, p.times, time.Since(begin).Seconds(), cpu(outcomes).Seconds(), failed)
		if round == 1 {
			dearest(w, outcomes)
		}
	}
	failures.print(w, rounds)
	return len(failures) == 0 && ctx.Err() == nil, ctx.Err()
}

// busy starts loops that use as much of the processors as they get, until stop is called.
func busy(loops int) (stop func()) {
	before := runtime.GOMAXPROCS(max(runtime.NumCPU(), loops+1)) // one for the rounds
	var end atomic.Bool
	for range loops {
		go func() {
			for !end.Load() {
			}
		}()
	}
	return func() {
		end.Store(true)
		runtime.GOMAXPROCS(before)
	}
}
