package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// run is a go test command.
type run struct {
	dir      string   // of the module
	packages []string // patterns
	flags    []string // for these packages, whenever their tests run
	limits   []string // for the whole command only
}

// suite lists what is run: commands in the same lane one after the other, lanes
// side by side.
func suite(root string) ([][]run, error) {
	first := []run{{dir: root, packages: []string{"./..."}, flags: []string{"-race"}, limits: []string{"-p=2", "-timeout=14m"}}}
	// The other modules have database drivers, and the race detector makes a
	// database that is written in Go crawl.
	mods, err := filepath.Glob(filepath.Join(root, "store", "*", "go.mod"))
	if err != nil || len(mods) == 0 {
		return nil, errors.Join(errors.New("the modules of the stores are missing"), err)
	}
	for _, mod := range mods {
		first = append(first, run{dir: filepath.Dir(mod), packages: []string{"./..."}, limits: []string{"-timeout=10m"}})
	}
	return [][]run{first}, nil
}

// all runs the lanes and returns what their events said together.
func all(ctx context.Context, lanes [][]run, log io.Writer) *results {
	total := newResults()
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, lane := range lanes {
		wait.Go(func() {
			for _, r := range lane {
				begin := time.Now()
				res := r.test(ctx, append(r.limits, r.packages...)...)
				mu.Lock()
				total.add(res)
				fmt.Fprintf(log, "%s took %.0f s\n", r, time.Since(begin).Seconds())
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return total
}

func (r run) String() string {
	return fmt.Sprintf("go -C %s test %v %v", r.dir, r.flags, r.packages)
}

// test runs go test with the flags of r and with args.
func (r run) test(ctx context.Context, args ...string) *results {
	res := newResults()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1")
	cmd.Args = append(append(cmd.Args, r.flags...), args...)
	cmd.Dir = r.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = &res.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = res.read(out, r)
		err = errors.Join(err, cmd.Wait())
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1 && res.explained()) {
		res.broken = append(res.broken, fmt.Errorf("%v: %w", cmd, err))
	}
	return res
}
