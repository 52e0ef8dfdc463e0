package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"

	"github.com/claude-agent-go/claude/fleet"
	"github.com/claude-agent-go/claude/store"
)

// agree checks, between two steps of the world, that all ways to look at it agree: the
// list, the list of each tenant, single conversations and tickets. What has ended stays as
// it ended, and what was accepted is never unknown.
func (w *world) agree(ctx context.Context) {
	synctest.Wait() // nothing happens until time passes
	listed := make(map[string]string)
	queued := make(map[string]int)
	for r, err := range w.db.Scan(ctx, store.Folder{Project: "p", Kind: "prompt"}, "") {
		if err != nil {
			w.fault("prompts: %v", err)
		}
		if !strings.Contains(string(r.Value), `"cancelled":`) {
			parts := strings.Split(r.Key.Name, "/")
			key := parts[1]
			if parts[0] == "t" {
				key += "/" + parts[2]
			}
			queued[key]++
		}
	}
	var last string
	for info, err := range w.client.List(ctx) {
		if err != nil {
			w.fault("list: %v", err)
			return
		}
		at := fmt.Sprint(fleet.TenantOf(info.Key) != "", info.Key)
		if at <= last {
			w.fault("%s is listed behind %s", at, last)
		}
		last, listed[info.Key] = at, fmt.Sprintf("%+v", info)
		got, err := w.client.Get(ctx, info.Key)
		if read := fmt.Sprintf("%+v", got); err != nil || read != listed[info.Key] {
			w.fault("listed as %s, read as %s, %v", listed[info.Key], read, err)
		}
		if info.Queued != queued[info.Key] {
			w.fault("%s has %d prompts in its queue, and %d are listed", info.Key, queued[info.Key], info.Queued)
		}
	}
	for _, tenant := range []string{"acme", "other"} {
		for info, err := range w.client.Tenant(tenant).List(ctx) {
			if shown := fmt.Sprintf("%+v", info); err != nil || fleet.TenantOf(info.Key) != tenant || shown != listed[info.Key] {
				w.fault("%s lists %s, all list %s, %v", tenant, shown, listed[info.Key], err)
			}
			delete(listed, info.Key)
		}
	}
	for key := range listed {
		if fleet.TenantOf(key) != "" {
			w.fault("%s is not in the list of its tenant", key)
		}
	}
	w.agreeTickets(ctx)
}

// agreeTickets checks the tickets of all prompts, and remembers those that have ended.
func (w *world) agreeTickets(ctx context.Context) {
	if w.endedAs == nil {
		w.endedAs = make(map[string]string)
	}
	for _, p := range w.sent {
		o, err := w.client.Prompt(ctx, p.key, p.id)
		switch shown := fmt.Sprintf("%s %q part of %q, interrupted %t, %s, $%v", o.Status, o.Text, o.PartOf, o.Interrupted, o.Ended, o.Cost.USD); {
		case errors.Is(err, fleet.ErrUnknown) && !p.accepted && w.endedAs[p.id] == "":
		case err != nil:
			w.fault("prompt %s of %s, accepted %t: %v", p.id, p.key, p.accepted, err)
		case o.Prompt != p.id:
			w.fault("the ticket of prompt %s is that of %s", p.id, o.Prompt)
		case !o.Status.Done() && (!o.Ended.IsZero() || o.Text != "" || o.Result != nil):
			w.fault("prompt %s of %s is %s and has ended: %s", p.id, p.key, o.Status, shown)
		case !o.Status.Done() && w.endedAs[p.id] != "":
			w.fault("prompt %s of %s is %s, and was %s", p.id, p.key, o.Status, w.endedAs[p.id])
		case !o.Status.Done():
		case !slices.Contains([]string{"", shown}, w.endedAs[p.id]) && o.Status != fleet.PromptCancelled:
			w.fault("prompt %s of %s ended as %s, and is %s", p.id, p.key, w.endedAs[p.id], shown)
		case o.Ended.IsZero():
			w.fault("prompt %s of %s is %s, and it is not known since when", p.id, p.key, o.Status)
		default:
			w.endedAs[p.id] = shown
		}
	}
}

// checkLeft checks that no process has kept a lease when all are closed.
func (w *world) checkLeft(ctx context.Context, keys []string) {
	for _, key := range keys {
		l, err := w.db.Acquire(ctx, "p", "fleet/"+leasePlace(key), "another process", 1e9)
		if err != nil {
			w.fault("the lease of %s is kept: %v", key, err)
			continue
		}
		_ = w.db.Release(ctx, l)
	}
}
