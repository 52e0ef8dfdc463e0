package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/claude-agent-go/claude"
)

// closeBound is how long Close may take in a simulation whose process obeys.
const closeBound = 30 * time.Second

// finish ends the simulation in one of several ways and looks for leftovers.
func (w *simulation) finish() {
	how := [...]string{"settled", "settled", "closed", "exited", "cut", "cancelled"}[w.rng.IntN(6)]
	w.log("end: %s", how)
	w.down = true
	switch how {
	case "settled":
		w.settle()
		last := w.cli.askFor("permission", "answer")
		w.settle()
		w.answered()
		if !last.started && !w.dead {
			w.fault("with nothing else running, a callback is not called")
		}
	case "exited", "cut":
		if w.dead {
			break
		}
		w.exitCLI(w.rng.IntN(2), how == "cut")
	case "cancelled":
		for _, op := range w.ops {
			op.cancel()
		}
	}
	rest := w.rest()
	if w.dead { // it ends by itself
		w.until("the end by itself", w.session.Done())
	}
	w.close()
	w.releaseAll()
	waited := make(chan struct{})
	go func() { defer close(waited); _ = w.session.Wait() }()
	w.until("Wait", waited)
	w.going.Wait()
	err := <-rest
	if w.session.State() < claude.StateStopped {
		w.fault("state %v after the end", w.session.State())
	}
	whole := how == "settled" || how == "exited"
	if whole && err != nil {
		if exit, ok := errors.AsType[*claude.ProcessError](err); !ok || exit.ExitCode == 0 {
			w.fault("the stream ended with %v", err)
		}
	}
	if whole && w.patient && !w.stuck() && len(w.seen) != w.cli.said {
		w.fault("%d of %d messages came through: %v", len(w.seen), w.cli.said, w.seen)
	}
}

// stuck reports whether the rest could not be read, because a run was still
// reading.
func (w *simulation) stuck() bool { return w.cli.delivered < w.cli.written }

// rest reads what is left, once no run reads any more.
func (w *simulation) rest() <-chan error {
	ended := make(chan error, 1)
	go func() {
		for w.readerBusy() {
			<-time.After(time.Second)
		}
		for m, err := range w.session.Messages(context.Background()) {
			if err != nil {
				ended <- err
				return
			}
			w.checkMessage(m, "")
		}
		ended <- nil
	}()
	return ended
}

// until runs the schedule, with nothing new begun, until something is over.
func (w *simulation) until(what string, over <-chan struct{}) {
	begin := time.Now()
	for {
		synctest.Wait()
		if closed(over) {
			return
		}
		if time.Since(begin) > 5*time.Minute {
			w.fault("%s does not come", what)
			panic(what + " does not come")
		}
		w.step(false)
	}
}

// close closes the session, twice.
func (w *simulation) close() {
	begin := time.Now()
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := w.session.Close(); err != nil {
			w.fault("Close = %v", err)
		}
	}()
	w.until("the end of Close", over)
	if took := time.Since(begin); took > closeBound {
		w.fault("Close took %v", took)
	}
	begin = time.Now()
	if err := w.session.Close(); err != nil || time.Since(begin) != 0 {
		w.fault("second Close = %v after %v", err, time.Since(begin))
	}
}

// settle lets everything come to its end, with nothing new begun.
func (w *simulation) settle() {
	for range 5000 {
		synctest.Wait()
		w.releaseAll()
		synctest.Wait()
		w.sync()
		idle := len(w.cli.buf) == 0 && w.pipe.writing.Load() == 0 && len(w.cli.requests) == 0 &&
			len(w.cli.queue) == 0 && w.cli.turn == nil && !slices.ContainsFunc(w.ops, func(op *simOp) bool { return !op.over.Load() })
		if idle || w.dead {
			return
		}
		w.step(false)
	}
	w.fault("it does not come to rest")
}

// answered checks the answers: each request has one, and the right one.
func (w *simulation) answered() {
	if w.dead {
		return
	}
	for _, a := range w.cli.asks {
		if a.withdraw > 0 {
			continue
		}
		if len(a.answers) != 1 {
			w.fault("%s (%s, %s) has %d answers", a.id, a.kind, a.behave, len(a.answers))
			continue
		}
		if wrong := w.judge(a, a.answers[0]); wrong != "" {
			w.fault("%s (%s, %s, started %v, returned %v, late %v): %s", a.id, a.kind, a.behave, a.started, a.returned, a.late, wrong)
		}
	}
}

// judge returns what is wrong with an answer.
func (w *simulation) judge(a *simAsk, got string) string {
	fine := a.returned && !a.late
	failed := map[string]string{"permission": `"behavior":"deny"`, "hook": `{"continue":true}`, "mcp": `"error":{`}[a.kind]
	if a.kind == "hook" && w.failClosed {
		failed = `"permissionDecision":"deny"`
	}
	good := map[string]string{
		"permission": fmt.Sprintf(`"behavior":"allow","updatedInput":{"id": %q}`, a.id),
		"hook":       `"permissionDecision":"allow"`, "mcp": `"result":{"fine":true}`,
	}[a.kind]
	switch {
	case a.kind == "unknown":
		if !strings.HasPrefix(got, "error: ") {
			return "got " + got
		}
	case a.exact && (strings.Contains(got, good) || strings.Contains(got, failed)):
	case fine && !strings.Contains(got, good):
		return "got " + got + ", want " + good
	case !fine && !strings.Contains(got, failed):
		return "got " + got + ", want " + failed
	case a.kind == "hook" && !fine && !w.failClosed && got != failed:
		return "got " + got + ", want exactly " + failed
	}
	return ""
}
