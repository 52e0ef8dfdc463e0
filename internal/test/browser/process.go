package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/claude-agent-go/claude/internal/test/long"
)

// process is a Chromium that is driven by the DevTools protocol over a pipe: JSON
// with a NUL byte after each message.
type process struct {
	w    io.Writer
	stop func()

	mu      sync.Mutex
	id      int
	waiting map[int]chan devtools
	tabs    map[string]*Browser // by their sessions
	closed  error
}

// Chromium is a browser that several tests share: a start takes more time than
// most tests do. Its zero value starts with the first tab. TestMain closes it.
type Chromium struct {
	mu  sync.Mutex
	dir string   // of the profiles
	p   *process // nil: not needed yet
}

// Open opens a tab, which is closed with the test. It shares nothing with other
// tabs: not cookies, nor storage, nor a cache.
func (c *Chromium) Open(t T) *Browser {
	t.Helper()
	return openTab(t, c.running(t))
}

// running returns the browser, another one if it has crashed.
func (c *Chromium) running(t T) *process {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.p != nil && !c.p.gone() {
		return c.p
	}
	if c.p != nil {
		c.p.stop()
	}
	var err error
	if c.dir == "" {
		c.dir, err = os.MkdirTemp("", "browser")
	}
	profile := ""
	if err == nil {
		profile, err = os.MkdirTemp(c.dir, "profile")
	}
	if err != nil {
		t.Fatal(err)
	}
	c.p = start(t, profile)
	return c.p
}

// Close ends the browser and removes its files. Without one it does nothing.
func (c *Chromium) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.p != nil {
		c.p.stop()
		c.p = nil
	}
	if c.dir == "" {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// chromium finds the browser, for a test of the long level.
func chromium(t T) string {
	t.Helper()
	long.Test(t, "needs a browser")
	for _, name := range []string{os.Getenv("CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("no Chromium: install the package chromium, or name the program in CHROMIUM")
	return ""
}

// start starts a browser with its profile in a folder.
func start(t T, profile string) *process {
	t.Helper()
	path := chromium(t)
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	p := &process{w: in, waiting: make(map[int]chan devtools), tabs: make(map[string]*Browser)}
	go p.read(out)
	p.stop = func() {
		p.send("", "Browser.close", nil)
		gone := make(chan struct{})
		go func() { cmd.Wait(); close(gone) }()
		select {
		case <-gone: // before the folder of its profile is removed
		case <-time.After(15 * time.Second):
			cancel()
			<-gone
		}
		cancel()
		in.Close()
		out.Close()
	}
	return p
}

// gone reports whether the browser has ended.
func (p *process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed != nil
}

// enter lets a tab hear its events.
func (p *process) enter(b *Browser) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tabs[b.session] = b
}

func (p *process) leave(session string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.tabs, session)
}

// read takes the output of the browser.
func (p *process) read(r io.Reader) {
	var rest []byte
	chunk := make([]byte, 1<<16)
	for {
		n, err := r.Read(chunk)
		rest = append(rest, chunk[:n]...)
		for {
			line, after, ok := bytes.Cut(rest, []byte{0})
			if !ok {
				break
			}
			var m devtools
			if json.Unmarshal(line, &m) == nil {
				p.handle(m)
			}
			rest = append([]byte(nil), after...)
		}
		if err != nil {
			p.mu.Lock()
			p.closed = err
			for _, w := range p.waiting {
				close(w)
			}
			p.waiting = nil
			p.mu.Unlock()
			return
		}
	}
}

func (p *process) handle(m devtools) {
	p.mu.Lock()
	w, tab := p.waiting[m.ID], p.tabs[m.Session]
	delete(p.waiting, m.ID)
	p.mu.Unlock()
	switch {
	case m.ID != 0 && w != nil:
		w <- m
	case m.ID == 0 && tab != nil:
		tab.mu.Lock()
		tab.events = append(tab.events, m)
		tab.mu.Unlock()
	}
}

// send sends a command and returns where its answer will be.
func (p *process) send(session, method string, params any) (<-chan devtools, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed != nil {
		return nil, fmt.Errorf("the browser has gone: %w", p.closed)
	}
	p.id++
	if params == nil {
		params = struct{}{}
	}
	command := map[string]any{"id": p.id, "method": method, "params": params}
	if session != "" {
		command["sessionId"] = session
	}
	line, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	w := make(chan devtools, 1)
	p.waiting[p.id] = w
	_, err = p.w.Write(append(line, 0))
	return w, err
}

// call performs a command and decodes its result.
func (p *process) call(session, method string, params, result any) error {
	answer, err := p.send(session, method, params)
	if err != nil {
		return err
	}
	select {
	case m, ok := <-answer:
		switch {
		case !ok:
			return errors.New("the browser has gone")
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case result != nil:
			return json.Unmarshal(m.Result, result) // names in any case
		}
		return nil
	case <-time.After(2 * time.Minute):
		return errors.New("no answer")
	}
}
