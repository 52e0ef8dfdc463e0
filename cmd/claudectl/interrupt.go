package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/terminal"
)

// interruption makes of Ctrl-C what people expect: the first ends what the
// session does, the second the session. Other signals end the session at once.
type interruption struct {
	s      *screen
	asJSON bool               // what is said must be JSON
	cancel context.CancelFunc // of the start
	quit   chan struct{}      // closed by release

	mu      sync.Mutex
	session *claude.Session // once it has the prompt
	code    exitCode        // once a signal has come
}

// watchSignals takes over the signals until release is called. The context it
// returns ends when the session has to.
func watchSignals(c *console, s *screen) (context.Context, *interruption) {
	ctx, cancel := context.WithCancel(c.ctx)
	i := &interruption{s: s, asJSON: c.json, cancel: cancel, quit: make(chan struct{})}
	told := make(chan os.Signal, 4)
	signal.Notify(told, endings()...)
	go func() {
		defer signal.Stop(told)
		for {
			select {
			case got := <-told:
				i.take(ctx, got)
			case <-i.quit:
				return
			}
		}
	}()
	return ctx, i
}

// endOnSignal returns a context that a signal ends, for commands that have
// nothing to interrupt before. release restores the signals.
func endOnSignal(ctx context.Context) (_ context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	told := make(chan os.Signal, 1)
	signal.Notify(told, endings()...)
	go func() {
		select {
		case got := <-told:
			cancel(interrupted(codeOfSignal(got)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(told)
		cancel(nil)
	}
}

// endings returns the signals that end a command. SIGHUP, which comes when the
// terminal closes, is left alone where the parent ignores it, as nohup does.
func endings() []os.Signal {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		all = append(all, syscall.SIGHUP)
	}
	return all
}

func codeOfSignal(got os.Signal) exitCode {
	switch got {
	case syscall.SIGHUP:
		return exitHangup
	case syscall.SIGTERM:
		return exitTerminated
	}
	return exitInterrupted
}

// interrupted is the error of a command that a signal has ended.
func interrupted(code exitCode) error { return &failure{code, errors.New("interrupted")} }

// take acts on a signal.
func (i *interruption) take(ctx context.Context, got os.Signal) {
	if got == os.Interrupt && i.s.isLent() {
		return // an editor uses Ctrl-C itself
	}
	i.mu.Lock()
	session, again := i.session, i.code != 0
	i.code = codeOfSignal(got)
	i.mu.Unlock()
	if session == nil || again || got != os.Interrupt {
		i.cancel()
		return
	}
	i.tell(terminal.Bold, "interrupting; Ctrl-C again ends the program")
	go func() {
		if _, err := session.Interrupt(ctx); err != nil && ctx.Err() == nil {
			i.tell(terminal.Red, "the CLI does not answer; Ctrl-C ends the program")
		}
	}()
}

func (i *interruption) tell(style, text string) {
	if !i.asJSON {
		i.s.tell(i.s.style(style, text) + "\n")
	}
}

// guard records that the session has the prompt, so that there is a turn to
// interrupt. An interrupt that reaches the CLI before the prompt does nothing,
// and the turn would continue: until then Ctrl-C ends the session.
func (i *interruption) guard(session *claude.Session) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.session = session
}

// explain turns the error that a signal has led to into its exit code.
func (i *interruption) explain(err error) error {
	i.mu.Lock()
	code := i.code
	i.mu.Unlock()
	if code == 0 {
		return err
	}
	return interrupted(code)
}

// release restores the signals.
func (i *interruption) release() {
	i.cancel()
	close(i.quit)
}
