package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"time"
)

func main() {
	if os.Getenv(playVariable) != "" {
		if err := play(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

var errBroken = errors.New("not every promise holds")

func run(ctx context.Context) (err error) {
	asJSON := flag.Bool("json", false, "print one JSON object for each case")
	only := flag.String("run", "", "measure only the cases whose name matches this expression")
	quick := flag.Bool("quick", false, "measure less, and do not judge")
	write := flag.String("write", "", "write the page to this file")
	profile := flag.String("cpuprofile", "", "write a CPU profile of this process to this file")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	b := &bench{rounds: 11, divide: 1}
	if *quick {
		b.rounds, b.divide = 5, 10
	}
	closeAll, err := b.open(ctx, ".")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	load := loadAverage()
	rows, err := b.measure(ctx, match, *asJSON)
	if err != nil {
		return err
	}
	verdicts := judge(rows)
	if !*asJSON {
		fmt.Print(table(rows), "\n", summary(verdicts))
	}
	if *write != "" {
		if err := os.WriteFile(*write, []byte(page(rows, verdicts, load)), 0o644); err != nil {
			return err
		}
	}
	if !*quick && broken(verdicts) {
		return errBroken
	}
	return nil
}

// open starts the clients, from the root of the module. The CLI that they use
// is this program.
func (b *bench) open(ctx context.Context, root string) (closeAll func() error, err error) {
	cli, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b.tracks = []track{{trackOurs, newOurs(cli)}}
	ts, err := newTypeScript(ctx, root, cli)
	if err == nil {
		b.tracks = append(b.tracks, track{trackTS, ts})
	} else {
		fmt.Fprintln(os.Stderr, "without the TypeScript SDK, which needs node and npm:", err)
	}
	b.tracks = append(b.tracks, track{trackSplit, &raw{cli: cli}}, track{trackCheck, &raw{cli: cli, check: true}})
	return func() error {
		var errs []error
		for _, t := range b.tracks {
			errs = append(errs, t.lane.close())
		}
		return errors.Join(errs...)
	}, nil
}

// measure runs the groups that match and prints their rows as JSON as they come, if asked to.
func (b *bench) measure(ctx context.Context, match *regexp.Regexp, asJSON bool) ([]row, error) {
	var all []row
	for _, g := range groups() {
		if !match.MatchString(g.name) {
			continue
		}
		begin := time.Now()
		rows, err := g.run(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", g.name, err)
		}
		for i := range rows {
			rows[i].ratios()
			if !asJSON {
				continue
			}
			line, err := json.Marshal(rows[i])
			if err != nil {
				return nil, err
			}
			fmt.Println(string(line))
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f s\n", g.name, time.Since(begin).Seconds())
		all = append(all, rows...)
	}
	return all, nil
}
