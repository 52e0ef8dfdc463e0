package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
	"github.com/claude-agent-go/claude/internal/test/realcli"
)

// The values of a feature on a page.
const (
	yes     = "yes"
	no      = "-"
	unclear = "?"
)

// measured holds the features of one version, by name.
type measured struct {
	version    string
	features   map[string]string
	operations map[string]string
}

// bound is how long a CLI has for one probe. Old ones start slowly.
const bound = 60 * time.Second

func newMeasured(version string) *measured {
	return &measured{version, make(map[string]string), make(map[string]string)}
}

// measure tries everything on the version at path.
func (m *measured) measure(ctx context.Context, path string) error {
	if err := m.probe(ctx, path, func(string) bool { return true }); err != nil {
		return err
	}
	if m.features[connectProbe] != yes {
		for _, op := range operations() {
			m.operations[op.Subtype] = no
		}
		return nil
	}
	_, err := runProbe(ctx, path, func(ctx context.Context, b *probeRun) (bool, error) {
		b.opts.FileCheckpointing = true
		s, err := claude.Connect(ctx, b.opts)
		if err != nil {
			return false, err
		}
		defer s.Close()
		if _, err := s.Ask(ctx, "hello"); err != nil {
			return false, err
		}
		tryOperations(ctx, s, m)
		return true, nil
	})
	return err
}

// probe tries the chosen features. A version without sessions is known by its
// connectProbe, which comes before everything that needs one.
func (m *measured) probe(ctx context.Context, path string, chosen func(feature string) bool) error {
	for _, p := range probes() {
		if !chosen(p.name) {
			continue
		}
		if p.session && m.features[connectProbe] != yes {
			m.features[p.name] = no
			continue
		}
		ok, err := runProbe(ctx, path, p.run, p.replies...)
		if errors.Is(err, errPrepare) || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		m.features[p.name] = verdict(ok, err)
		fmt.Fprintf(os.Stderr, "%s: %s: %s %v\n", m.version, p.name, m.features[p.name], err)
	}
	return nil
}

// tryOperations sends all operations at once: a CLI that does not know one may never
// say so.
func tryOperations(ctx context.Context, s *claude.Session, m *measured) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var mu sync.Mutex
	var group sync.WaitGroup
	for _, op := range operations() {
		group.Go(func() {
			err := s.Control(ctx, op.Subtype, harmless(op), nil)
			refusal, refused := errors.AsType[*claude.ControlError](err)
			known := err == nil || refused && refusal.Err == nil && !unknown(refusal)
			mu.Lock()
			defer mu.Unlock()
			m.operations[op.Subtype] = verdict(known, nil)
		})
	}
	group.Wait()
}

// verdict is "?" where the bound of the probe itself has passed: a slow machine
// proves nothing.
func verdict(ok bool, err error) string {
	switch {
	case ok && err == nil:
		return yes
	case errors.Is(err, context.DeadlineExceeded):
		return unclear
	}
	return no
}

// probeRun is a CLI of its own for one probe.
type probeRun struct {
	model *claudetest.Model
	dir   string
	opts  *claude.Options
}

// errPrepare means that the probe could not even begin.
var errPrepare = errors.New("could not prepare the probe")

func runProbe(ctx context.Context, path string, run func(context.Context, *probeRun) (bool, error), replies ...claudetest.Reply) (bool, error) {
	scratch, err := os.MkdirTemp("", "compat-")
	if err != nil {
		return false, errors.Join(errPrepare, err)
	}
	defer os.RemoveAll(scratch)
	model := claudetest.NewModel(replies...)
	url, err := model.Start()
	if err != nil {
		return false, errors.Join(errPrepare, err)
	}
	defer model.Close()
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	env, _ := realcli.Env(scratchTB{ctx, scratch}, url)
	dir := filepath.Join(scratch, "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return false, errors.Join(errPrepare, err)
	}
	return run(ctx, &probeRun{model, dir, &claude.Options{
		CLIPath: path, Env: env, Cwd: dir, Transport: plainTransport{},
		Timeouts: claude.Timeouts{Initialize: 40 * time.Second, Rewind: 10 * time.Second, Control: 10 * time.Second},
	}})
}

// scratchTB implements the part of a test that realcli.Env needs.
type scratchTB struct {
	ctx context.Context
	dir string
}

func (scratchTB) Helper()                    {}
func (scratchTB) Name() string               { return "compat" }
func (h scratchTB) Context() context.Context { return h.ctx }
func (h scratchTB) TempDir() string          { return h.dir }
func (scratchTB) Skipf(string, ...any)       {}

func (scratchTB) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
