package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/internal/uuid"
	"github.com/claude-agent-go/claude/serve/api"
)

// rewindBound is how long a rewind may take, including the wait for a process.
const rewindBound = time.Minute

// rewind is Rewind with an id that was derived from an Idempotency-Key, or an empty
// one.
func (pr *prompter) rewind(ctx context.Context, u api.User, id string, r api.RewindRequest, chosen string) (api.Rewound, error) {
	n, err := pr.conversations.act(ctx, u, id, api.RoleOperator)
	if err == nil {
		err = pr.checkRewind(ctx, &n, &r)
	}
	if err != nil {
		return api.Rewound{}, problemOf(err)
	}
	bounded, cancel := context.WithTimeout(ctx, rewindBound)
	defer cancel()
	own, err := pr.freshRewind(bounded, n.Key, chosen)
	if err == nil && !r.DryRun {
		// A write-ahead notice: the rewind is known even if the client or this process ends.
		err = pr.journal.noticeRewind(ctx, u, n.Key, "asked for files as they were before a prompt", api.RewindNote{ID: own, Message: r.Message})
	}
	if err != nil {
		return api.Rewound{}, problemOf(err)
	}
	done, err := pr.fleet.Rewind(bounded, n.Key, fleet.RewindTo{ID: own, Prompt: r.Message, DryRun: r.DryRun})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		err = full.because("no process was free for a minute; nothing has changed unless one has just begun. Try again later")
	case err == nil && !done.CanRewind:
		err = noCheckpoint.because("%s Checkpoints are kept for prompts to this conversation, on the machine that ran it, and not for long after the context was compacted", sentence(cmp.Or(done.Error, "no checkpoint was found")))
	}
	if err != nil {
		return api.Rewound{}, problemOf(err)
	}
	out := api.Rewound{Files: []string{}, Added: done.Insertions, Removed: done.Deletions, SkippedLinks: done.SkippedLinks, DryRun: r.DryRun}
	for _, path := range done.FilesChanged {
		out.Files = append(out.Files, pathIn(n.Dir, path))
	}
	if !r.DryRun {
		what := fmt.Sprintf("restored %d files to what they were before a prompt", len(out.Files))
		if len(out.Files) == 1 {
			what = "restored a file to what it was before a prompt"
		}
		if err := pr.journal.noticeRewind(ctx, u, n.Key, what, api.RewindNote{ID: own, Message: r.Message, Done: true}); err != nil { // it is done anyway
			pr.logger.Warn("a rewind is not in the log of its conversation", "conversation", n.Key, "error", err)
		}
	}
	return out, nil
}

// freshRewind returns the id for a rewind: a random one, or the one derived from an
// Idempotency-Key. If that attempt failed or was taken back, it derives the next one,
// because an id can end only once. A rewind that is done, or may be, keeps its id.
func (pr *prompter) freshRewind(ctx context.Context, key, id string) (string, error) {
	if id == "" {
		return uuid.New(), nil
	}
	for {
		t, err := pr.fleet.Prompt(ctx, key, id)
		switch {
		case errors.Is(err, fleet.ErrUnknown):
			return id, nil
		case err != nil:
			return "", err
		case t.Status != fleet.PromptFailed && t.Status != fleet.PromptCancelled:
			return id, nil
		}
		id = uuidFrom("rewind again", id)
	}
}

// checkRewind refuses a rewind that is not possible now.
func (pr *prompter) checkRewind(ctx context.Context, n *note, r *api.RewindRequest) error {
	if !uuid.Valid(r.Message) {
		return badRequest.because("message is not the id of a prompt, which is a UUID")
	}
	if p := find(pr.presets, n.Preset); p == nil || !p.rewinds() {
		return unsupported.because("the preset of the conversation keeps no checkpoints of files (claude.Options.FileCheckpointing)")
	}
	info, err := pr.fleet.Get(ctx, n.Key)
	switch {
	case errors.Is(err, fleet.ErrUnknown):
		return noCheckpoint.because("nothing was said yet")
	case err != nil:
		return err
	case info.Queued > 0:
		return busy.because("files are restored between turns: wait for the end of this one, or interrupt it, and take back the prompts that wait")
	}
	return nil
}

// pathIn returns a path relative to a directory, if it is inside.
func pathIn(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && dir != "" && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// sentence ends a text with a full stop.
func sentence(text string) string {
	if text[len(text)-1] == '.' {
		return text
	}
	return text + "."
}
