// Command fleetbench measures a fleet whose conversations are in SQLite: how many
// it answers with a few CLIs, what a conversation takes while it sleeps, and what
// waking costs. The CLI is a scripted one in this process, so that almost
// everything that is measured belongs to the SDK. It prints one JSON object;
// internal/test/bench starts it. It is a program of its own because only this
// module links the driver.
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
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store/sqlstore"
)

// Report is what was measured.
type Report struct {
	Conversations, Rounds, MaxLive int
	// Answered counts the prompts that have their answer, and MostLive the
	// CLIs that ran at once.
	Answered, MostLive int
	// Heap is the heap after a collection: before the first prompt, and after
	// each round, when all conversations sleep.
	Heap []uint64
	// TurnNS is the time of a round divided by its prompts, of each round.
	TurnNS []float64
	// WakeNS are the times from a prompt to the answer of conversations that
	// sleep, with nothing else to do; AwakeNS of ones that are awake.
	WakeNS, AwakeNS []float64
}

func main() {
	conversations := flag.Int("conversations", 10_000, "how many there are")
	rounds := flag.Int("rounds", 3, "how many prompts each of them gets")
	live := flag.Int("live", 8, "how many CLIs run at once")
	wakes := flag.Int("wakes", 101, "how often waking is measured")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		defer pprof.StopCPUProfile()
	}
	r := &Report{Conversations: *conversations, Rounds: *rounds, MaxLive: *live}
	if err := run(context.Background(), r, *wakes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// counter starts scripted CLIs, and counts those that run.
type counter struct {
	live, most atomic.Int64
}

// Start implements [claude.Transport]. Each CLI is a new one, which remembers
// nothing of those before.
func (c *counter) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	cli := claudetest.NewCLI(&claudetest.Script{Model: func(c *claudetest.ModelCall) claudetest.Reply {
		return claudetest.Say("answer to " + c.Prompt)
	}})
	conn, err := cli.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	n := c.live.Add(1)
	for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
	}
	return &counted{Conn: conn, c: c}, nil
}

type counted struct {
	claude.Conn
	c    *counter
	once sync.Once
}

// Wait implements [claude.Conn].
func (c *counted) Wait() error {
	err := c.Conn.Wait()
	c.once.Do(func() { c.c.live.Add(-1) })
	return err
}

func run(ctx context.Context, r *Report, wakes int) (err error) {
	dir, err := os.MkdirTemp("", "fleetbench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "fleet.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	cli, quiet := new(counter), slog.New(slog.NewTextHandler(io.Discard, nil))
	f, err := fleet.Open(ctx, fleet.Options{
		Store: db, Project: "bench", MaxLive: r.MaxLive, IdleAfter: 100 * time.Millisecond, QueueAll: r.Conversations, Journal: filepath.Join(dir, "journal"), Logger: quiet,
		Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: dir, Env: []string{"HOME=" + dir}, Logger: quiet}, nil
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(ctx)) }()
	r.Heap = append(r.Heap, heap())
	for round := range r.Rounds {
		begin := time.Now()
		if err := r.round(ctx, f, round); err != nil {
			return err
		}
		r.TurnNS = append(r.TurnNS, float64(time.Since(begin).Nanoseconds())/float64(r.Conversations))
		asleep(cli)
		r.Heap = append(r.Heap, heap())
		fmt.Fprintf(os.Stderr, "round %d: %.1f s, %d answered\n", round+1, time.Since(begin).Seconds(), r.Answered)
	}
	r.MostLive = int(cli.most.Load())
	return r.wake(ctx, f, cli, wakes)
}

// round sends a prompt to every conversation and waits until all are answered.
func (r *Report) round(ctx context.Context, f *fleet.Fleet, round int) error {
	ids := make([]string, r.Conversations)
	for i := range ids {
		id, err := f.Send(ctx, key(i), fleet.Prompt{Text: prompt(i, round)})
		if err != nil {
			return err
		}
		ids[i] = id
	}
	for i, id := range ids {
		t, err := answer(ctx, f, key(i), id)
		if err != nil {
			return err
		}
		if t.Status != fleet.Answered || t.Text != "answer to "+prompt(i, round) {
			return fmt.Errorf("conversation %d, round %d: %+v", i, round, t)
		}
		r.Answered++
	}
	return nil
}

func key(i int) string               { return fmt.Sprintf("tenant-%d/user-%d", i%100, i) }
func prompt(i, round int) string     { return fmt.Sprintf("prompt %d of %d", round, i) }
func over(s fleet.PromptStatus) bool { return s != fleet.Queued && s != fleet.Running }

// answer waits until a prompt is answered.
func answer(ctx context.Context, f *fleet.Fleet, key, id string) (fleet.Ticket, error) {
	for {
		t, err := f.Prompt(ctx, key, id)
		if err != nil || over(t.Status) {
			return t, err
		}
		<-time.After(50 * time.Millisecond)
	}
}

// asleep waits until no CLI runs.
func asleep(cli *counter) {
	for cli.live.Load() > 0 {
		<-time.After(10 * time.Millisecond)
	}
}

// heap is what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC() // what pools and finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// wake measures single prompts: to a conversation that sleeps, and then to the
// same one, which is awake.
func (r *Report) wake(ctx context.Context, f *fleet.Fleet, cli *counter, wakes int) error {
	for i := range wakes {
		asleep(cli)
		for _, times := range []*[]float64{&r.WakeNS, &r.AwakeNS} {
			begin := time.Now()
			if err := ask(ctx, f, key(i%r.Conversations)); err != nil {
				return err
			}
			*times = append(*times, float64(time.Since(begin).Nanoseconds()))
		}
	}
	return nil
}

// ask runs a prompt up to its result.
func ask(ctx context.Context, f *fleet.Fleet, key string) error {
	for m, err := range f.Run(ctx, key, "again") {
		if err != nil {
			return err
		}
		if _, ok := m.(*message.Result); ok {
			return nil // what is written down after it is not waited for
		}
	}
	return errors.New("there was no result")
}
