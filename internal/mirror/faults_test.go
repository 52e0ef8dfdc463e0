package mirror

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/store"
)

var seeds = flag.Int("seeds", long.Pick(50, 400), "how many seeded runs")

// seeded runs a test for every seed, in fake time.
func seeded(t *testing.T, play func(t *testing.T, seed uint64)) {
	for seed := range *seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { play(t, uint64(seed)) })
		})
	}
}

// TestFaults plays sessions against stores whose every call fails in every way a
// call can fail. Whatever happens, the store and the journal together have every
// entry once, in order.
func TestFaults(t *testing.T) { seeded(t, playFaults) }

// TestCrashes plays the same sessions in a program that is killed before or after
// any call of the store. What was acknowledged is in the store or the journal, and
// of the rest as much as there is, without a gap.
func TestCrashes(t *testing.T) { seeded(t, playCrash) }

// player plays a session of random frames.
type player struct {
	t      *testing.T
	random *rand.Rand
	m      *Mirror
	faults *faulty
	want   map[store.Key][]string // everything that was said
	acked  map[store.Key]int      // how many lines of it are stored for sure
}

func newPlayer(t *testing.T, seed uint64, dir string, fault func(chance *rand.Rand, op string) kind) *player {
	random, chance := rand.New(rand.NewPCG(seed, 18)), rand.New(rand.NewPCG(seed, 19))
	p := &player{t: t, random: random, want: make(map[store.Key][]string), acked: make(map[store.Key]int)}
	p.faults = &faulty{MemoryStore: store.Memory()}
	p.faults.fault = func(op string) kind { return fault(chance, op) }
	p.m = New(config(p.faults, dir))
	return p
}

// acquire takes the lease, however often that fails.
func (p *player) acquire(ctx context.Context) {
	for begin := time.Now(); ; <-time.After(time.Second) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := p.m.Acquire(ctx, session)
		cancel()
		if err == nil || context.Cause(ctx) == errKilled {
			return
		}
		if errors.Is(err, store.ErrLeased) || time.Since(begin) > time.Hour {
			p.t.Fatalf("after %v: %v", time.Since(begin), err)
		}
	}
}

// keyOf returns the transcript of a frame: the session's, that of a subagent, or,
// in the second half, the session's after /clear, for which the mirror has to take
// another lease.
func (p *player) keyOf(late bool) store.Key {
	k := store.Key{Project: "p", Session: session}
	if late && p.random.IntN(2) == 0 {
		k.Session = "00000000-0000-4000-8000-000000000002"
	}
	if p.random.IntN(4) == 0 {
		k.Sub = fmt.Sprintf("subagents/agent-%d", p.random.IntN(2))
	}
	return k
}

// say puts the n-th frame.
func (p *player) say(n int, late bool) {
	k := p.keyOf(late)
	var entries []string
	for i := range p.random.IntN(4) {
		e := fmt.Sprintf(`{"type":"user","uuid":"%d-%d"}`, n, i)
		if p.random.IntN(3) == 0 {
			e = fmt.Sprintf(`{"type":"mode","mode":"%d-%d"}`, n, i) // no uuid: only the batch tells it apart
		}
		entries = append(entries, e)
	}
	name := k.Session
	if k.Sub != "" {
		name += "/" + k.Sub
	}
	p.want[k] = append(p.want[k], entries...)
	p.m.Put(fmt.Appendf(nil, `{"type":"transcript_mirror","filePath":"/c/projects/-work/%s.jsonl","entries":[%s]}`, name, strings.Join(entries, ",")))
}

// play sends some frames, and sometimes waits: for a while, or for the store.
func (p *player) play(ctx context.Context) {
	frames := 1 + p.random.IntN(20)
	for n := range frames {
		if ctx.Err() != nil {
			return
		}
		p.say(n, 2*n > frames)
		if p.random.IntN(3) == 0 {
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(p.random.Int64N(int64(10 * time.Second)))):
			}
		}
		if p.random.IntN(5) > 0 {
			continue
		}
		switch err := p.m.Wait(ctx, p.m.Count()); {
		case err == nil:
			p.compare()
			for k, lines := range p.want {
				p.acked[k] = len(lines)
			}
		case !errors.Is(err, store.ErrNotStored) && !errors.Is(err, errKilled):
			p.t.Fatal(err)
		}
	}
}

// stored returns a transcript.
func (p *player) stored(k store.Key) (lines []string) {
	for e, err := range store.Entries(context.Background(), p.faults, k) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			p.t.Fatal(err)
		}
		if err == nil {
			lines = append(lines, string(e))
		}
	}
	return lines
}

// compare wants the store to have everything.
func (p *player) compare() {
	p.t.Helper()
	for k, lines := range p.want {
		if got := p.stored(k); !slices.Equal(got, lines) {
			p.t.Fatalf("%v has\n%s\nwant\n%s", k, strings.Join(got, "\n"), strings.Join(lines, "\n"))
		}
	}
}

func playFaults(t *testing.T, seed uint64) {
	dir := t.TempDir()
	rate, broken := 0, false
	p := newPlayer(t, seed, dir, func(chance *rand.Rand, _ string) kind {
		if broken || chance.IntN(100) < rate {
			return kind(1 + chance.IntN(int(late)))
		}
		return none
	})
	set := func(r int, b bool) {
		p.faults.mu.Lock()
		defer p.faults.mu.Unlock()
		rate, broken = r, b
	}
	set(p.random.IntN(90), false)
	permanent := p.random.IntN(10) == 0
	p.acquire(t.Context())
	p.m.Start()
	p.play(t.Context())
	if permanent {
		set(0, true)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := p.m.Close(ctx)
	set(0, false)
	if missing, ok := errors.AsType[*store.NotStoredError](err); ok {
		if _, err := store.ImportJournal(t.Context(), p.faults, missing.Journal, store.Fence{}); err != nil {
			t.Fatal(err)
		}
	} else if err != nil {
		t.Fatal(err)
	} else if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%v is left although everything is stored", left)
	}
	p.compare()
	<-time.After(time.Hour) // for late writes
	p.compare()
}

// errKilled ends everything that the program waits for.
var errKilled = errors.New("the program is killed")

func playCrash(t *testing.T, seed uint64) {
	dir := t.TempDir()
	ctx, kill := context.WithCancelCause(t.Context())
	defer kill(nil)
	left, rate := 0, 0
	p := newPlayer(t, seed, dir, func(chance *rand.Rand, _ string) kind {
		if left--; left < 0 {
			return hangs
		}
		if left == 0 {
			kill(errKilled)
			return []kind{hangs, hangsDone}[chance.IntN(2)]
		}
		if chance.IntN(100) < rate {
			return kind(1 + chance.IntN(int(twice)))
		}
		return none
	})
	left, rate = 2+p.random.IntN(30), p.random.IntN(70)
	p.acquire(ctx)
	p.m.Start()
	p.play(ctx)
	kill(errKilled) // if it did not come so far, it dies now
	synctest.Wait()
	disk := os.DirFS(dir)
	after := t.TempDir()
	if err := os.CopyFS(after, disk); err != nil {
		t.Fatal(err)
	}
	p.faults.mu.Lock()
	p.faults.fault = func(string) kind { return hangs }
	p.faults.mu.Unlock()
	p.m.Abort(errKilled)
	end, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_ = p.m.Close(end) // its error and its writes are ignored
	journals, _ := os.ReadDir(after)
	for _, j := range journals {
		if _, err := store.ImportJournal(t.Context(), p.faults.MemoryStore, after+"/"+j.Name(), store.Fence{}); err != nil {
			t.Fatal(err)
		}
	}
	for k, lines := range p.want {
		got := p.stored(k)
		if len(got) < p.acked[k] || len(got) > len(lines) || !slices.Equal(got, lines[:len(got)]) {
			t.Errorf("%v has\n%s\nwant the first %d or more of\n%s", k, strings.Join(got, "\n"), p.acked[k], strings.Join(lines, "\n"))
		}
	}
}
