package takeover

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// Flags are the flags of a command that makes tables.
type Flags struct {
	Plan Plan
	// Limit ends the runs that are not over by then.
	Limit time.Duration
	// Crowd is run instead of the plan if it has conversations.
	Crowd Crowd
}

// ParseFlags reads the flags of a command. Own flags of the command are already in the set.
func ParseFlags(set *flag.FlagSet, args []string) (*Flags, error) {
	f := new(Flags)
	tools, gates, moments := set.String("tools", "", "the tools: Bash,MCP,Go; empty: all"), set.String("gates", "", "the gates: person,program,rule,none; empty: all"), set.String("delays", "", "the times after an effect, such as 5ms,200ms; empty: all; none: none")
	set.IntVar(&f.Plan.Runs, "runs", 10, "how many runs each moment has")
	set.IntVar(&f.Plan.Writes, "writes", -1, "at how many writes of a turn to kill; -1: at all of them")
	set.IntVar(&f.Plan.Side, "side", 6, "how many runs there are at a time")
	set.StringVar(&f.Plan.Keep, "keep", "", "a file that keeps the runs, so that a table can be made in parts")
	set.DurationVar(&f.Limit, "limit", 2*time.Hour, "give up after this time")
	set.IntVar(&f.Crowd.Conversations, "crowd", 0, "kill nothing; instead give so many conversations prompts, round after round")
	set.IntVar(&f.Crowd.CLIs, "clis", 4, "how many CLIs a crowd has")
	set.DurationVar(&f.Crowd.For, "for", 5*time.Minute, "how long a crowd begins new rounds")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	var err error
	if f.Plan.Keep != "" { // programs of other modules run in their folders
		if f.Plan.Keep, err = filepath.Abs(f.Plan.Keep); err != nil {
			return nil, err
		}
	}
	if f.Plan.Tools, err = choose(*tools, Tools()); err != nil {
		return nil, err
	}
	if f.Plan.Gates, err = choose(*gates, Gates()); err != nil {
		return nil, err
	}
	switch *moments {
	case "":
		f.Plan.Delays = Delays()
	case "none":
	default:
		for text := range strings.SplitSeq(*moments, ",") {
			d, err := time.ParseDuration(text)
			if err != nil || !slices.Contains(Delays(), d) {
				return nil, fmt.Errorf("-delays: %q is not one of %v", text, Delays())
			}
			f.Plan.Delays = append(f.Plan.Delays, d)
		}
	}
	return f, nil
}

// choose returns the values that a list names.
func choose[T ~string](list string, all []T) (chosen []T, err error) {
	if list == "" {
		return all, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		if !slices.Contains(all, T(name)) {
			return nil, fmt.Errorf("%q is not one of %v", name, all)
		}
		chosen = append(chosen, T(name))
	}
	return chosen, nil
}

// Main is the program that makes the table of a store. It returns the exit code: 1 if
// something is wrong.
func Main(b Backend) int {
	if code, played := Play(b); played {
		return code
	}
	f, err := ParseFlags(flag.NewFlagSet(b.Name, flag.ContinueOnError), os.Args[1:])
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		err = f.Make(ctx, b, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		return 1
	}
	return 0
}

// Make makes the table of a store and prints it. Something wrong is an error.
func (f *Flags) Make(ctx context.Context, b Backend, out, log io.Writer) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.Limit, fmt.Errorf("not done after %v", f.Limit))
	defer cancel()
	cli, err := realcli.Install(ctx, realcli.Tested(), log)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kills-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l := &Lab{Backend: b, CLI: cli, Dir: dir}
	stop, err := l.Start(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if end := stop(); err == nil {
			err = end
		}
	}()
	if f.Crowd.Conversations > 0 {
		r, err := l.RunCrowd(ctx, f.Crowd)
		if err != nil {
			return err
		}
		r.Print(out, f.Crowd)
		return r.Err(f.Crowd)
	}
	t, err := l.RunAll(ctx, f.Plan, log)
	if t != nil {
		t.Print(out)
	}
	if err == nil && len(t.Faults) > 0 {
		err = fmt.Errorf("%d runs are wrong", len(t.Faults))
	}
	return err
}
