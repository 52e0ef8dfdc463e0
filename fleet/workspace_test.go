package fleet_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/host"
	"github.com/claude-agent-go/claude/message"
	"github.com/claude-agent-go/claude/store"
	"github.com/claude-agent-go/claude/workspace"
)

// noter is a CLI whose tool adds a line to a file in its working directory and returns
// the contents of the file.
type noter struct {
	*claudetest.CLI
	dir atomic.Value // where it was started last
}

func newNoter() *noter {
	n := new(noter)
	n.CLI = claudetest.NewCLI(&claudetest.Script{
		Model: func(c *claudetest.ModelCall) claudetest.Reply {
			if len(c.ToolResults) > 0 {
				return claudetest.Say(c.ToolResults[0].Text)
			}
			return claudetest.UseTool("Bash", map[string]string{"command": c.Prompt})
		},
		Tools: map[string]host.RunFunc{"Bash": func(_ context.Context, input json.RawMessage) (host.ToolOutput, error) {
			var in struct{ Command string }
			if err := json.Unmarshal(input, &in); err != nil {
				return host.ToolOutput{}, err
			}
			path := filepath.Join(n.dir.Load().(string), "log")
			before, _ := os.ReadFile(path)
			text := string(before) + in.Command + " "
			return host.TextOutput(text), os.WriteFile(path, []byte(text), 0o600)
		}},
	})
	return n
}

func (n *noter) Start(ctx context.Context, l *claude.Launch) (claude.Conn, error) {
	n.dir.Store(l.Dir)
	return n.CLI.Start(ctx, l)
}

// lastResult reads to the end and returns the text of the result.
func lastResult(stream iter.Seq2[message.Message, error]) (text string, err error) {
	for m, e := range stream {
		if r, ok := m.(*message.Result); ok {
			text = r.Text
		}
		err = e
	}
	return text, err
}

// allowed lets the conversations of a fleet call the tool.
func allowed(o *fleet.Options) {
	inner := o.Session
	o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
		opts, err := inner(ctx, key)
		opts.AllowedTools = []string{"Bash"}
		return opts, err
	}
}

// travelling is a workspace on a machine of its own.
func travelling(t *testing.T, db *store.MemoryStore, blobs workspace.Blobs) (p *workspace.Snapshots, root string) {
	t.Helper()
	root = t.TempDir()
	p, err := workspace.NewSnapshots(workspace.SnapshotOptions{Root: root, Records: db, Project: "p", Blobs: blobs})
	if err != nil {
		t.Fatal(err)
	}
	return p, root
}

// A conversation works on one machine, wakes on another with its files, and comes back.
func TestWorkspaceTravels(t *testing.T) {
	db, blobs := store.Memory(), workspace.FileBlobs(t.TempDir())
	first, firstRoot := travelling(t, db, blobs)
	second, secondRoot := travelling(t, db, blobs)
	want := ""
	for i, m := range []struct {
		files *workspace.Snapshots
		root  string
	}{{first, firstRoot}, {second, secondRoot}, {first, firstRoot}} {
		cli := newNoter()
		f := open(t, db, cli, func(o *fleet.Options) {
			allowed(o)
			o.Workspace = m.files
		})
		word := []string{"one", "two", "three"}[i]
		want += word + " "
		got, err := lastResult(f.Run(t.Context(), "acme/ada", word))
		if err != nil || got != want {
			t.Errorf("machine %d answers %q, %v, want %q", i, got, err, want)
		}
		if dir := cli.dir.Load().(string); !strings.HasPrefix(dir, m.root) {
			t.Errorf("machine %d works in %s", i, dir)
		}
		// The answer comes after the save: a machine that dies now has lost nothing.
		third, _ := travelling(t, db, blobs)
		d, err := third.Open(t.Context(), "acme/ada")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(d.Path(), "log")); err != nil || string(text) != want {
			t.Errorf("when machine %d has answered, the snapshot has %q, %v", i, text, err)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	f := open(t, db, newNoter(), func(o *fleet.Options) { o.Workspace = second })
	if err := f.Delete(t.Context(), "acme/ada"); err != nil {
		t.Fatal(err)
	}
	third, _ := travelling(t, db, blobs)
	d, err := third.Open(t.Context(), "acme/ada")
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(d.Path()); len(left) > 0 {
		t.Errorf("a deleted conversation has left %v", left)
	}
	if left, _ := os.ReadDir(secondRoot); len(left) > 0 {
		t.Errorf("the machine that has deleted it has %v", left)
	}
}

// brokenFiles opens folders that cannot be saved, or none.
type brokenFiles struct {
	workspace.Provider
	opens  error
	closed atomic.Int32
}

type brokenDir struct {
	workspace.Workdir
	p *brokenFiles
}

func (p *brokenFiles) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	if p.opens != nil {
		return nil, p.opens
	}
	d, err := p.Provider.Open(ctx, key)
	return brokenDir{d, p}, err
}

func (brokenDir) Save(context.Context, store.Fence) error { return errors.New("the disk is full") }

func (d brokenDir) Close() error {
	d.p.closed.Add(1)
	return d.Workdir.Close()
}

// A save that fails does not fail the turn, a folder that cannot be opened does; the
// function that makes the options sees the folder, and it is closed in the end.
func TestBrokenWorkspace(t *testing.T) {
	db := store.Memory()
	p := &brokenFiles{Provider: workspace.Folders(t.TempDir())}
	cli := newNoter()
	var seen atomic.Value
	f := open(t, db, cli, func(o *fleet.Options) {
		allowed(o)
		o.Workspace = p
		inner := o.Session
		o.Session = func(ctx context.Context, key string) (*claude.Options, error) {
			if d := workspace.From(ctx); d != nil {
				seen.Store(d.Path())
			}
			return inner(ctx, key)
		}
	})
	if got, err := lastResult(f.Run(t.Context(), "k", "one")); err != nil || got != "one " {
		t.Errorf("answer %q, %v", got, err)
	}
	if seen.Load() == nil || seen.Load() != cli.dir.Load() {
		t.Errorf("the options were made for %v, and the CLI works in %v", seen.Load(), cli.dir.Load())
	}
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if p.closed.Load() != 1 {
		t.Errorf("the folder was closed %d times", p.closed.Load())
	}
	p = &brokenFiles{Provider: p.Provider, opens: errors.New("no such machine")}
	f = open(t, db, newNoter(), func(o *fleet.Options) { o.Workspace, o.Attempts = p, 1 })
	if _, err := lastResult(f.Run(t.Context(), "k", "two")); err == nil || !strings.Contains(err.Error(), "no such machine") {
		t.Errorf("error = %v", err)
	}
}

// A conversation that is deleted by a process without folders, or with those of another kind,
// does not leave its files to the next that has its key.
func TestDeleteWithoutWorkspace(t *testing.T) {
	for name, elsewhere := range map[string]workspace.Provider{"without folders": nil, "with others": workspace.Folders(t.TempDir())} {
		t.Run(name, func(t *testing.T) { deleteElsewhere(t, elsewhere) })
	}
}

func deleteElsewhere(t *testing.T, elsewhere workspace.Provider) {
	db, blobs := store.Memory(), workspace.FileBlobs(t.TempDir())
	files, root := travelling(t, db, blobs)
	f := open(t, db, newNoter(), func(o *fleet.Options) {
		allowed(o)
		o.Workspace = files
	})
	if _, err := lastResult(f.Run(t.Context(), "k", "one")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	f = open(t, db, newNoter(), func(o *fleet.Options) { o.Workspace = elsewhere })
	if err := f.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	other, _ := travelling(t, db, blobs)
	for _, p := range []*workspace.Snapshots{files, other} {
		d, err := p.Open(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		if left, _ := os.ReadDir(d.Path()); len(left) > 0 {
			t.Errorf("the folder in %s has %v", root, left)
		}
	}
}

// slowFiles are folders whose saves wait.
type slowFiles struct {
	workspace.Provider
	saving, saved chan struct{}
}

type slowDir struct {
	workspace.Workdir
	p *slowFiles
}

func (p *slowFiles) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	d, err := p.Provider.Open(ctx, key)
	return slowDir{d, p}, err
}

func (d slowDir) Save(context.Context, store.Fence) error {
	d.p.saving <- struct{}{}
	<-d.p.saved
	return nil
}

// The files are saved before any watcher gets the answer.
func TestSavedBeforeTheAnswer(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := &slowFiles{workspace.Folders(root), make(chan struct{}), make(chan struct{})}
		f := open(t, store.Memory(), newNoter(), func(o *fleet.Options) {
			allowed(o)
			o.Workspace = p
		})
		var heard atomic.Bool
		ended := make(chan error, 1)
		go func() {
			var last error
			for m, err := range f.Run(t.Context(), "k", "one") {
				if _, ok := m.(*message.Result); ok {
					heard.Store(true)
				}
				last = err
			}
			ended <- last
		}()
		<-p.saving
		synctest.Wait()
		if heard.Load() {
			t.Error("the answer is known before the files are saved")
		}
		p.saved <- struct{}{}
		if err := <-ended; err != nil || !heard.Load() {
			t.Errorf("heard %v, %v", heard.Load(), err)
		}
		go func() { // those of the CLI's end
			for range p.saving {
				p.saved <- struct{}{}
			}
		}()
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
		close(p.saving)
	})
}

// watchedFiles are folders that note how many CLIs run whenever one is saved.
type watchedFiles struct {
	workspace.Provider
	cli  *scripted
	mu   sync.Mutex
	live []int
}

type watchedDir struct {
	workspace.Workdir
	p *watchedFiles
}

func (p *watchedFiles) Open(ctx context.Context, key string) (workspace.Workdir, error) {
	d, err := p.Provider.Open(ctx, key)
	return watchedDir{d, p}, err
}

func (d watchedDir) Save(context.Context, store.Fence) error {
	live, _ := d.p.cli.counts()
	d.p.mu.Lock()
	defer d.p.mu.Unlock()
	d.p.live = append(d.p.live, live)
	return nil
}

// The files are saved once more when the CLI has ended, which may write until then. Those of
// a conversation that is being deleted are not saved.
func TestSavedAtTheEnd(t *testing.T) {
	root := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cli := newScripted()
		p := &watchedFiles{Provider: workspace.Folders(root), cli: cli}
		f := open(t, store.Memory(), cli, func(o *fleet.Options) { o.Workspace = p })
		defer closeFleet(t, f)
		ask(t, f, "k", "one")
		<-time.After(5 * time.Minute)
		saves := func() []int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return slices.Clone(p.live)
		}
		if got := saves(); len(got) == 0 || got[len(got)-1] != 0 {
			t.Errorf("CLIs that ran when the files were saved: %d", got)
		}
		release := cli.pause()
		defer release()
		send(t, f, "k", "two")
		before := len(saves())
		if err := f.Delete(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		if n := len(saves()); n != before {
			t.Errorf("a conversation that was deleted was saved %d times", n-before)
		}
	})
}

// deafFiles are folders whose removal takes until it is let go, whatever its context says.
type deafFiles struct {
	workspace.Provider
	stuck string
	free  chan struct{}
}

func (p *deafFiles) Remove(ctx context.Context, key string, fence store.Fence) error {
	if key == p.stuck {
		<-p.free
	}
	return p.Provider.Remove(ctx, key, fence)
}

// A removal that hangs holds up neither other deletions nor Close, and a later deletion
// completes it.
func TestDeleteHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := &deafFiles{workspace.Folders(t.TempDir()), "stuck", make(chan struct{})}
		db := store.Memory()
		with := func(o *fleet.Options) {
			allowed(o)
			o.Workspace = files
		}
		f := open(t, db, newNoter(), with)
		for _, key := range []string{"stuck", "quick"} {
			if _, err := lastResult(f.Run(t.Context(), key, "one")); err != nil {
				t.Fatal(err)
			}
		}
		held := make(chan error, 1)
		begin := time.Now()
		go func() { held <- f.Delete(t.Context(), "stuck") }()
		synctest.Wait()
		if err := f.Delete(t.Context(), "quick"); err != nil || time.Since(begin) > time.Minute {
			t.Errorf("the other one: %v after %v", err, time.Since(begin))
		}
		free := sync.OnceFunc(func() { close(files.free) })
		select {
		case err := <-held:
			if err == nil {
				t.Error("the one that hangs is deleted")
			}
		case <-time.After(3 * time.Minute):
			t.Error("the deletion has no bound")
			free()
		}
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
		free()
		synctest.Wait()
		f = open(t, db, newNoter(), with) // which completes what was begun
		if err := f.Delete(t.Context(), "stuck"); err != nil && !errors.Is(err, fleet.ErrUnknown) {
			t.Errorf("again: %v", err)
		}
		if err := f.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
