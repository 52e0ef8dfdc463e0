package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
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
	pkg   string
	tests []string
}

func targets() []target {
	return []target{
		{"internal/ndjson", []string{"internal/ndjson", "internal/peer"}},
		{"internal/wire", []string{"internal/wire", "internal/peer", "."}},
		{"internal/inbox", []string{"internal/inbox", ".", "internal/test/faults"}},
		{"internal/peer", []string{"internal/peer", ".", "host"}},
		{"internal/proc", []string{"internal/proc", "."}},
		{"permission", []string{"permission", "."}},
		{"hook", []string{"hook", "."}},
		{"tool", []string{"tool"}},
		{"host", []string{"host", "claudetest"}},
		{".", []string{".", "internal/test/faults"}},
	}
}

func main() {
	o := options{}
	flag.IntVar(&o.sample, "sample", 150, "how many mutants of a package to try, 0 for all")
	flag.IntVar(&o.workers, "j", 2, "how many mutants to try at a time")
	flag.BoolVar(&o.write, "write", false, "write "+page)
	flag.StringVar(&o.in, "in", "", "only mutants whose function begins so")
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
	write           bool
	in              string
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
		if err := os.WriteFile(page, []byte(render(all)), 0o666); err != nil {
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
	begin := time.Now()
	lab, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(lab)
	src, err := load(ctx, t.pkg)
	if err != nil {
		return nil, err
	}
	mutants := src.mutants()
	overlay, err := src.weave(lab, mutants)
	if err != nil {
		return nil, err
	}
	f := &finding{target: t, total: len(mutants)}
	var suites []*suite
	for _, pkg := range t.tests {
		s, err := build(ctx, pkg, overlay, lab)
		if err != nil {
			return nil, err
		}
		broken, err := s.survey(ctx, lab)
		if err != nil {
			return nil, err
		}
		f.broken = append(f.broken, broken...)
		suites = append(suites, s)
	}
	fmt.Printf("%s: %d mutants woven, tests surveyed in %v\n", t.pkg, len(mutants), time.Since(begin).Round(time.Second))
	f.tried = chosen(mutants, o, known[t.pkg])
	f.accepted = known[t.pkg]
	var wait sync.WaitGroup
	next := make(chan *trial)
	for range o.workers {
		wait.Go(func() {
			for one := range next {
				one.judge(ctx, suites)
				if one.by == "" {
					fmt.Printf("  survived %s:%d %s%s\n", short(one.mutant), one.line, one.key(), unreached(one))
				}
			}
		})
	}
	for _, one := range f.tried {
		next <- one
	}
	close(next)
	wait.Wait()
	f.took = time.Since(begin)
	if ctx.Err() != nil {
		return nil, errors.Join(errors.New("not all mutants were tried"), ctx.Err())
	}
	return f, nil
}

// chosen is the sample: which mutants are in it does not change from run to run.
func chosen(all []*mutant, o options, known map[string]string) []*trial {
	var out []*trial
	for _, m := range all {
		if known[m.key()] == "" && strings.HasPrefix(m.fn, o.in) {
			out = append(out, &trial{mutant: m})
		}
	}
	if o.sample > 0 && len(out) > o.sample {
		slices.SortFunc(out, func(a, b *trial) int { return int(int64(a.rank()) - int64(b.rank())) })
		out = out[:o.sample]
		slices.SortFunc(out, func(a, b *trial) int { return a.id - b.id })
	}
	return out
}

// trial is one mutant and what became of it.
type trial struct {
	*mutant
	by      string // the test that caught it
	reached bool
}

func (t *trial) judge(ctx context.Context, suites []*suite) {
	for _, s := range suites {
		t.reached = t.reached || s.reaches(t.id)
		if t.by = s.catches(ctx, t.id); t.by != "" {
			return
		}
	}
}
