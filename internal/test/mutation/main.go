package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"
)

// target is a package to mutate, with the packages whose tests hold it, its own
// first.
type target struct {
	pkg     string
	tests   []string
	signals bool // it chooses processes to signal
}

func targets() []target {
	return []target{
		{pkg: "internal/ndjson", tests: []string{"internal/ndjson", "internal/peer"}},
		{pkg: "internal/wire", tests: []string{"internal/wire", "internal/peer", "."}},
		{pkg: "internal/inbox", tests: []string{"internal/inbox", ".", "internal/test/faults"}},
		{pkg: "internal/peer", tests: []string{"internal/peer", ".", "host"}},
		{pkg: "internal/proc", tests: []string{"internal/proc", "."}, signals: true},
		{pkg: "permission", tests: []string{"permission", "."}},
		{pkg: "hook", tests: []string{"hook", "."}},
		{pkg: "tool", tests: []string{"tool"}},
		{pkg: "host", tests: []string{"host", "claudetest"}},
		{pkg: ".", tests: []string{".", "internal/test/faults"}},
	}
}

func main() {
	o := options{}
	flag.IntVar(&o.sample, "sample", 100, "how many mutants of a package to try, of every function some; 0 for all")
	flag.IntVar(&o.workers, "j", 2, "how many mutants to try at a time")
	flag.BoolVar(&o.write, "write", false, "write "+page)
	flag.BoolVar(&o.own, "own", false, "only the tests of the package itself")
	flag.StringVar(&o.in, "in", "", "only mutants whose function begins so")
	flag.DurationVar(&o.slow, "slow", 8*time.Second, "leave out tests that take longer")
	limit := flag.Duration("limit", 3*time.Hour, "give up after this time")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), o); err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

type options struct {
	sample, workers int
	write, own      bool
	in              string
	slow            time.Duration
}

func run(ctx context.Context, pkgs []string, o options) error {
	known, err := readAccepted()
	if err != nil {
		return err
	}
	var all []*finding
	poor := false
	for _, t := range targets() {
		if len(pkgs) > 0 && !slices.Contains(pkgs, t.pkg) {
			continue
		}
		f, err := try(ctx, t, o, known)
		if err != nil {
			return fmt.Errorf("%s: %w", t.pkg, err)
		}
		fmt.Println(f.summary())
		all = append(all, f)
		poor = poor || f.rate() < wanted
	}
	if o.write {
		old, err := os.ReadFile(page)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := os.WriteFile(page, []byte(render(all, string(old))), 0o666); err != nil {
			return err
		}
	}
	if poor {
		return fmt.Errorf("the tests of a package catch fewer than %.0f %% of its mutants", 100*wanted)
	}
	return nil
}

// try tries the mutants of one package.
func try(ctx context.Context, t target, o options, known accepted) (*finding, error) {
	outer := confinement()
	if t.signals && outer == nil {
		return nil, errUnconfined
	}
	begin := time.Now()
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	src, err := load(ctx, t.pkg)
	if err != nil {
		return nil, err
	}
	mutants := src.mutants()
	overlay, err := src.instrument(dir, mutants)
	if err != nil {
		return nil, err
	}
	f := &finding{target: t, total: len(mutants), tried: chosen(mutants, o, known[t.pkg]), accepted: known[t.pkg], began: begin}
	fmt.Printf("%s: %d mutants, %d of them tried\n", t.pkg, len(mutants), len(f.tried))
	m := loadResults(t.pkg)
	for i, pkg := range t.tests {
		if i > 0 && (o.own || len(f.survivors()) == 0) {
			break
		}
		s, err := build(ctx, pkg, overlay, dir, outer)
		if err != nil {
			return nil, err
		}
		broken, err := s.survey(ctx, dir, o.workers, o.slow)
		if err != nil {
			return nil, err
		}
		f.broken = append(f.broken, broken...)
		fmt.Printf("  %d tests of %s, surveyed after %v\n", len(s.tests), pkg, time.Since(begin).Round(time.Second))
		f.judge(ctx, s, o.workers, m)
	}
	f.took = time.Since(begin)
	m.save(f)
	if ctx.Err() != nil {
		return nil, errors.Join(errors.New("not all mutants were tried"), ctx.Err())
	}
	for _, one := range f.survivors() {
		fmt.Printf("  survived %s:%d %s%s\n", short(one.mutant), one.line, one.key(), unreached(one))
	}
	return f, nil
}

// judge tries the tests of one package on the mutants that are left.
func (f *finding) judge(ctx context.Context, s *suite, workers int, m resultCache) {
	each(workers, f.survivors(), func(one *trial) {
		if one.verdict == nil {
			one.reached = one.reached || s.reaches(one.id)
			one.by = s.catches(ctx, one.id, m[one.key()])
		}
	})
}

// each calls do for all of a list, some at a time.
func each[T any](workers int, list []T, do func(T)) {
	var wait sync.WaitGroup
	next := make(chan T)
	for range workers {
		wait.Go(func() {
			for one := range next {
				do(one)
			}
		})
	}
	for _, one := range list {
		next <- one
	}
	close(next)
	wait.Wait()
}

// chosen is the sample: one mutant of each function, then a second, until there
// are enough. Which they are does not change from run to run, nor when other
// code changes.
func chosen(all []*mutant, o options, known map[string]*verdict) []*trial {
	var out []*trial
	for _, m := range all {
		if strings.HasPrefix(m.fn, o.in) {
			out = append(out, &trial{mutant: m, verdict: known[m.key()]})
		}
	}
	if o.sample == 0 || len(out) <= o.sample {
		return out
	}
	slices.SortStableFunc(out, func(a, b *trial) int { return cmp.Compare(a.rank(), b.rank()) })
	round, seen := make(map[*trial]int), make(map[string]int)
	for _, t := range out {
		round[t] = seen[t.fn]
		seen[t.fn]++
	}
	slices.SortStableFunc(out, func(a, b *trial) int { return round[a] - round[b] })
	out = out[:o.sample]
	slices.SortFunc(out, func(a, b *trial) int { return a.id - b.id })
	return out
}

// trial is one mutant and its outcome.
type trial struct {
	*mutant
	*verdict        // of someone who has looked at it, and then no test is tried
	by       string // the test that caught it
	reached  bool
}
