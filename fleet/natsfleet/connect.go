package natsfleet

import (
	"context"
	"errors"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// Client accepts prompts and shows what happens to them; workers run them. It has
// all methods of a [fleet.Fleet]. They may be called from any goroutine. Close ends
// it.
type Client struct {
	*fleet.Fleet
	store *Store
	bus   *bus
}

var _ fleet.Conversations = (*Client)(nil)

// Connect connects to the servers. It runs no conversations.
func Connect(ctx context.Context, o Options) (*Client, error) {
	s, err := openProject(ctx, o)
	if err != nil {
		return nil, err
	}
	b := s.newBus()
	f, err := fleet.Open(ctx, fleet.Options{Store: s, Project: o.Project, MaxLive: fleet.NoCLIs, Bus: b, Logger: o.Logger})
	if err != nil {
		b.close()
		return nil, errors.Join(err, s.Close())
	}
	return &Client{f, s, b}, nil
}

// openProject opens the store of a fleet that has a project.
func openProject(ctx context.Context, o Options) (*Store, error) {
	if err := store.CheckProject(o.Project); err != nil {
		return nil, fail("Options.Project", err)
	}
	return OpenStore(ctx, o)
}

// Close ends the client. It does not affect the prompts.
func (c *Client) Close(ctx context.Context) error {
	err := c.Fleet.Close(ctx)
	c.bus.close()
	return errors.Join(err, c.store.Close())
}

// WorkerOptions configures a worker. Fleet.Session is required, and whatever
// Options requires.
type WorkerOptions struct {
	Options
	// Fleet configures how conversations run, as on one machine. Its Store,
	// Project and Bus are set by the worker. Runs chooses the conversations, for
	// example by the labels in their keys.
	Fleet fleet.Options
}

// Worker runs conversations: those that have something to do and that no other
// worker runs. It has all methods of a [fleet.Fleet]. They may be called from any
// goroutine. Close ends it.
type Worker struct {
	*fleet.Fleet
	store *Store
	bus   *bus
	stop  func() // what keeps the archive
}

var _ fleet.Conversations = (*Worker)(nil)

// StartWorker connects to the servers, and runs conversations until Close.
func StartWorker(ctx context.Context, o WorkerOptions) (*Worker, error) {
	s, err := openProject(ctx, o.Options)
	if err != nil {
		return nil, err
	}
	fo := o.Fleet
	b := s.newBus()
	fo.Store, fo.Project, fo.Bus = s, o.Project, b
	if fo.Logger == nil {
		fo.Logger = o.Logger
	}
	f, err := fleet.Open(ctx, fo)
	if err != nil {
		b.close()
		return nil, errors.Join(err, s.Close())
	}
	endArchive := func() {}
	if s.streamed.archive != nil {
		endArchive = s.streamed.archiveNowAndThen(o.Project, o.archiveAfter())
	}
	return &Worker{f, s, b, endArchive}, nil
}

// Close drains the worker, see [fleet.Fleet.Close]: nothing new is begun, turns may
// end within Grace, and unanswered prompts then continue on another worker at once,
// because the leases are released.
func (w *Worker) Close(ctx context.Context) error {
	err := w.Fleet.Close(ctx)
	w.stop()
	w.bus.close()
	return errors.Join(err, w.store.Close())
}
