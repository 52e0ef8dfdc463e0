package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/test/harness"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/internal/wire"
)

var (
	oneSeed   = flag.Uint64("seed", 0, "run the simulation with this seed only and log what happens")
	seedCount = flag.Uint64("seeds", uint64(long.Pick(75, 500)), "run the simulation with so many seeds")
)

// failed are seeds that have found something once.
var failed = [...]uint64{}

func TestSimulation(t *testing.T) {
	if *oneSeed != 0 {
		simulate(t, *oneSeed)
		return
	}
	var next atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n := next.Add(1); n <= *seedCount && !t.Failed(); n = next.Add(1) {
				simulate(t, n)
			}
		})
	}
	workers.Wait()
	for _, seed := range failed {
		simulate(t, seed)
	}
}

// simulate runs one seed. A goroutine that is left over is a deadlock of the
// bubble, which panics.
func simulate(t *testing.T, seed uint64) {
	w := &simulation{seed: seed, rng: rand.New(rand.NewPCG(seed, 7))}
	report := func(format string, args ...any) {
		t.Errorf("%s\n%s\nagain: go test ./internal/test/faults -run TestSimulation -seed %d -v", fmt.Sprintf(format, args...), strings.Join(w.history, "\n"), seed)
	}
	defer func() {
		if v := recover(); v != nil {
			buf := make([]byte, 1<<20)
			report("seed %d: panic: %v\n%s", seed, v, buf[:runtime.Stack(buf, true)])
		}
	}()
	synctest.Test(t, func(*testing.T) { w.live() })
	if len(w.wrong) > 0 {
		report("seed %d: %s", seed, strings.Join(w.wrong, "\n"))
	} else if *oneSeed != 0 {
		t.Log(strings.Join(w.history, "\n"))
	}
}

// simulation is one simulated session: the SDK, its users and their callbacks on
// one side, a CLI on the other, and in the middle the schedule.
type simulation struct {
	ends       harness.TraceEnds
	seed       uint64
	rng        *rand.Rand
	pipe       *simPipe
	cli        *simCLI
	patient    bool // no user leaves a loop or loses patience
	failClosed bool
	down       bool // nothing new is begun

	session *claude.Session
	dead    bool // the process has ended
	users   int
	ops     []*simOp
	going   sync.WaitGroup
	history []string

	mu     sync.Mutex // guards what users and callbacks touch
	asks   map[string]*simAsk
	held   []chan struct{} // callbacks that wait for the schedule
	gone   map[string]bool // requests whose cancel the SDK has seen
	seen   []int
	wrong  []string
	reader bool
}

// simOp is something that a user does.
type simOp struct {
	name   string
	cancel context.CancelFunc
	over   atomic.Bool
}

func (w *simulation) fault(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func (w *simulation) log(format string, args ...any) {
	w.history = append(w.history, fmt.Sprintf(format, args...))
}

func (w *simulation) readerBusy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reader
}

func (w *simulation) setReader(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reader = on
}

// begun sees each line of the SDK at the moment it is begun: no answer is,
// after the SDK has seen the cancel.
func (w *simulation) begun(line []byte) {
	f, err := wire.Parse(bytes.TrimSuffix(line, []byte("\n")))
	if err != nil || f.Type != wire.TypeResponse {
		return
	}
	if r, err := f.Response(); err == nil {
		w.mu.Lock()
		gone := w.gone[r.ID.String()]
		w.mu.Unlock()
		if gone {
			w.fault("answer after the cancel: %s", line)
		}
	}
}

// live runs the simulation, in a bubble.
func (w *simulation) live() {
	w.pipe = newSimPipe()
	w.pipe.begun = w.begun
	w.asks, w.gone = make(map[string]*simAsk), make(map[string]bool)
	w.failClosed = w.rng.IntN(2) == 0
	w.patient = w.rng.IntN(3) == 0
	w.cli = &simCLI{rng: w.rng, names: !w.patient || w.rng.IntN(2) == 0, texts: make(map[string]string)}
	if w.connect() {
		for range 25 + w.rng.IntN(50) {
			w.step(true)
		}
		w.finish()
	}
	synctest.Wait()
	if left := w.ends.Left(); left != "" {
		w.fault("the trace has no end of %s", left)
	}
}

// connect brings the session up, with the schedule running.
func (w *simulation) connect() bool {
	type outcome struct {
		s   *claude.Session
		err error
	}
	connected := make(chan outcome, 1)
	go func() {
		s, err := claude.Connect(context.Background(), w.options())
		connected <- outcome{s, err}
	}()
	for {
		synctest.Wait()
		select {
		case c := <-connected:
			w.session = c.s
			w.log("connected: %v", c.err)
			if c.err != nil {
				w.releaseAll()
				synctest.Wait()
			}
			return c.err == nil
		default:
			w.step(false)
		}
	}
}

// step lets one thing happen. What has happened before has settled.
func (w *simulation) step(users bool) {
	synctest.Wait()
	w.awaitReader()
	for _, a := range w.cli.unanswered() {
		w.withdrawn(a)
	}
	moves := w.moves(users)
	total := 0
	for _, m := range moves {
		total += m.weight
	}
	n := w.rng.IntN(total)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			w.log("%8v %s", time.Since(epoch()), m.name)
			m.do()
			return
		}
	}
}

// roleBound is how long a callback may keep the reader from reading.
const roleBound = 5 * time.Millisecond

// awaitReader lets callbacks lose the role of the reader, one after the other.
func (w *simulation) awaitReader() {
	for range 10 {
		if w.pipe.reading.Load() || closed(w.pipe.eof) || closed(w.pipe.done) {
			return
		}
		<-time.After(roleBound)
		synctest.Wait()
	}
}

// withdrawn takes note that the SDK has seen a cancel. A callback that runs for
// the request has been told.
func (w *simulation) withdrawn(a *simAsk) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[a.id] = true
	if a.ctx != nil && a.ctx.Err() == nil {
		w.wrong = append(w.wrong, a.id+" is withdrawn, but its context continues")
	}
}

// epoch is when time begins in a bubble.
func epoch() time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

func (w *simulation) moves(users bool) []move {
	m := []move{{2, "time passes", w.advance}}
	if len(w.cli.buf) > 0 {
		m = append(m, move{12, "deliver", w.deliver})
	} else if w.dead && !closed(w.pipe.done) {
		m = append(m, move{50, "the end of the process", func() { w.pipe.exit(w.pipe.code) }})
	}
	if w.pipe.writing.Load() > 0 && !w.dead {
		m = append(m, move{10, "take", w.readLine})
	}
	if !w.dead {
		m = append(m, w.cli.moves(w.down || closed(w.pipe.shut))...)
		if closed(w.pipe.stop) {
			m = append(m, move{30, "the process obeys", func() { w.exitCLI(143, w.rng.IntN(2) == 0) }})
		} else if closed(w.pipe.shut) {
			m = append(m, move{5, "the process ends with its input", func() { w.exitCLI(0, false) }})
		}
	}
	w.sync()
	if users && !w.down {
		m = append(m, move{5, "start", w.start})
		if !w.patient && len(w.ops) > 0 {
			m = append(m, move{1, "cancel", w.cancel})
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.held) > 0 {
		m = append(m, move{4, "release", w.release})
	}
	return m
}

// sync makes the CLI's requests known to the callbacks.
func (w *simulation) sync() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.cli.asks[len(w.asks):] {
		w.asks[a.id] = a
	}
}

// advance lets time go by. While the end of a dead process is on its way none
// passes: pipes of a dead process are read at once.
func (w *simulation) advance() {
	if w.dead && !closed(w.pipe.done) {
		return
	}
	spans := [...]time.Duration{time.Millisecond, time.Millisecond, time.Second, time.Second, 4 * time.Second, 11 * time.Second}
	<-time.After(spans[w.rng.IntN(len(spans))])
}

// deliver hands a piece of what was written to the SDK, which must be waiting
// for it whatever users, callbacks and writes are doing.
func (w *simulation) deliver() {
	n := len(w.cli.buf)
	if w.rng.IntN(3) == 0 {
		n = 1 + w.rng.IntN(n)
	}
	w.sync()
	select {
	case w.pipe.out <- bytes.Clone(w.cli.buf[:n]):
		w.cli.buf = w.cli.buf[n:]
		w.cli.delivered += n
	default:
		if !closed(w.pipe.done) {
			w.fault("the reader does not read")
		}
		w.cli.buf = nil
	}
}

// readLine takes a line that the SDK wants to write.
func (w *simulation) readLine() {
	select {
	case line := <-w.pipe.in:
		w.log("         SDK: %s", bytes.TrimSpace(line))
		if wrong := w.cli.receive(bytes.TrimSuffix(line, []byte("\n"))); wrong != "" {
			w.fault("%s", wrong)
		}
	default: // it gave up
	}
}

// exitCLI ends the process: what it has written may be cut off.
func (w *simulation) exitCLI(code int, cut bool) {
	w.dead, w.pipe.code = true, code
	if cut && len(w.cli.buf) > 0 {
		w.cli.buf = w.cli.buf[:w.rng.IntN(len(w.cli.buf))]
	}
}

func (w *simulation) cancel() {
	op := w.ops[w.rng.IntN(len(w.ops))]
	w.log("         of %s, over %v", op.name, op.over.Load())
	op.cancel()
}

func (w *simulation) release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := w.rng.IntN(len(w.held))
	close(w.held[i])
	w.held = append(w.held[:i], w.held[i+1:]...)
}

func (w *simulation) releaseAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.held {
		close(c)
	}
	w.held = nil
}
