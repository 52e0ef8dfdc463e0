// Command kills kills the process of a fleet at every moment that matters, lets another one
// take over, and prints the outcome as a table:
//
//	go run ./internal/test/kills
//	go run ./internal/test/kills -stores sqlite -tools Bash -gates person,none -runs 3
//	go run ./internal/test/kills -stores nats -runs 3
//
// It uses the real CLI, with a scripted model on loopback. Package takeover describes a
// run, and what must hold in each. The exit code is 1 if something does not.
//
// # Moments
//
// The process dies by SIGKILL: before and after every write to the store in the turn of a
// call and the one that follows, and 5, 20, 50, 100 and 200 ms after the effect of the tool.
// The tools are Bash, one of an MCP server in another process, and a Go function;
// their calls are decided by a person, by a program at once, by a rule, or without
// a question. How many writes a turn has is counted first, in runs that nothing
// happens to.
//
// # Reading the table
//
// A row is a tool and a gate. The columns of moments have the numbers of runs; those
// that are wrong are named there and listed below the table. The others say what was
// seen: "told" are runs in which the model read that the outcome of a call is unknown,
// "asked" are the questions, "anew" those in the place of one that was withdrawn because
// its call was lost before it was let go, and "unused" the decisions that came too late
// for such a call and whose questions say so.
//
// # In parts
//
// The whole table takes hours. With -keep, each run is added to a file as it ends, and the
// next call continues there; the table at its end shows the runs of all calls. Remove the
// file when the code has changed.
//
//	go run ./internal/test/kills -keep runs.jsonl -limit 30m
//
// # A crowd
//
// With -crowd 300, nothing is killed: so many conversations share 4 CLIs for 5 minutes, and
// each gets a prompt in every round. All must be answered with what was said before, and
// when the fleet has ended, no process and no file may be left.
//
//	go run ./internal/test/kills -stores sqlite -crowd 300
//
// # Stores
//
// SQLite and NATS, here three servers, are linked by other modules. Their tables are
// made by store/sqlstore/internal/kills and fleet/natsfleet/internal/kills, which have the
// same flags, and which this command builds and starts.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/claude-agent-go/claude/internal/test/takeover"
	"github.com/claude-agent-go/claude/store"
)

// elsewhere are the modules with the programs for stores that this one does not link.
var elsewhere = map[string]string{"sqlite": "store/sqlstore", "nats": "fleet/natsfleet"}

// files keeps each run in a folder of its own.
var files = takeover.Backend{
	Name: "files",
	Start: func(_ context.Context, dir string) (func(int) (string, string), func() error, error) {
		place := func(run int) (string, string) { return filepath.Join(dir, fmt.Sprint("store-", run)), "p" }
		return place, func() error { return nil }, nil
	},
	Open: func(_ context.Context, where string) (store.Fleet, error) { return store.Files(where), nil },
}

func main() {
	if code, played := takeover.Play(files); played {
		os.Exit(code)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		stop()
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	set := flag.NewFlagSet("kills", flag.ContinueOnError)
	stores := set.String("stores", "sqlite,nats", "the stores: files,sqlite,nats")
	f, err := takeover.ParseFlags(set, args)
	if err != nil {
		return err
	}
	var passed []string
	set.Visit(func(f *flag.Flag) {
		if f.Name != "stores" {
			passed = append(passed, "-"+f.Name+"="+f.Value.String())
		}
	})
	var errs []error
	for name := range strings.SplitSeq(*stores, ",") {
		if name == "files" {
			errs = append(errs, f.Make(ctx, files, os.Stdout, os.Stderr))
		} else if module, ok := elsewhere[name]; ok {
			errs = append(errs, runProgram(ctx, module, passed))
		} else {
			errs = append(errs, fmt.Errorf("-stores: %q is not a store", name))
		}
	}
	return errors.Join(errs...)
}

// runProgram builds the program of another module and runs it.
func runProgram(ctx context.Context, module string, args []string) error {
	dir, err := os.MkdirTemp("", "kills-program-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "kills")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./internal/kills")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stdout, cmd.Stderr, cmd.Dir = os.Stdout, os.Stderr, module
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", module, err)
	}
	return nil
}
