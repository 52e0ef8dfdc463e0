package takeover

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/approval"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/test/leak"
	"github.com/claude-agent-go/claude/permission"
	"github.com/claude-agent-go/claude/store"
)

// bound is how long a part of a run may take.
const bound = 90 * time.Second

// Lab is where runs happen.
type Lab struct {
	Backend Backend
	CLI     string // the path of the real CLI
	Dir     string // for everything that is written

	mu    sync.Mutex
	runs  int
	place func(run int) (where, project string)
}

// Start begins what the runs share. Stop ends it.
func (l *Lab) Start(ctx context.Context) (stop func() error, err error) {
	l.place, stop, err = l.Backend.Start(ctx, l.Dir)
	return stop, err
}

// run is one that is being made.
type run struct {
	lab     *Lab
	c       Case
	role    role
	mind    *mind
	db      store.Fleet
	client  *fleet.Fleet
	prompts []string

	mu      sync.Mutex
	decided []string
	trouble error
}

// Run makes a run and returns what was seen. An error means that it could not be made.
// Several may be made at once.
func (l *Lab) Run(ctx context.Context, c Case) (s *Story, err error) {
	r := &run{lab: l, c: c, mind: &mind{tool: c.Tool, lasts: c.lasts(), eager: c.eager()}}
	end, err := r.prepare(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, end()) }()
	s = &Story{Gate: c.Gate}
	stop := r.decide(ctx)
	defer stop()
	first, err := start(r.role)
	if err != nil {
		return nil, err
	}
	if s.Killed, err = r.untilDead(ctx, first); err != nil {
		return nil, err
	}
	if s.Killed {
		if err := r.free(ctx); err != nil {
			return nil, err
		}
		next := r.role
		next.At, next.Journal = Moment{}, next.Journal+"-2"
		second, err := start(next)
		if err != nil {
			return nil, err
		}
		defer second.kill()
		s.Tickets = r.wait(ctx)
		if err := second.end(); err != nil {
			return nil, err
		}
	} else {
		s.Tickets = r.wait(ctx)
	}
	stop()
	return s, r.look(ctx, s)
}

// Writes returns how often the fleet writes in a run in which nothing happens.
func (l *Lab) Writes(ctx context.Context, c Case) (n int, err error) {
	r := &run{lab: l, c: c, mind: &mind{tool: c.Tool, lasts: c.lasts(), eager: c.eager()}}
	r.role.CountWrites = true
	end, err := r.prepare(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, end()) }()
	defer r.decide(ctx)()
	only, err := start(r.role)
	if err != nil {
		return 0, err
	}
	defer only.kill()
	for i, t := range r.wait(ctx) {
		if t.Status != fleet.PromptAnswered {
			return 0, fmt.Errorf("%s: prompt %d is %s: %s", c, i+1, t.Status, t.Error)
		}
	}
	if err := only.end(); err != nil {
		return 0, err
	}
	var said report
	err = json.Unmarshal(only.out.Bytes(), &said)
	return said.Writes, err
}

// prepare makes everything that the processes need, and sends the prompts.
func (r *run) prepare(ctx context.Context) (end func() error, err error) {
	count := r.role.CountWrites
	model := claudetest.NewModelFunc(r.mind.reply)
	if _, err := model.Start(); err != nil {
		return nil, err
	}
	base, err := r.lab.newBase(ctx, model)
	if err != nil {
		return nil, errors.Join(err, model.Close())
	}
	r.role, r.db, r.client = base.role, base.db, base.client
	r.role.CountWrites, r.role.MaxLive = count, 1
	r.role.Tool, r.role.Gate, r.role.At = r.c.Tool, r.c.Gate, r.c.At
	r.role.Patience = time.Minute
	if r.c.defers() {
		r.role.Patience = 100 * time.Millisecond
	}
	end = func() error { return errors.Join(base.end(), model.Close()) }
	if r.c.Gate == Rule {
		err = r.makeRule(ctx)
	}
	for _, text := range []string{workPrompt, afterPrompt} {
		id, sent := r.client.Send(ctx, key, fleet.Prompt{Text: text})
		r.prompts, err = append(r.prompts, id), errors.Join(err, sent)
	}
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// base is a folder with everything that the processes of a run need, and the store.
type base struct {
	dir    string
	role   role
	db     store.Fleet
	client *fleet.Fleet
}

func (l *Lab) newBase(ctx context.Context, model *claudetest.Model) (_ *base, err error) {
	l.mu.Lock()
	l.runs++
	number := l.runs
	l.mu.Unlock()
	b := &base{dir: filepath.Join(l.Dir, fmt.Sprint("run-", number))}
	below := func(name string) string { return filepath.Join(b.dir, name) }
	for _, sub := range []string{"work", "home", "tmp", "own"} {
		if err := os.MkdirAll(below(sub), 0o700); err != nil {
			return nil, err
		}
	}
	b.role = role{CLI: l.CLI, Dir: below("work"), Journal: below("journal"), Temp: below("own"), Effects: below("effects"), Leases: below("leases"), Mark: fmt.Sprintf("%s.%d", leak.Mark(), number)}
	b.role.Where, b.role.Project = l.place(number)
	b.role.Env = append(model.Env(below("home")), "PATH="+os.Getenv("PATH"), "TMPDIR="+below("tmp"), "IS_SANDBOX=1", b.role.Mark)
	if err := writeScript(b.role.Dir, b.role.Effects); err != nil {
		return nil, err
	}
	if b.db, err = l.Backend.Open(ctx, b.role.Where); err != nil {
		return nil, err
	}
	o := b.role.options(b.db)
	o.MaxLive, o.Gate = fleet.NoCLIs, nil
	if b.client, err = fleet.Open(ctx, o); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

// end closes the store, and removes the folder.
func (b *base) end() error {
	err := b.client.Close(context.Background())
	return errors.Join(err, b.close(), os.RemoveAll(b.dir))
}

func (b *base) close() error {
	if c, ok := b.db.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// makeRule lets a rule of the conversation allow the tool, as the answer "always"
// does.
func (r *run) makeRule(ctx context.Context) error {
	in := approval.NewQuestions(r.db, r.role.Project)
	input, err := json.Marshal(r.c.Tool.input(0, false))
	if err != nil {
		return err
	}
	q, err := in.Ask(ctx, approval.Question{Conversation: key, Tool: r.c.Tool.name(), ToolUseID: ruleCall, Input: input}, store.Fence{})
	if err == nil {
		_, err = in.Decide(ctx, q.ID, approval.Answer{Decision: permission.Allow(), By: "ada", Digest: q.Digest, Always: []string{r.c.Tool.rule()}})
	}
	if err == nil {
		_, err = in.Release(ctx, q.ID, store.Fence{})
	}
	if err == nil {
		err = in.Settle(ctx, q.ID, approval.OutcomeRan, store.Fence{})
	}
	return err
}

// ruleCall is the call by which the rule was made, before the run.
const ruleCall = "toolu_rule"

// How long a person thinks, and how long they wait for a call to be deferred.
const (
	thinks   = 150 * time.Millisecond
	hesitate = 1500 * time.Millisecond
)

// decide is the person, if there is one. Stop may be called again.
func (r *run) decide(ctx context.Context) (stop func()) {
	if r.c.Gate != Person {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		seen := make(map[string]time.Time)
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			for q, err := range r.client.Approvals().List(ctx, approval.Filter{States: []approval.State{approval.StateOpen}}) {
				if err != nil {
					break // it looks again
				}
				if _, ok := seen[q.ID]; !ok {
					seen[q.ID] = time.Now()
				}
				since := time.Since(seen[q.ID])
				if since < thinks || r.c.defers() && !q.Deferred && since < hesitate {
					continue
				}
				err := allow(ctx, r.client.Approvals(), q, "ada")
				r.mu.Lock()
				if err == nil {
					r.decided = append(r.decided, q.ID)
				} else if !errors.Is(err, errGone) && ctx.Err() == nil {
					r.trouble = errors.Join(r.trouble, err)
				}
				r.mu.Unlock()
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// process is a process that runs a fleet.
type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	out  bytes.Buffer
	errs bytes.Buffer
	over chan struct{} // closed when it has ended
	err  error
}

// start starts a process.
func start(as role) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(as)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(program), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text), as.Mark, "TMPDIR="+as.Temp)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errs
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.over)
	}()
	return p, nil
}

// errHangs is the error of a process whose fleet does not close.
var errHangs = errors.New("the process does not end")

// end lets a process end in order.
func (p *process) end() error {
	_ = p.in.Close() // it may have ended
	select {
	case <-p.over:
	case <-time.After(bound):
		p.kill()
		return errHangs
	}
	if p.err != nil {
		return fmt.Errorf("the process ends with %w: %s", p.err, p.errs.String())
	}
	return nil
}

// kill ends it at once.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.over
}

// untilDead waits until the first process has died, or both prompts are answered without
// that.
func (r *run) untilDead(ctx context.Context, first *process) (dead bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		_, err := r.client.Wait(ctx, key, r.prompts[1])
		answered <- err
	}()
	select {
	case <-first.over:
	case err := <-answered:
		if err != nil {
			first.kill()
			return false, fmt.Errorf("%w: %s", err, first.errs.String())
		}
		err = first.end()
		if err == nil {
			return false, nil // it may also die when it gives the conversation up
		}
		if errors.Is(err, errHangs) {
			return true, fmt.Errorf("the first fleet does not close: %w: %s", err, first.errs.String())
		}
	}
	if first.cmd.ProcessState.Exited() {
		return true, fmt.Errorf("the first process ended by itself: %v: %s", first.err, first.errs.String())
	}
	return true, nil
}

// wait waits for both prompts, and returns how they stand.
func (r *run) wait(ctx context.Context) (all []fleet.Ticket) {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for _, id := range r.prompts {
		t, err := r.client.Wait(ctx, key, id)
		if err != nil && t.Error == "" {
			t.Error = err.Error()
		}
		all = append(all, t)
	}
	return all
}

// look gathers what there is to be seen at the end.
func (r *run) look(ctx context.Context, s *Story) (err error) {
	if s.Effects, err = readNotes(r.role.Effects); err != nil {
		return err
	}
	for q, err := range r.client.Approvals().List(ctx, approval.Filter{}) {
		if err != nil {
			return err
		}
		if q.ToolUseID != ruleCall {
			s.Questions = append(s.Questions, q)
		}
	}
	r.mu.Lock()
	s.Decided, err = r.decided, r.trouble
	r.mu.Unlock()
	r.mind.mu.Lock()
	s.Calls, s.Last = r.mind.made, string(r.mind.last)
	for _, said := range r.mind.list {
		s.Said = append(s.Said, texts(said)...)
	}
	r.mind.mu.Unlock()
	s.Left = leftProcesses(r.role.Mark)
	return err
}

// leftProcesses lists the processes with a mark that do not end by themselves.
func leftProcesses(mark string) (left []string) {
	for limit := time.Now().Add(10 * time.Second); ; <-time.After(20 * time.Millisecond) {
		if left = leak.MarkedBy(mark); len(left) == 0 || time.Now().After(limit) {
			return left
		}
	}
}

// texts returns the lines of a message: prompts and answers are of one line, and the CLI
// puts reminders around them.
func texts(m claudetest.ModelMessage) (all []string) {
	for line := range strings.Lines(m.Text) {
		all = append(all, strings.TrimSpace(line))
	}
	return all
}

// cut divides an entry of an environment.
func cut(entry string) (name, value string) {
	name, value, _ = strings.Cut(entry, "=")
	return name, value
}
