package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/hook"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/storefault"
	"github.com/claude-agent-go/claude/internal/test/long"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

var (
	oneSeed   = flag.Uint64("seed", 0, "run the simulation with this seed only and log what happens")
	seedCount = flag.Uint64("seeds", uint64(long.Pick(3, 15)), "run the simulation with so many seeds")
	firstSeed = flag.Uint64("first", 1, "begin with this seed")
)

// failed are seeds that have found something once.
var failed = [...]uint64{258, 1203, 1673}

// TestSimulation lets fleets that share a store work, crash, and lose the store
// and their leases, and checks that they keep their promises.
func TestSimulation(t *testing.T) {
	dir := t.TempDir()
	sum := new(tally)
	if *oneSeed != 0 {
		simulate(t, *oneSeed, dir, sum)
		return
	}
	var next atomic.Uint64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for n := next.Add(1); n <= *seedCount && !t.Failed(); n = next.Add(1) {
				simulate(t, *firstSeed+n-1, dir, sum)
			}
		})
	}
	workers.Wait()
	for _, seed := range failed {
		simulate(t, seed, dir, sum)
	}
	t.Logf("seeds %d to %d: %v", *firstSeed, *firstSeed+*seedCount-1, sum)
	if sum.looks == 0 {
		t.Error("the plan has decided nothing")
	}
}

// tally counts what happened in all worlds.
type tally struct {
	mu                                                                 sync.Mutex
	prompts, crashes, outages, faults, questions, tools, starts, stuck int
	cancelled, freed, begun, unsure                                    int // the answers of Cancel
	interrupted, withdrawn, stopped                                    int // by Interrupt: turns, questions, and the prompts that ended so
	marked                                                             int // turns that were not over when an interrupt was acknowledged
	expired, unused                                                    int // prompts whose calls were not decided in time, decisions that were not used
	heard, twice                                                       int // outcomes that a service has seen, and again
	looks                                                              int // at what is next, of which the plan has decided the same
}

func (s *tally) String() string {
	return fmt.Sprintf("%d prompts, %d starts of the CLI, %d questions, %d tools run, %d crashes, %d outages, %d faults of the store, %d times stuck; "+
		"%d prompts cancelled, %d of them stuck, %d too late, %d times with an error; %d interrupts, %d more while somebody was asked, %d turns stopped, %d of them later; %d prompts expired, %d decisions not used; %d outcomes seen by a service, %d more than once; %d decisions as planned",
		s.prompts, s.starts, s.questions, s.tools, s.crashes, s.outages, s.faults, s.stuck, s.cancelled, s.freed, s.begun, s.unsure, s.interrupted, s.withdrawn, s.stopped, s.marked, s.expired, s.unused, s.heard, s.twice, s.looks)
}

// simulate runs one seed. A goroutine that is left over is a deadlock of the
// bubble, which panics.
func simulate(t *testing.T, seed uint64, dir string, sum *tally) {
	w := &world{rng: rand.New(rand.NewPCG(seed, 11)), db: store.Memory(), bus: newRadio(), dir: dir, ran: make(map[string]int), asked: make(map[string]int), callOf: make(map[string]string), dropped: make(map[string]bool), stoppedAt: make(map[string][]*machine)}
	w.service = newService(w, seed)
	w.unfenced = func(what string) { w.fault("without a fence: %s", what) }
	report := func(format string, args ...any) {
		t.Errorf("%s\n%s\nagain: go test ./fleet -run TestSimulation -seed %d -v", fmt.Sprintf(format, args...), strings.Join(w.history, "\n"), seed)
	}
	defer func() {
		if v := recover(); v != nil {
			buf := make([]byte, 1<<20)
			report("seed %d: panic: %v\n%s", seed, v, buf[:runtime.Stack(buf, true)])
		}
	}()
	synctest.Test(t, func(t *testing.T) { w.live(t.Context()) })
	if len(w.wrong) > 0 {
		report("seed %d: %s", seed, strings.Join(w.wrong, "\n"))
	} else if *oneSeed != 0 {
		t.Log(strings.Join(w.history, "\n"))
	}
	sum.mu.Lock()
	defer sum.mu.Unlock()
	sum.prompts += len(w.sent)
	sum.crashes += w.crashes
	sum.outages += w.outages
	sum.faults += int(w.faults.Load())
	sum.looks += int(w.looks.Load())
	sum.questions += w.questions
	sum.starts += w.starts
	sum.stuck += w.stuck
	sum.cancelled += w.cancelled
	sum.freed += w.freed
	sum.begun += w.begun
	sum.unsure += w.unsure
	sum.interrupted += w.interrupted
	sum.withdrawn += w.withdrawn
	sum.stopped += w.stopped
	sum.marked += w.marked
	sum.expired += w.expired
	sum.unused += w.unused
	sum.heard += len(w.service.texts)
	sum.twice += w.service.twice
	for _, n := range w.ran {
		sum.tools += n
	}
}

// world is a store, the fleets that use it, and those who use the fleets.
type world struct {
	rng    *rand.Rand
	db     *store.MemoryStore
	dir    string
	fleets []*machine
	bus    *radio
	client *fleet.Fleet // a process without CLIs, which never fails
	// lifetime is how long questions can be decided; 0 is for ever.
	lifetime time.Duration
	closing  sync.WaitGroup
	faults   atomic.Int64
	looks    atomic.Int64 // at what is next, by a fleet and by the plan

	sent                                       []sentPrompt
	crashes, outages, questions, stuck, opened int
	cancelled, freed, begun, unsure            int
	interrupted, withdrawn, stopped, marked    int
	expired, unused                            int
	decided                                    []string // questions whose decision was taken

	mu      sync.Mutex // guards what fleets and their CLIs touch
	begin   time.Time
	history []string
	wrong   []string
	ran     map[string]int    // runs of a tool by the id of its call
	asked   map[string]int    // how often the model was asked, by the text of the prompt
	ids     int               // of calls
	callOf  map[string]string // the text of the prompt that made a call, by its id
	dropped map[string]bool   // texts of prompts that were cancelled
	// stoppedAt are the machines that had the turn of a prompt when an interrupt of it was
	// acknowledged, by the text of the prompt.
	stoppedAt map[string][]*machine
	starts    int
	endedAs   map[string]string // prompts that have ended, see agree
	unfenced  func(string)      // reports a write that lacks its fence

	followed follower
	service  *service // that follows the outcomes
}

// sentPrompt is a prompt whose Send has returned.
type sentPrompt struct {
	key, id  string
	text     string
	accepted bool // surely
	steers   bool

	cancelled, unsure bool // Cancel has said so, or has failed
	stuck             bool // its conversation was stuck at it then
	interrupted       bool // it had begun when its conversation was interrupted
	asked             int  // how often the model had been asked about it by then
	ended             fleet.PromptStatus
	givenUp           bool // it was interrupted between two attempts
	unpriced          bool // answers of it had no price when it ended
	partOf            string
}

func (w *world) log(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, fmt.Sprintf("%10.3f ", time.Since(w.begin).Seconds())+fmt.Sprintf(format, args...))
}

func (w *world) fault(format string, args ...any) {
	w.log("WRONG: "+format, args...)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// machine is one process with a fleet. It is also the Transport of its CLIs.
type machine struct {
	w     *world
	name  string
	fleet *fleet.Fleet
	slots int
	cli   *claudetest.CLI

	mu        sync.Mutex
	rng       *rand.Rand
	rate      float64
	dead      bool
	crashAt   int       // the call of the store at which it dies
	downUntil time.Time // it cannot reach the store
	conns     []claude.Conn
	live      int
	args      []string                 // of the last start
	vars      []string                 // its environment
	failing   func(method string) bool // nil: none
	slow      time.Duration            // how long it takes to read the next record
}

func (m *machine) env() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.vars
}

func (m *machine) counts() (live, most int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.live, m.slots
}

func (m *machine) hasArg(value string) bool {
	return slices.ContainsFunc(m.args, func(arg string) bool { return arg == value || strings.HasSuffix(arg, "="+value) })
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// faulty is the store as a machine sees it. Every other one sees a store that makes
// no changes at once.
func faulty(db *store.MemoryStore, m *machine) *storefault.Store {
	return storefault.Wrap(&strict{MemoryStore: db, report: m.w.unfenced}, m.choose)
}

// setSlow lets the store take its time with the next record that it reads.
func (m *machine) setSlow(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.slow = d
}

// delay waits if the store is slow. Other calls are not kept waiting, so that much can
// happen until this one returns.
func (m *machine) delay(c storefault.Call) {
	if c.Method != "View" {
		return
	}
	m.mu.Lock()
	slow := m.slow
	m.slow = 0
	m.mu.Unlock()
	if slow > 0 {
		<-time.After(slow)
	}
}

// choose decides how a call of the store goes.
func (m *machine) choose(c storefault.Call) storefault.Kind {
	m.delay(c)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.dead, time.Now().Before(m.downUntil):
		return storefault.Fail
	case c.N == m.crashAt:
		m.dead = true
		go m.kill()
		m.w.log("%s dies in call %d, %s", m.name, c.N, c.Method)
		if m.rng.IntN(2) == 0 {
			return storefault.LostReply // it was done
		}
		return storefault.Fail
	case m.failing != nil && (m.failing(c.Method) || slices.Contains(c.Kinds, "outcome") && m.failing("outcome")):
		return storefault.Fail
	case m.rate > 0 && m.rng.Float64() < m.rate:
		m.w.faults.Add(1)
		return storefault.Kind(1 + m.rng.IntN(int(storefault.Later)))
	}
	return storefault.None
}

// Start starts a CLI on the machine.
func (m *machine) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errors.New("the machine is dead")
	}
	conn, err := m.cli.Start(ctx, l)
	if err != nil {
		return nil, err
	}
	m.conns = append(m.conns, conn)
	m.args, m.vars = l.Args, l.Env
	if m.live++; m.live > m.slots {
		m.w.fault("%s has %d CLIs, may have %d", m.name, m.live, m.slots)
	}
	m.w.mu.Lock()
	m.w.starts++
	m.w.mu.Unlock()
	return &counted{Conn: conn, ended: func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.live--
	}}, nil
}

// counted is a CLI that reports its end before any other part learns about it.
type counted struct {
	claude.Conn
	once  sync.Once
	ended func()
}

func (c *counted) Wait() error {
	err := c.Conn.Wait()
	c.once.Do(c.ended)
	return err
}

// kill is SIGKILL: nothing the machine does is seen any more.
func (m *machine) kill() {
	m.mu.Lock()
	m.dead = true
	conns := slices.Clone(m.conns)
	m.mu.Unlock()
	for _, c := range conns {
		_ = c.Stop()
	}
}

func (m *machine) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

// reply is the model: a prompt with a tool in it calls it first.
func (w *world) reply(c *claudetest.ModelCall) claudetest.Reply {
	w.mu.Lock()
	w.asked[c.Prompt]++
	w.mu.Unlock()
	if len(c.ToolResults) > 0 || !strings.Contains(c.Prompt, "tool") {
		return claudetest.Say("answer to " + c.Prompt).After(time.Duration(len(c.Prompt)) * time.Second)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	id := fmt.Sprintf("toolu_%06d", w.ids)
	w.callOf[id] = c.Prompt
	return claudetest.UseTools(claudetest.ScriptedCall{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"` + id + `"}`)})
}

// repeatable reports whether a call may run again: about every third.
func (w *world) repeatable(id string) bool { return strings.ContainsAny(id[len(id)-1:], "036") }

// tool is the tool. It may run only if a person has allowed this call with this input,
// not for a prompt that was cancelled, and not twice unless it may be repeated. For a
// turn that was interrupted, it may run only where the turn was then.
func (m *machine) tool(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
	w := m.w
	id, _, _ := strings.Cut(jsonx.Text(jsonx.Member(input, "command")), " ")
	w.mu.Lock()
	w.ran[id]++
	n, dropped := w.ran[id], w.dropped[w.callOf[id]]
	at, stopped := w.stoppedAt[w.callOf[id]]
	w.mu.Unlock()
	w.log("tool %s runs", id)
	if stopped && !slices.Contains(at, m) {
		w.fault("tool %s runs on %s, which did not have the turn when it was interrupted", id, m.name)
	}
	if dropped {
		w.fault("tool %s runs for a prompt that was cancelled", id)
	}
	if n > 1 && !w.repeatable(id) {
		w.fault("tool %s runs %d times", id, n)
	}
	allowed := false
	for q, err := range approval.NewQuestions(w.db, "p").List(context.Background(), approval.Filter{States: []approval.State{approval.StateReleased}}) {
		if err == nil && q.ToolUseID == id && q.Answer.Decision.Behavior() == permission.BehaviorAllow {
			decided, changed := q.Answer.Decision.Input()
			allowed = string(input) == string(q.Input) && !changed || changed && string(input) == fmt.Sprintf("%s", decided)
		}
	}
	if !allowed {
		w.fault("tool %s runs with %s, which nobody has allowed", id, input)
	}
	return host.TextOutput("done"), nil
}

// open starts another machine.
func (w *world) open(ctx context.Context, calm bool) {
	w.opened++
	m := &machine{
		w: w, name: fmt.Sprintf("machine %d", w.opened), slots: 1 + w.rng.IntN(3), rng: rand.New(rand.NewPCG(w.rng.Uint64(), 1)),
	}
	m.cli = claudetest.NewCLI(&claudetest.Script{Model: w.reply, Tools: map[string]host.RunFunc{"Bash": m.tool}})
	if !calm {
		m.rate = []float64{0, 0.01, 0.05}[w.rng.IntN(3)]
		if w.rng.IntN(2) == 0 {
			m.crashAt = 1 + w.rng.IntN(300)
		}
	}
	quiet := slog.New(slog.DiscardHandler)
	if *oneSeed != 0 && os.Getenv("SIM_LOG") != "" {
		quiet = slog.New(slog.NewTextHandler(logWriter{w, m.name}, nil))
	}
	o := fleet.Options{
		Store: faulty(w.db, m), Project: "p", Owner: m.name, Journal: w.dir, Logger: quiet,
		Bus: handle{Bus: w.bus, cut: m.isDead}, MaxLive: m.slots, IdleAfter: 20 * time.Second, Grace: 10 * time.Second, Attempts: 3 + w.rng.IntN(4),
		DayBudgetUSD: 1000, // which is never spent, but counted
		Gate: &approval.Options{
			Patience:   30 * time.Second,
			Lifetime:   w.lifetime,
			Repeatable: func(in *hook.PreToolUseInput) bool { return w.repeatable(in.ToolUseID) },
		},
		Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: m, Cwd: "/work", Env: []string{"HOME=/nowhere"}, Logger: slog.New(slog.DiscardHandler)}, nil
		},
	}
	w.followed.install(&o)
	fleet.Shadow(&o, w.db, w.looked)
	f, err := fleet.Open(ctx, o)
	w.log("%s opens with %d slots, %.2f faults: %v", m.name, m.slots, m.rate, err)
	if err == nil {
		m.fleet = f
		w.fleets = append(w.fleets, m)
	}
}

// looked notes that a fleet and the plan have decided what is next.
func (w *world) looked(difference string) {
	w.looks.Add(1)
	if difference != "" {
		w.fault("the plan differs: %s", difference)
	}
}

// logWriter puts the log of a fleet into the history.
type logWriter struct {
	w    *world
	name string
}

func (l logWriter) Write(b []byte) (int, error) {
	l.w.log("%s: %s", l.name, strings.TrimSpace(string(b)))
	return len(b), nil
}

var _ io.Writer = logWriter{}

// bury closes the fleets of machines that have died.
func (w *world) bury(dead func(*machine) bool) {
	w.fleets = slices.DeleteFunc(w.fleets, func(m *machine) bool {
		if !dead(m) {
			return false
		}
		if m.isDead() {
			w.crashes++
		}
		w.closing.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			if m.isDead() {
				cancel()
			}
			defer cancel()
			_ = m.fleet.Close(ctx)
			w.log("%s is closed", m.name)
		})
		return true
	})
}

// live is the life of the world, in a bubble.
func (w *world) live(ctx context.Context) {
	w.begin = time.Now()
	w.lifetime = []time.Duration{0, 0, 20 * time.Second, 2 * time.Minute}[w.rng.IntN(4)]
	if err := w.openClient(ctx); err != nil {
		w.fault("the client: %v", err)
		return
	}
	keys := []string{"a", "b", "acme/a", "acme/b", "other/a"}[:1+w.rng.IntN(5)]
	for range 10 + w.rng.IntN(30) {
		w.bury((*machine).isDead)
		if len(w.fleets) == 0 || len(w.fleets) < 3 && w.rng.IntN(20) == 0 {
			w.open(ctx, false)
		}
		w.service.anywhere(ctx)
		w.step(ctx, keys)
		w.agree(ctx)
		<-time.After(time.Duration(w.rng.IntN(20_000*(1+w.rng.IntN(2)))) * time.Millisecond)
	}
	w.finale(ctx, keys)
}

// step lets one thing happen.
func (w *world) step(ctx context.Context, keys []string) {
	if len(w.fleets) == 0 {
		return
	}
	m := w.fleets[w.rng.IntN(len(w.fleets))]
	switch n := w.rng.IntN(26); {
	case n >= 22:
		w.interrupt(ctx, keys[w.rng.IntN(len(keys))])
	case n >= 20 && len(w.sent) > 0:
		w.cancel(ctx, w.either(m.fleet), w.anyPrompt(ctx))
	case n < 9, n >= 20:
		w.send(ctx, m, keys[w.rng.IntN(len(keys))])
	case n < 15:
		w.decide(ctx, 1)
	case n < 17:
		w.log("%s is killed", m.name)
		m.kill()
	case n < 18:
		w.log("%s is closed", m.name)
		w.bury(func(other *machine) bool { return other == m })
	default:
		w.outages++
		d := time.Duration(w.rng.IntN(90)) * time.Second
		w.log("%s cannot reach the store for %v", m.name, d)
		m.mu.Lock()
		m.downUntil = time.Now().Add(d)
		m.mu.Unlock()
	}
}

// send sends a prompt.
func (w *world) send(ctx context.Context, m *machine, key string) {
	text := fmt.Sprintf("prompt %d", len(w.sent))
	if w.rng.IntN(2) == 0 {
		text += " tool"
	}
	resting := m.fleet.Resting()
	if len(resting) > 0 {
		key = resting[0] // a prompt may begin there without being queued
	}
	p := fleet.Prompt{ID: fmt.Sprintf("00000000-0000-4000-8000-%012d", len(w.sent)), Text: text, Steer: w.rng.IntN(3) == 0}
	if w.rng.IntN(4) < 3 {
		p.Steer = p.Steer && len(resting) == 0
		p = fleet.Fresh(p)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err := m.fleet.Send(ctx, key, p)
	w.log("%s: %q of %s is sent to %s, steers %t: %v", p.ID[32:], text, key, m.name, p.Steer, err)
	if errors.Is(err, fleet.ErrStuck) {
		return
	}
	w.sent = append(w.sent, sentPrompt{key: key, id: p.ID, text: text, accepted: err == nil, steers: p.Steer})
	if w.rng.IntN(6) == 0 { // before it has begun, or while it does
		w.cancel(ctx, w.fleets[w.rng.IntN(len(w.fleets))].fleet, &w.sent[len(w.sent)-1])
	}
}

// decide decides so many open questions, in whatever order they come.
func (w *world) decide(ctx context.Context, most int) (decided int) {
	in := approval.NewQuestions(w.db, "p")
	for q, err := range in.List(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
		if err != nil || decided == most {
			break
		}
		d := permission.Allow()
		switch w.rng.IntN(3) {
		case 0:
			d = permission.Deny("no")
		case 1:
			d = permission.AllowWith(json.RawMessage(`{"command":"` + q.ToolUseID + ` changed"}`))
		}
		_, err := in.Decide(ctx, q.ID, approval.Answer{Decision: d, By: "ada", Digest: q.Digest})
		w.log("question about %s of %s is decided: %s %v", q.ToolUseID, q.Conversation, d.Behavior(), err)
		decided++
		w.questions++
		if err == nil {
			w.decided = append(w.decided, q.ID)
		}
	}
	return decided
}

// finale lets everything come to its end on a machine without faults, and checks
// the outcome of the prompts.
func (w *world) finale(ctx context.Context, keys []string) {
	w.log("finale")
	w.bury((*machine).isDead)
	for _, m := range w.fleets {
		m.mu.Lock()
		m.rate, m.crashAt, m.downUntil = 0, 0, time.Time{}
		m.mu.Unlock()
	}
	w.open(ctx, true)
	f := w.fleets[len(w.fleets)-1].fleet
	w.service.restart(ctx, nil)
	for range 200 {
		<-time.After(time.Minute)
		if w.rng.IntN(8) == 0 {
			w.interrupt(ctx, keys[w.rng.IntN(len(keys))])
			continue
		}
		w.decide(ctx, 100)
		if w.settled(ctx, f) {
			break
		}
	}
	w.check(ctx, f, keys)
	w.service.check(ctx, f)
	w.bury(func(*machine) bool { return true })
	w.closing.Go(func() { _ = w.client.Close(context.Background()) })
	w.closing.Wait()
	synctest.Wait()
	w.checkLeft(ctx, keys)
	if left := w.followed.left(); left != "" {
		w.fault("the trace has no end of %s", left)
	}
}

// settled reports whether every prompt has its outcome. Conversations that are
// stuck are told to try again.
func (w *world) settled(ctx context.Context, f *fleet.Fleet) bool {
	done := true
	for info, err := range f.List(ctx) {
		if err != nil {
			w.fault("list: %v", err)
		}
		if info.State == fleet.StateStuck {
			w.stuck++
			w.log("%s is stuck: %s", info.Key, info.Stuck)
			i := slices.IndexFunc(w.sent, func(p sentPrompt) bool { return w.isStuckAt(ctx, p.id) })
			if i >= 0 {
				w.service.checkStuck(w.sent[i].id)
			}
			if i >= 0 && w.rng.IntN(2) == 0 {
				w.cancel(ctx, w.either(f), &w.sent[i])
			} else if err := w.either(f).Retry(ctx, info.Key); err != nil {
				w.log("retry: %v", err)
			}
		}
		done = done && info.Queued == 0
	}
	for _, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		if err != nil {
			w.fault("prompts: %v", err)
		}
		return false // one has not ended, or is not cleaned up
	}
	return done
}
