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

	"github.com/claude-agent-go/claude/sandbox"
)

func main() {
	sandbox.Init() // this program is also the helper on another machine
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

var errMissed = errors.New("not every goal is met")

func run(ctx context.Context) (err error) {
	asJSON := flag.Bool("json", false, "print one JSON object for each case")
	only := flag.String("only", "", "measure only this part: sessions, cli, history, stores, fleet, nats, serve, acp, egress, elsewhere or telemetry")
	cases := flag.String("run", "", "measure only the cases whose name matches this expression")
	quick := flag.Bool("quick", false, "measure less, and do not judge")
	write := flag.String("write", "", "write the page to this file; with -only, only that part of it")
	times := flag.Int("times", 1, "measure this many times in a row, and show the median and the worst")
	alone := flag.Bool("shortcuts", false, "measure what each shortcut in the code saves, and nothing else")
	profile := flag.String("cpuprofile", "", "write a CPU profile of this process to this file")
	flag.Parse()
	match, err := regexp.Compile(*cases)
	if err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	b := &bench{root: ".", rounds: 11, divide: 1}
	if *quick {
		b.rounds, b.divide = 5, 10
	}
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
	if *alone {
		return measureShortcuts(ctx, b, match.MatchString)
	}
	bad := false
	for _, p := range chosen {
		m, err := p.measureTimes(ctx, b, match, *asJSON, *times)
		if err != nil {
			return err
		}
		if !*asJSON {
			fmt.Print(table(m.rows), worstTable(m.runs), "\n", summary(m.verdicts), promises(m.verdicts))
		}
		if *write != "" {
			if err := m.write(*write); err != nil {
				return err
			}
		}
		bad = bad || anyMissed(m.verdicts)
	}
	if !*quick && bad {
		return errMissed
	}
	return nil
}

// open starts the clients of live sessions. The CLI that they use is this
// program.
func (b *bench) open(ctx context.Context) (closeAll func() error, err error) {
	cli, err := os.Executable()
	if err != nil {
		return nil, err
	}
	b.contenders = []contender{{nameOurs, newOurs(cli)}}
	ts, err := newTypeScript(ctx, b.root, cli)
	if err == nil {
		b.contenders = append(b.contenders, contender{nameTypeScript, ts})
	} else {
		fmt.Fprintln(os.Stderr, "without the TypeScript SDK, which needs node and npm:", err)
	}
	b.contenders = append(b.contenders, contender{nameSplit, &raw{cli: cli}}, contender{nameCheck, &raw{cli: cli, check: true}})
	return func() error {
		var errs []error
		for _, t := range b.contenders {
			errs = append(errs, t.client.close())
		}
		return errors.Join(errs...)
	}, nil
}

// measure runs the groups that match and prints their rows as JSON as they come, if asked to.
func (b *bench) measure(ctx context.Context, groups []group, match *regexp.Regexp, asJSON bool) ([]row, error) {
	var all []row
	for _, g := range groups {
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
