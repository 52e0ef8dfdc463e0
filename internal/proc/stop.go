package proc

import (
	"errors"
	"os"
	"time"
)

// reap waits for the exit and collects the child. No group signal can be sent
// from then on.
func (p *Process) reap() {
	wait := func() {
		err := p.cmd.Wait()
		p.state = p.cmd.ProcessState
		if p.state == nil {
			p.waitErr = err
		}
	}
	if awaitExit(p.PID()) {
		p.mu.Lock()
		wait()
	} else {
		wait()
		p.mu.Lock()
	}
	p.reaped = true
	p.mu.Unlock()
}

// finish closes the pipes after the exit: at once where the child was the only
// one to hold them, else when the drain is over.
func (p *Process) finish() {
	deadline := time.Now().Add(p.drain)
	p.stderr.SetReadDeadline(deadline)
	p.in.abandon()
	close(p.done)
	p.log.Debug("process exited", "pid", p.PID(), "state", p.state.String())

	held := time.AfterFunc(p.drain, p.endHolders)
	p.out.exited(deadline)
	<-p.errEnded
	held.Stop()
	p.group.close()
	close(p.ended)
}

// endHolders ends the pipes that others hold open.
func (p *Process) endHolders() {
	p.log.Warn("pipes are held open by others after the exit", "pid", p.PID(), "drained", p.drain)
	p.group.endHolders()
	p.out.cut()
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

// ladder is the body of Stop. The CLI is never killed first: it would leave the
// shells of its tools behind.
func (p *Process) ladder() error {
	err := p.signal(groupTerm)
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.log.Warn("process group does not take SIGTERM", "pid", p.PID(), "error", err)
	}
	deadline := time.Now().Add(p.term + p.kill)
	if !p.exitsBefore(time.Now().Add(p.term)) {
		p.log.Warn("process ignored SIGTERM, killing it", "pid", p.PID(), "after", p.term)
		err = p.signal(groupKill)
		deadline = time.Now().Add(p.kill)
		p.group.sweep(deadline)
		if !p.exitsBefore(deadline) {
			p.abandonPipes()
			p.log.Error("process is still running after SIGKILL", "pid", p.PID(), "error", err)
			return ErrStillRunning
		}
	}
	p.endRest(deadline)
	// Bounded: the pipes are given up when the drain is over.
	<-p.ended
	return nil
}

// endRest ends what the child has left behind. One that exited by itself has
// ended its shells, and what it meant to leave running may go on; only helpers
// in its own group are ended. One that was killed could not do anything.
func (p *Process) endRest(deadline time.Time) {
	if p.state == nil || signalName(p.state) != "" {
		p.group.sweep(deadline)
		return
	}
	p.group.endMembers(p.drain)
}

// exitsBefore waits for the exit.
func (p *Process) exitsBefore(deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
	}
	// Both may have been ready.
	select {
	case <-p.done:
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
	go p.out.cut()
}
