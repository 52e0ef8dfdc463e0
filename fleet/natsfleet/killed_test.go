//go:build unix

package natsfleet_test

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// process is another process that reports its actions.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out chan string
	end chan struct{} // closed when it has ended
}

// startWorkerProcess starts a worker in another process.
func startWorkerProcess(t *testing.T, r workerRole) *process {
	t.Helper()
	if r.Journal == "" {
		r.Journal = t.TempDir()
	}
	if r.TTL == 0 {
		r.TTL = leaseTime
	}
	p := startProcess(t, roles{Worker: &r})
	p.says("started")
	return p
}

func startProcess(t *testing.T, r roles) *process {
	t.Helper()
	cmd := r.command()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{t, cmd, stdin, make(chan string, 1000), make(chan struct{})}
	go func() {
		defer close(p.end)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			p.out <- lines.Text()
		}
		_ = cmd.Wait() // how it ends is the test's doing
		close(p.out)
	}()
	t.Cleanup(p.kill)
	return p
}

// kill ends it at once, and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // it may have ended
	_ = p.cmd.Process.Kill()
	<-p.end
}

// says waits for a line that begins so, and returns the rest of it.
func (p *process) says(want string) (rest string) {
	p.t.Helper()
	limit := time.After(bound)
	for {
		select {
		case line, ok := <-p.out:
			if rest, found := strings.CutPrefix(line, want); found {
				return rest
			}
			if !ok {
				p.t.Fatalf("the process has ended, and did not say %q", want)
			}
		case <-limit:
			p.t.Fatalf("the process does not say %q", want)
		}
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// takeover is how long it may take, after a lease has expired, until another worker has
// finished a short turn of its conversation. It takes about a second; a machine with far
// too much to do needs longer.
const takeover = 15 * time.Second

// A worker that is killed in the middle of a turn is replaced when its lease has
// expired, and the turn is finished elsewhere. That does not wait for the next look at the
// store, which others only take now and then.
func TestWorkerKilled(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{Nodes: 3})
	client := connect(t, c.URL())
	p := startWorkerProcess(t, workerRole{URL: c.URL()})
	id, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	p.says("asked hello")
	startWorker(t, c.URL(), heard, func(o *fleet.Options) { o.Poll = time.Hour })
	p.signal(syscall.SIGKILL)
	begin := time.Now()
	text, err := answer(t.Context(), client, "ada", "again")
	if err != nil || text != "heard hello, again" {
		t.Errorf("%q, %v", text, err)
	}
	if took := time.Since(begin); took > leaseTime+takeover {
		t.Errorf("another worker has finished both turns %v after the kill; the lease lasts %v", took, leaseTime)
	} else {
		t.Logf("another worker has finished both turns %v after the kill; the lease lasts %v", took, leaseTime)
	}
	if o, err := client.Prompt(t.Context(), "ada", id); err != nil || o.Status != fleet.PromptAnswered || o.Text != "heard hello" {
		t.Errorf("the prompt of the dead: %+v, %v", o, err)
	}
}

// A prompt that kills every worker that begins it is not passed on for ever: it is
// listed as stuck, with the reason, until an operator lets it be retried.
func TestPoison(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	client := connect(t, c.URL())
	id, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "poison"})
	if err != nil {
		t.Fatal(err)
	}
	const attempts = 2
	closed := make(chan struct{})
	close(closed)
	for range attempts {
		p := startWorkerProcess(t, workerRole{URL: c.URL(), Answers: true, TTL: 5 * time.Second, Attempts: attempts, DieAt: &diePoint{Before: sendsEntries}})
		p.dies(closed)
	}
	var asked atomic.Int64
	startWorker(t, c.URL(), func(call *claudetest.ModelCall) claudetest.Reply {
		asked.Add(1)
		return heard(call)
	}, func(o *fleet.Options) { o.Attempts = attempts })
	var last error
	for _, err := range client.RunPrompt(t.Context(), "ada", fleet.Prompt{ID: id, Text: "known"}) {
		last = err
	}
	if stuck, ok := errors.AsType[*fleet.StuckError](last); !ok || stuck.Prompt != id || asked.Load() != 0 {
		t.Fatalf("the third worker was asked %d times, and the prompt is %v", asked.Load(), last)
	}
	for info, err := range client.List(t.Context()) {
		if err != nil || info.Key != "ada" || info.State != fleet.StateStuck || info.Stuck == "" {
			t.Errorf("in the list: %+v, %v", info, err)
		}
	}
	if err := client.Retry(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if o := ends(t, client, "ada", id); o.Text != "heard poison" || asked.Load() != 1 {
		t.Errorf("tried again: %+v, asked %d times", o, asked.Load())
	}
}

// A worker that is suspended for longer than its lease, and wakes up when another
// has taken its place, stores nothing and kills its CLIs. What it tries is refused,
// and counted.
func TestWorkerSuspended(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	client := connect(t, c.URL())
	p := startWorkerProcess(t, workerRole{URL: c.URL()})
	accepted := make(map[string][]sent)
	say := func(key, text string) string {
		id, err := persist(t.Context(), client, key, text)
		if err != nil {
			t.Fatal(err)
		}
		accepted[key] = append(accepted[key], sent{id, text})
		return id
	}
	keys := []string{"ada", "bob", "acme/cy", "acme/dan"}
	for _, key := range keys {
		say(key, "hello")
		p.says("asked hello")
	}
	p.signal(syscall.SIGSTOP)
	w := startWorker(t, c.URL(), heard, nil)
	before := make(map[string]string)
	for _, key := range keys {
		if o := ends(t, client, key, say(key, "again")); o.Text != "heard hello, again" {
			t.Fatalf("%+v", o)
		}
		before[key] = transcript(t, c.URL(), client, key)
	}
	p.signal(syscall.SIGCONT)
	p.gaveUp(keys)
	for _, key := range keys {
		if o := ends(t, client, key, say(key, "more")); o.Text != "heard hello, again, more" {
			t.Errorf("%+v", o)
		}
	}
	shut(t, w)
	for key, was := range before {
		if now := transcript(t, c.URL(), client, key); !strings.HasPrefix(now, was) || strings.Contains(now, "other process") {
			t.Errorf("the transcript of %s was changed:\n%s\nbefore:\n%s", key, now, was)
		}
	}
	judge(t, c.URL(), "", beside{}, accepted)
}

// gaveUp waits until a worker has ended the CLIs of some conversations, and the store
// has refused something that it tried, in each of them.
func (p *process) gaveUp(keys []string) {
	p.t.Helper()
	refused := make(map[string]int)
	for aborted := 0; aborted < len(keys) || len(refused) < len(keys); {
		line := p.says("")
		if key, ok := strings.CutPrefix(line, "refused "); ok {
			refused[key]++
		} else if line == "aborted" {
			aborted++
		}
	}
	p.t.Logf("refusals: %v", refused)
}

// transcript reads the transcript of a conversation.
func transcript(t *testing.T, url string, f fleet.Conversations, key string) string {
	t.Helper()
	info, err := f.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for e, err := range store.Entries(t.Context(), openStore(t, url), store.Key{Project: "p", Session: info.Session}) {
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		all.Write(e)
		all.WriteByte('\n')
	}
	return all.String()
}
