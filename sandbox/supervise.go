package sandbox

import (
	"archive/tar"
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/claude-agent-go/claude/internal/proc"
	"github.com/claude-agent-go/claude/internal/scratch"
)

// superviseWord is the first argument of a helper that gets a task on its standard
// input.
const superviseWord = "claude-sandbox-supervise"

// supervisedWord is that of a helper whose orphans another process collects.
const supervisedWord = "claude-sandbox-supervised"

// supervisor runs one CLI for a program elsewhere, and ends it with everything it has
// started when the connection ends or falls silent.
type supervisor struct {
	in      *bufio.Reader
	out     io.Writer
	errs    io.Writer
	silence time.Duration
	line    *listening
}

// running is a CLI, or why there is none, and what is to be undone when it has ended.
type running struct {
	child *proc.Process
	err   error
	undo  []func() error
}

// supervise returns the exit code of the CLI, or 125 with the step that failed on errs.
func supervise(in io.Reader, out, errs io.Writer, silence time.Duration) int {
	s := &supervisor{out: out, errs: errs, silence: silence, line: &listening{r: in, heard: make(chan struct{}, 1)}}
	s.in = bufio.NewReaderSize(s.line, 64<<10)
	code, err := s.run()
	if err != nil {
		fmt.Fprintf(errs, "sandbox: %v\n", err)
		return 125
	}
	return code
}

// listening reports that something was read.
type listening struct {
	r       io.Reader
	heard   chan struct{}
	reading atomic.Bool
}

func (l *listening) Read(b []byte) (int, error) {
	l.reading.Store(true)
	n, err := l.r.Read(b)
	l.reading.Store(false)
	if n > 0 {
		select {
		case l.heard <- struct{}{}:
		default:
		}
	}
	return n, err
}

// silent reports whether the other side is silent, and not this one busy: what it sends
// may lie there unread while files are placed or the CLI starts.
func (l *listening) silent() bool { return l.reading.Load() }

var errSilent = errors.New("nothing was heard for too long")

// run starts the CLI and passes its streams on until it has ended.
func (s *supervisor) run() (int, error) {
	quiet := time.NewTimer(s.silence)
	defer quiet.Stop()
	ready := make(chan running, 1)
	go func() {
		var r running
		r.err = s.start(&r)
		ready <- r
	}()
	for {
		select {
		case <-s.line.heard:
			quiet.Reset(s.silence)
		case <-quiet.C:
			if !s.line.silent() {
				quiet.Reset(s.silence)
				continue
			}
			// Nothing runs yet. The next helper removes the folder of this one.
			return 0, errSilent
		case r := <-ready:
			code := 0
			if r.err == nil {
				quiet.Reset(s.silence)
				code = s.watch(r.child, quiet)
			}
			for _, undo := range slices.Backward(r.undo) {
				r.err = errors.Join(r.err, undo())
			}
			return code, r.err
		}
	}
}

// start takes the task and starts the CLI.
func (s *supervisor) start(r *running) error {
	t, err := readTask(s.in)
	if err != nil {
		return err
	}
	if t.Forwarded {
		r.undo = append(r.undo, func() error { return removeSocket(t.API) })
	}
	files := new(scratch.Folder)
	r.undo = append(r.undo, files.Remove)
	dir, err := files.Dir("files")
	if err != nil {
		return fmt.Errorf("make a folder for the files: %w", err)
	}
	if err := unpack(&unchunk{r: s.in}, dir); err != nil {
		return fmt.Errorf("place the files: %w", err)
	}
	t = t.at(dir)
	env := t.environment(proc.Inherit(os.Environ()))
	if t.API != "" {
		b, address, err := listenForAPI(t.API)
		if err != nil {
			return fmt.Errorf("listen for the CLI: %w", err)
		}
		r.undo = append(r.undo, b.Close)
		env = redirected(env, address)
	}
	r.child, err = proc.Start(context.Background(), &proc.Command{Path: t.Path, Args: t.Args, Env: lastOnly(env), Dir: t.Dir, StderrTo: s.errs})
	if err != nil {
		return fmt.Errorf("start the CLI: %w", err)
	}
	return nil
}

// removeSocket removes a socket, which may be gone. Anything else stays.
func removeSocket(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().Type() != fs.ModeSocket {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the way to the API: %w", err)
	}
	return nil
}

// watch passes the streams on until the CLI has ended by itself or has to.
func (s *supervisor) watch(child *proc.Process, quiet *time.Timer) int {
	cut := make(chan error, 2)
	go func() { cut <- s.input(child) }()
	var output sync.WaitGroup
	output.Go(func() {
		if _, err := io.Copy(s.out, child); err != nil {
			cut <- fmt.Errorf("the output cannot be passed on: %w", err)
		}
	})
	for running := true; running; {
		select {
		case <-s.line.heard:
			quiet.Reset(s.silence)
		case <-child.Done():
			running = false
		case err := <-cut:
			s.end(child, err)
		case <-quiet.C:
			if !s.line.silent() {
				quiet.Reset(s.silence)
				continue
			}
			s.end(child, errSilent)
		}
	}
	waitFor(&output, s.silence) // for what it has said, unless the reader has gone
	if state := child.State(); state != nil && state.Success() {
		return 0
	} else if state != nil {
		return max(state.ExitCode(), 1)
	}
	return 1
}

// end kills the CLI and everything that it has started. What it reports may have no reader
// any more, so it does not wait for that.
func (s *supervisor) end(child *proc.Process, why error) {
	child.Note() // finds what runs in groups of its own, while that shows
	err := child.Kill()
	go fmt.Fprintf(s.errs, "sandbox: the CLI is ended: %v\n", errors.Join(why, err))
}

// waitFor waits for a bounded time.
func waitFor(group *sync.WaitGroup, bound time.Duration) {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(bound):
	}
}

// input passes lines on to the CLI, and obeys those for the helper. It returns why the
// connection has ended. A CLI that does not read must not keep the helper from hearing,
// so what it has not read yet is kept.
func (s *supervisor) input(child *proc.Process) error {
	unread := newBacklog()
	defer unread.end()
	go unread.pass(child) // if it fails the CLI has ended, which shows
	for begins := true; ; {
		part, err := s.in.ReadSlice('\n')
		switch {
		case len(part) == 0:
		case begins && string(part) == endLine:
			unread.end()
		case begins && part[0] == endLine[0]:
		default:
			unread.add(part)
		}
		if len(part) > 0 {
			begins = part[len(part)-1] == '\n'
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("the connection is cut: %w", err)
		}
	}
}

// maxBacklog is how much of its input a CLI may leave unread: more than the largest
// prompt. Then the other side has to wait.
const maxBacklog = 64 << 20

// backlog holds the input that the CLI has not read yet.
type backlog struct {
	mu      sync.Mutex
	changed sync.Cond
	unread  []byte
	over    bool
}

func newBacklog() *backlog {
	b := new(backlog)
	b.changed.L = &b.mu
	return b
}

func (b *backlog) add(part []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.unread) > maxBacklog && !b.over {
		b.changed.Wait()
	}
	if !b.over {
		b.unread = append(b.unread, part...)
		b.changed.Broadcast()
	}
}

// end lets the CLI see the end of its input when it has read the rest.
func (b *backlog) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	b.changed.Broadcast()
}

// pass writes to the CLI what was added, until the end or until the CLI takes no more.
func (b *backlog) pass(child interface {
	io.Writer
	CloseWrite() error
}) {
	defer child.CloseWrite()
	defer b.end()
	for {
		b.mu.Lock()
		for len(b.unread) == 0 && !b.over {
			b.changed.Wait()
		}
		part := b.unread
		b.unread = nil
		b.changed.Broadcast()
		b.mu.Unlock()
		if len(part) == 0 {
			return
		}
		if _, err := child.Write(part); err != nil {
			return
		}
	}
}

// unpack places the files of an archive in a folder. They cannot lie outside of it.
func unpack(r io.Reader, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the end of the archive is not that of the chunks
			return err
		}
		if err != nil {
			return err
		}
		name := filepath.FromSlash(strings.TrimSuffix(path.Clean(h.Name), "/"))
		switch h.Typeflag {
		case tar.TypeDir:
			err = root.MkdirAll(name, 0o700)
		case tar.TypeReg:
			err = place(root, name, archive)
		default:
			err = &fs.PathError{Op: "place", Path: h.Name, Err: fs.ErrInvalid}
		}
		if err != nil {
			return err
		}
	}
}

func place(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// listenForAPI carries connections from a new port of the loopback interface to a socket.
func listenForAPI(socket string) (*bridge, string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	return newBridge(l, func() (net.Conn, error) { return net.DialTimeout("unix", socket, dialBound) }), l.Addr().String(), nil
}

// environment returns what the CLI gets: what this machine has, and what the other side has
// sent. If that names an API, it also decides who signs in, so no credential of this
// machine is left beside it.
func (t task) environment(inherited []string) []string {
	if value(t.Env, "ANTHROPIC_BASE_URL") != "" {
		inherited = slices.DeleteFunc(inherited, signsIn)
	}
	return append(inherited, t.Env...)
}

// signsIn reports whether a variable decides where the CLI sends requests, and as whom.
func signsIn(entry string) bool {
	name, _, _ := strings.Cut(entry, "=")
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "CLAUDE_CODE_") || strings.HasPrefix(name, "AWS_") ||
		strings.HasPrefix(name, "GOOGLE_") || strings.HasPrefix(name, "AZURE_") || strings.HasSuffix(name, "_PROXY")
}

// redirected returns an environment in which the API, and every proxy at the same place, is
// at another address.
func redirected(env []string, address string) []string {
	base, err := url.Parse(value(env, "ANTHROPIC_BASE_URL"))
	if err != nil {
		return env // a task with a socket has one
	}
	out := slices.Clone(env)
	for i, entry := range out {
		name, text, _ := strings.Cut(entry, "=")
		if name != "ANTHROPIC_BASE_URL" && !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			continue
		}
		if u, err := url.Parse(text); err == nil && u.Host != "" && u.Host == base.Host {
			u.Host = address
			out[i] = name + "=" + u.String()
		}
	}
	return out
}

// lastOnly leaves the last entry of each variable.
func lastOnly(env []string) []string {
	at := make(map[string]int)
	var out []string
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		if i, ok := at[name]; ok {
			out[i] = entry
			continue
		}
		at[name] = len(out)
		out = append(out, entry)
	}
	return out
}
