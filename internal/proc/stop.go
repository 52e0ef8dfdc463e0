package proc

import (
	"errors"
	"os"
	"time"
)

// reap waits for the exit, ends the processes that the child left behind, and
// collects the child. Where the system allows it the child is collected last:
// until then no other process can have its number, which is also that of its
// group. No group signal can be sent once it is collected.
func (p *Process) reap() {
	if awaitExit(p.PID()) {
		close(p.exited)
		p.endLeftovers()
		p.mu.Lock()
		p.collect()
		p.reaped = true
		p.mu.Unlock()
		return
	}
	p.collect()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	close(p.exited)
	p.endLeftovers()
}

func (p *Process) collect() {
	err := p.cmd.Wait()
	p.state = p.cmd.ProcessState
	if p.state == nil {
		p.waitErr = err
	}
}

// endLeftovers ends the processes that the child left behind, however it ended.
// The CLI ends its shells and servers on the way out; one that was killed could
// not, CLIs up to 2.1.0 do not, and a helper that was forgotten would live on for
// ever.
func (p *Process) endLeftovers() {
	if !p.group.endLeftovers(p.drain, p.kill, p.killed.Load) {
		p.log.Error("processes of the child are still running after SIGKILL", "pid", p.PID())
	}
}

// closePipes closes the pipes after the exit: at once where the child was the only
// one to hold them, else when the drain is over.
func (p *Process) closePipes() {
	deadline := time.Now().Add(p.drain)
	p.stderr.SetReadDeadline(deadline)
	p.in.abandon()
	// First the log: a caller waiting for the end may take the logger away.
	p.log.Debug("process exited", "pid", p.PID(), "state", p.state.String())
	close(p.done)

	held := time.AfterFunc(p.drain, p.closeHeldPipes)
	p.out.childExited(deadline)
	<-p.errEnded
	held.Stop()
	p.group.close()
	close(p.ended)
}

// closeHeldPipes ends the pipes that others hold open.
func (p *Process) closeHeldPipes() {
	p.log.Warn("pipes are held open by others after the exit", "pid", p.PID(), "drained", p.drain)
	p.group.killHolders()
	p.out.endNow()
}

// signal sends a signal to the child's group unless the child is reaped.
func (p *Process) signal(sig groupSignal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return os.ErrProcessDone
	}
	return p.group.signal(sig)
}

// stopLadder is the body of Stop. The CLI is never killed first: it would leave the
// shells of its tools to us.
func (p *Process) stopLadder() error {
	p.Note()
	err := p.signal(groupTerm)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.log.Warn("process group does not take SIGTERM", "pid", p.PID(), "error", err)
	}
	if !p.exitsWithin(p.term) {
		p.log.Warn("process ignored SIGTERM, killing it", "pid", p.PID(), "after", p.term)
		p.killed.Store(true)
		err = p.signal(groupKill)
		if !p.exitsWithin(p.kill) {
			p.group.killMarked(p.drain)
			p.abandonPipes()
			p.log.Error("process is still running after SIGKILL", "pid", p.PID(), "error", err)
			return ErrStillRunning
		}
	}
	// Bounded: what the child left behind, and the pipes, are given up in time.
	<-p.ended
	return nil
}

// exitsWithin waits for the exit.
func (p *Process) exitsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.exited:
		return true
	case <-timer.C:
	}
	return p.hasExited() // both may have been ready
}

// hasExited reports whether the child has exited. It may not be collected yet:
// what it left behind is ended first, and until then a signal would reach a
// zombie and seem to have been taken.
func (p *Process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// abandonPipes ends reads and writes although the child is still there. It does
// not wait for a reader that nothing can interrupt.
func (p *Process) abandonPipes() {
	p.in.abandon()
	p.stderr.SetReadDeadline(time.Unix(1, 0))
	go p.out.endNow()
}
