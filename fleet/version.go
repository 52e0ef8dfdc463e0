package fleet

import (
	"context"
	"fmt"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/internal/operation"
	"github.com/claude-agent-go/claude/store"
)

// lacking is the newest CLI that was seen without the needs of a fleet: hooks that fail
// closed, the line in a transcript that defers a call, and the variables of [recovery].
// operation.Newest has all of them. The versions in between are unknown.
const lacking = "2.1.299"

// checkCLI refuses a CLI that cannot run conversations, before the fleet accepts a
// prompt that would never run. It looks at the CLI of one conversation, once, and
// starts nothing: what this cannot show, the first wake does.
func (a *admission) checkCLI(key string) error {
	if a.opts.MaxLive == NoCLIs || a.checked.Load() || !a.roster.runs(key) {
		return nil
	}
	o, err := a.opts.Session(a.ctx, key)
	if err != nil {
		return nil // a wake tries it again, and reports it
	}
	if o == nil {
		o = new(claude.Options)
	}
	a.temps.learn(o)
	version := o.InstalledVersion()
	if order, ok := operation.CompareVersions(version, lacking); ok && order <= 0 {
		return &claude.StartError{
			Reason: claude.ErrUnsupportedVersion, Path: o.CLIPath,
			Err: fmt.Errorf("version %s cannot continue conversations of a fleet, %s can", version, operation.Newest),
		}
	}
	a.checked.Store(true)
	return nil
}

// checkFirst is checkCLI for the first conversation that the store has, if any.
func (a *admission) checkFirst(ctx context.Context) error {
	if a.opts.MaxLive == NoCLIs {
		return nil
	}
	for r, err := range a.store.Scan(ctx, store.Folder{Project: a.opts.Project, Kind: kindConversation}, "") {
		if err != nil {
			return err
		}
		if key := keyAt(r.Key.Name); a.roster.runs(key) {
			return a.checkCLI(key)
		}
	}
	return nil
}
