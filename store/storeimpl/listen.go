package storeimpl

import (
	"context"
	"crypto/rand"
	"strings"
	"sync/atomic"
	"time"
)

// Line is a connection that brings what is sent to a channel of a server.
type Line interface {
	// Receive returns the next text. It returns false if none comes within the time, and an
	// error if none can come any more.
	Receive(ctx context.Context, within time.Duration) (text string, ok bool, err error)
	Close()
}

// Listener listens to a channel of a server for a [Hub], whose source is its Run. It sends a
// text of its own now and then, which must come back: a connection that was cut silently is
// noticed by that, and so is a pooler or a proxy that lets nothing through. Set the fields
// before Run.
type Listener struct {
	Hub  *Hub
	Dial func(ctx context.Context) (Line, error)
	// Send sends a text to the channel, by another connection than the line.
	Send func(ctx context.Context, text string) error
	// Take is given all texts but those of listeners.
	Take func(text string)
	// Fatal reports whether it is useless to dial again after an error.
	Fatal func(error) bool
	// Look is how often readers are to look at everything although nothing is known to be
	// missing, for a server on which a change can be made and not announced. 0 means never.
	Look time.Duration

	alone atomic.Bool
}

// The times of a listener.
const (
	patience  = 5 * time.Second // until an own text must have come back
	beat      = 15 * time.Second
	lookAlone = 5 * time.Second // how often readers look at everything when nothing comes through
	tryAgain  = time.Minute     // to get something through
	firstWait = 50 * time.Millisecond
	longWait  = 5 * time.Second
)

// own begins a text of a listener.
const own = "listening "

// Alone reports that nothing comes through: the server takes texts, and the line does not bring
// them. Readers then look at everything every few seconds, and the store hands its
// own changes to the hub directly.
func (l *Listener) Alone() bool { return l.alone.Load() }

// Run listens until its context ends or an error is fatal.
func (l *Listener) Run(ctx context.Context) error {
	wait := firstWait
	for {
		heard, err := l.call(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && l.Fatal(err):
			return err
		case heard:
			wait = firstWait
		case err == nil:
			l.alone.Store(true)
			l.lookOften(ctx)
			continue
		}
		l.alone.Store(false)
		l.Hub.Deaf()
		sleep(ctx, wait)
		wait = min(2*wait, longWait)
	}
}

// lookOften lets the readers look at everything, until it is time to try again.
func (l *Listener) lookOften(ctx context.Context) {
	for range tryAgain / lookAlone {
		if ctx.Err() != nil {
			return
		}
		l.Hub.Missed()
		sleep(ctx, lookAlone)
	}
}

// sleep waits for a time, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// call dials and listens until the line is lost. It reports whether an own text has ever come
// back. Without an error, one did not come back in time.
func (l *Listener) call(ctx context.Context) (heard bool, err error) {
	line, err := l.Dial(ctx)
	if err != nil {
		return false, err
	}
	defer line.Close()
	mine := own + rand.Text()
	next, look := time.Now(), time.Now() // when to send the own text again, and to look again
	sent := false
	for {
		now := time.Now()
		switch {
		case now.Before(next):
		case sent: // and not come back
			return heard, nil
		default:
			sent, next = true, now.Add(patience)
			if err := l.send(ctx, mine); err != nil {
				return heard, err
			}
		}
		until := next
		if heard && l.Look > 0 {
			if !now.Before(look) {
				look = now.Add(l.Look)
				l.Hub.Missed()
			}
			if look.Before(until) {
				until = look
			}
		}
		text, ok, err := line.Receive(ctx, until.Sub(now))
		switch {
		case err != nil:
			return heard, err
		case !ok:
		case text == mine:
			sent, next = false, time.Now().Add(beat)
			if !heard {
				heard, look = true, time.Now().Add(l.Look)
				l.alone.Store(false)
				l.Hub.Missed()
			}
		case !strings.HasPrefix(text, own):
			l.Take(text)
		}
	}
}

// send sends an own text.
func (l *Listener) send(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.Send(ctx, text)
}
