//go:build unix

package natsfleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet"
	"github.com/claude-agent-go/claude/fleet/natsfleet/natstest"
	"github.com/claude-agent-go/claude/store"
)

// bare is a store without leases.
func bare() store.Sessions { return store.Basic{} }

// A store that cannot keep the transcripts of a fleet is refused, and so is a fleet
// that keeps them somewhere else.
func TestTranscriptsAreRefused(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	o := natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet()}
	without := o
	without.Transcripts = bare()
	for name, open := range map[string]func(natsfleet.Options) error{
		"Connect": func(o natsfleet.Options) error { _, err := natsfleet.Connect(t.Context(), o); return err },
		"StartWorker": func(o natsfleet.Options) error {
			_, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{Options: o})
			return err
		},
	} {
		if err := open(without); err == nil || !strings.Contains(err.Error(), "Options.Transcripts: a store.Basic cannot be used: claude: store: the store cannot give out leases") {
			t.Errorf("%s with a store that has no leases: %v", name, err)
		}
	}
	both := o
	both.Transcripts, both.Archive = store.Memory(), store.Memory()
	for want, change := range map[string]func(*natsfleet.Options){
		"Options.Archive: a store.Basic cannot be used":              func(o *natsfleet.Options) { o.Archive = bare() },
		"Options.Archive and Options.Transcripts exclude each other": func(o *natsfleet.Options) { *o = both },
		"Options.ArchiveAfter needs Options.Archive":                 func(o *natsfleet.Options) { o.ArchiveAfter = time.Hour },
		"Options.ArchiveAfter is negative":                           func(o *natsfleet.Options) { o.Archive, o.ArchiveAfter = store.Memory(), -1 },
	} {
		bad := o
		change(&bad)
		if _, err := natsfleet.OpenStore(t.Context(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	in, out := o, o
	in.Name, out.Name = "in", "out"
	with := func(o natsfleet.Options) natsfleet.Options {
		o.Transcripts = store.Files(t.TempDir())
		return o
	}
	for _, c := range []struct {
		first, then natsfleet.Options
		want        string
	}{
		{in, with(in), "keeps them in the stream, so Options.Transcripts must be nil"},
		{with(out), out, "keeps them in a store of their own, which Options.Transcripts must name"},
	} {
		s, err := natsfleet.OpenStore(t.Context(), c.first)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := natsfleet.OpenStore(t.Context(), c.then); !errors.Is(err, natsfleet.ErrOtherTranscripts) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
}

// party is a potential owner of a conversation, with the store of its transcripts.
type party struct {
	*natsfleet.Store
	outside *watched
	t       *testing.T
}

func newParty(t *testing.T, url, dir string) *party {
	t.Helper()
	w := newWatched(dir, nil)
	s, err := natsfleet.OpenStore(t.Context(), natsfleet.Options{URL: url, Transcripts: w, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &party{s, w, t}
}

func (p *party) try(who string) (store.Lease, error) {
	return p.Acquire(p.t.Context(), "p", "conversation", who, chainTTL)
}

// own takes the lease, as soon as its present owner's has expired.
func (p *party) own(who string) store.Lease {
	p.t.Helper()
	for limit := time.Now().Add(bound); ; {
		l, err := p.try(who)
		held, ok := errors.AsType[*store.HeldError](err)
		switch {
		case err == nil:
			return l
		case !ok || time.Now().After(limit):
			p.t.Fatalf("%s: %v", who, err)
		case held.For > chainTTL:
			p.t.Fatalf("%s is locked out for %v, and a lease lasts %v", who, held.For, chainTTL)
		}
		<-time.After(held.For)
	}
}

// writes reports whether the party can write to the store of the transcripts, and
// to the stream.
func (p *party) writes(l store.Lease) (outside, stream error) {
	line := fmt.Appendf(nil, `{"uuid":%q}`, newID())
	outside = p.Append(p.t.Context(), chainKey, store.Batch{ID: newID(), Fence: l.Fence, Entries: []store.Entry{line}})
	_, stream = store.Put(p.t.Context(), p, store.RecordKey{Project: "p", Kind: "k", Name: "n-" + newID()}, []byte("x"), 0, l.Fence)
	return outside, stream
}

func (p *party) wants(who string, l store.Lease, want error) {
	p.t.Helper()
	outside, stream := p.writes(l)
	if !errors.Is(outside, want) || !errors.Is(stream, want) {
		p.t.Errorf("%s writes: %v to its transcripts, %v to the stream; want %v", who, outside, stream, want)
	}
}

// An owner whose lease was taken can write neither to the stream nor to the store of
// its transcripts. The stores themselves refuse it.
func TestReplacedOwnerWritesNowhere(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	dir := t.TempDir()
	a, b := newParty(t, c.URL(), dir), newParty(t, c.URL(), dir)
	first := a.own("a")
	a.wants("a", first, nil)
	second := b.own("b") // when the first has expired
	for range 3 {
		a.wants("a", first, store.ErrLeaseLost)
	}
	if n := a.outside.refused.Load(); n == 0 {
		t.Error("the store of the transcripts has refused nothing itself")
	}
	if err := a.Renew(t.Context(), first); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("a renews: %v", err)
	}
	if err := a.Release(t.Context(), first); err != nil {
		t.Errorf("a releases: %v", err)
	}
	if err := b.Renew(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	b.wants("b", second, nil)
	// A process that has only the value of the lease can use it.
	newParty(t, c.URL(), dir).wants("somebody with the lease of b", second, nil)
	if err := b.Release(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	b.wants("b", second, store.ErrLeaseLost)
	if third, err := a.try("a"); err != nil {
		t.Errorf("a lease that was given back: %v", err)
	} else {
		a.wants("a", third, nil)
	}
}

// If only the lease outside is lost, ownership is lost: the next renewal reports
// it.
func TestLeaseLostOutside(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	a := newParty(t, c.URL(), t.TempDir())
	l := a.own("a")
	if err := a.outside.besideStore.Release(t.Context(), store.Lease{Fence: store.Fence{Project: "p", Name: "conversation", Token: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := a.Renew(t.Context(), l); !errors.Is(err, store.ErrLeaseLost) {
		t.Errorf("it renews: %v", err)
	}
	if outside, _ := a.writes(l); !errors.Is(outside, store.ErrLeaseLost) {
		t.Errorf("it writes: %v", outside)
	}
}

// A process that is suspended between the steps of taking a lease, and resumes
// when another has taken it, does not get it, and does not disturb its owner.
func TestPausedBetweenTheLeases(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"before Acquire", "after Acquire"} {
		t.Run(when, func(t *testing.T) {
			c := natstest.Start(t, natstest.Options{})
			dir := t.TempDir()
			a, b := newParty(t, c.URL(), dir), newParty(t, c.URL(), dir)
			asleep, wake := make(chan struct{}), make(chan struct{})
			a.outside.on(when, func() { close(asleep); <-wake })
			result := make(chan error, 1)
			go func() {
				_, err := a.try("a")
				result <- err
			}()
			<-asleep
			second := b.own("b")
			if err := b.Renew(t.Context(), second); err != nil {
				t.Fatal(err)
			}
			close(wake)
			if err := <-result; !errors.Is(err, store.ErrLeased) {
				t.Errorf("a, who woke up late: %v; want %v", err, store.ErrLeased)
			}
			b.wants("b", second, nil)
		})
	}
}

// An owner that was replaced in the stream, and renews its lease, does not make it last
// longer outside: its successor waits for it there.
func TestReplacedOwnerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	dir := t.TempDir()
	a, b := newParty(t, c.URL(), dir), newParty(t, c.URL(), dir)
	first := a.own("a")
	if err := a.Renew(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	a.outside.on("before Renew", func() { t.Error("it was renewed outside") })
	b.outside.on("before Acquire", func() {
		if err := a.Renew(t.Context(), first); !errors.Is(err, store.ErrLeaseLost) {
			t.Errorf("a renews: %v", err)
		}
	})
	b.wants("b", b.own("b"), nil)
}

// While the store of the transcripts is down, no party gets a lease, and none is
// locked out afterwards.
func TestOutsideIsDown(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	a := newParty(t, c.URL(), t.TempDir())
	start, err := a.outside.stop()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.try("a"); !errors.Is(err, errDown) {
		t.Errorf("Acquire: %v", err)
	}
	start()
	l, err := a.try("a")
	if err != nil {
		t.Fatalf("when it is there again: %v", err)
	}
	if start, err = a.outside.stop(); err != nil {
		t.Fatal(err)
	}
	if err := a.Renew(t.Context(), l); !errors.Is(err, errDown) {
		t.Errorf("Renew: %v", err)
	}
	if err := a.Release(t.Context(), l); !errors.Is(err, errDown) {
		t.Errorf("Release: %v", err)
	}
	start()
	a.own("a")
}

// outsidePoints are the moments at which a worker is killed that keeps its transcripts
// outside: before and after each call of that store, and what it stores in between.
var outsidePoints = []struct {
	name string
	at   diePoint
}{
	{"lease taken in the stream only", diePoint{Call: "Acquire"}},
	{"both leases taken, epoch not begun", diePoint{Call: "Acquire", After: true}},
	{"epoch begun", diePoint{Before: sendsGuard}},
	{"turn begun, nothing stored", diePoint{Call: "Append"}},
	{"entries stored, not announced", diePoint{Call: "Append", After: true}},
	{"between two batches", diePoint{Call: "Append", Times: 1}},
	{"turn stored, no outcome", diePoint{Before: sendsOutcome}},
	{"queue empty, both leases held", diePoint{Call: "Release"}},
	{"lease given back outside only", diePoint{Call: "Release", After: true}},
	{"epoch ended, lease held", diePoint{Before: freesLease}},
}

// A worker that keeps its transcripts outside is killed at each point. Another one
// answers what it has left, once and in order.
func TestWorkerDiesOutside(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	var wg sync.WaitGroup
	defer wg.Wait()
	slots := make(chan struct{}, 4)
	for i, p := range outsidePoints {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(p.name, func(t *testing.T) {
				dieAt(t, c.URL(), fmt.Sprint("outside-", i), beside{Transcripts: t.TempDir()}, p.at, false)
			})
		})
	}
}

// startOutside starts a worker that keeps its transcripts outside.
func startOutside(t *testing.T, url, dir string, reply func(*claudetest.ModelCall) claudetest.Reply) *natsfleet.Worker {
	t.Helper()
	cli := claudetest.NewCLI(&claudetest.Script{Model: reply})
	w, err := natsfleet.StartWorker(t.Context(), natsfleet.WorkerOptions{
		Options: beside{Transcripts: dir}.options(natsfleet.Options{URL: url, Project: "p", Logger: quiet()}, nil),
		Fleet: fleet.Options{TTL: leaseTime, Journal: t.TempDir(), Session: func(context.Context, string) (*claude.Options, error) {
			return &claude.Options{Transport: cli, Cwd: "/work", Env: []string{"HOME=/home/a"}, Logger: quiet()}, nil
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, w) })
	return w
}

// freeze suspends the process that runs a conversation, between two calls of the store
// in a folder: in the middle of one it would hold a file lock, and block the others
// until it resumes.
func freeze(t *testing.T, p *process, dir string) {
	t.Helper()
	look := func(patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := store.Files(dir).Acquire(ctx, "p", "fleet/c/ada", "nobody", time.Millisecond)
		if err == nil {
			t.Fatal("the process has no lease")
		}
		return err
	}
	for p.signal(syscall.SIGSTOP); !errors.Is(look(200*time.Millisecond), store.ErrLeased); p.signal(syscall.SIGSTOP) {
		p.signal(syscall.SIGCONT)
		if err := look(time.Minute); !errors.Is(err, store.ErrLeased) {
			t.Fatal(err)
		}
	}
}

// A worker that is suspended past its lease stores nothing when it wakes up, outside
// either.
func TestWorkerSuspendedOutside(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Options{})
	b := beside{Transcripts: t.TempDir()}
	client, err := natsfleet.Connect(t.Context(), b.options(natsfleet.Options{URL: c.URL(), Project: "p", Logger: quiet()}, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, client)
	p := startWorkerProcess(t, workerRole{URL: c.URL(), Beside: b})
	first, err := client.Send(t.Context(), "ada", fleet.Prompt{Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	p.says("asked hello")
	freeze(t, p, b.Transcripts)
	startOutside(t, c.URL(), b.Transcripts, heard)
	accepted := map[string][]sent{"ada": {{first, "hello"}}}
	say := func(text string) {
		id, err := persist(t.Context(), client, "ada", text)
		if err != nil {
			t.Fatal(err)
		}
		accepted["ada"] = append(accepted["ada"], sent{id, text})
		ends(t, client, "ada", id)
	}
	say("again")
	p.signal(syscall.SIGCONT)
	p.says("aborted")
	say("more")
	judge(t, c.URL(), "", b, accepted)
}
