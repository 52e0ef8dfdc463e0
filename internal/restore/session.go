package restore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// Bounds of the data taken from a store.
const (
	maxBytes int64 = 2 << 30 // of a session
	maxSubs        = 10_000
	maxWalk        = 100 // sessions that are looked at for the last one
)

// Source is where sessions come from.
type Source struct {
	Store   store.Sessions
	Project string
}

// Write writes a session with its subagents below root, as one of a project
// directory of that name. If there is no such session, the error matches
// [store.ErrNotFound]; if it cannot be resumed as it is, [store.ErrDamaged].
func (s Source) Write(ctx context.Context, root *os.Root, folder, session string) error {
	key := store.Key{Project: s.Project, Session: session}
	if err := key.Check(); err != nil {
		return err
	}
	base := path.Join("projects", folder)
	if err := root.MkdirAll(base, 0o700); err != nil {
		return err
	}
	w := &writer{ctx: ctx, root: root, left: maxBytes}
	n, err := w.transcript(s.Store, key, path.Join(base, session))
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("claude: store: session %s: %w: it has no entries", key, store.ErrNotFound)
	}
	count := 0
	for sub, err := range s.Store.Subagents(ctx, s.Project, session) {
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		sk := store.Key{Project: s.Project, Session: session, Sub: sub}
		if err := sk.Check(); err != nil {
			return err
		}
		if count++; sub == "" || count > maxSubs {
			return fmt.Errorf("claude: store: session %s: %w: it has a subagent without a name, or more than %d", key, store.ErrDamaged, maxSubs)
		}
		if _, err := w.transcript(s.Store, sk, path.Join(base, session, sub)); err != nil {
			return err
		}
	}
	return nil
}

// Latest returns the session of the project that was last written to, leaving
// out those that are only a subagent's. The error matches [store.ErrNotFound] if
// there is none.
func (s Source) Latest(ctx context.Context) (string, error) {
	walked := 0
	for found, err := range s.Store.List(ctx, s.Project) {
		if err != nil {
			return "", err
		}
		key := store.Key{Project: s.Project, Session: found.Session}
		if err := key.Check(); err != nil {
			return "", err
		}
		for e, err := range store.Entries(ctx, s.Store, key) {
			if err != nil {
				return "", err
			}
			if string(jsonx.Member(e, "isSidechain")) == "true" {
				break
			}
			return found.Session, nil
		}
		if walked++; walked == maxWalk {
			break
		}
	}
	return "", fmt.Errorf("claude: store: project %s: %w: no session to continue", s.Project, store.ErrNotFound)
}

// writer writes transcripts.
type writer struct {
	ctx  context.Context
	root *os.Root
	left int64 // bytes that may still be written
}

// transcript writes the transcript of a key to a file and, if there is any, the
// description of its subagent to another. It returns how many entries it had.
func (w *writer) transcript(s store.Transcripts, key store.Key, name string) (n int, err error) {
	if err := w.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, err
	}
	file, err := w.root.OpenFile(name+".jsonl", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	out := bufio.NewWriter(file)
	var meta store.Entry
	var chain order
	var last head
	for e, err := range store.Entries(w.ctx, s, key) {
		if err != nil {
			return n, err
		}
		n++
		if err := w.check(e, &chain); err != nil {
			return n, fmt.Errorf("claude: store: entry %d of %s: %w: %w", n, key, store.ErrDamaged, err)
		}
		if key.Sub != "" && jsonx.Text(jsonx.Member(e, "type")) == "agent_metadata" {
			meta = e
			continue
		}
		last.note(e)
		_, _ = out.Write(e)
		_ = out.WriteByte('\n') // Flush has the error
	}
	if err := w.ctx.Err(); err != nil {
		return n, context.Cause(w.ctx)
	}
	if err := chain.end(); err != nil {
		return n, fmt.Errorf("claude: store: %s: %w: %w", key, store.ErrDamaged, err)
	}
	if err := out.Flush(); err != nil {
		return n, err
	}
	if key.Sub == "" && chain.forks {
		if err := w.correct(last, name+".jsonl"); err != nil {
			return n, err
		}
	}
	if meta == nil {
		return n, nil
	}
	return n, w.metadata(meta, name+".meta.json")
}

// check refuses an entry that cannot be written as it is.
func (w *writer) check(e store.Entry, chain *order) error {
	if err := e.Check(); err != nil {
		return err
	}
	if w.left -= int64(len(e)) + 1; w.left < 0 {
		return fmt.Errorf("the session has more than %d bytes", maxBytes)
	}
	return chain.add(e)
}

// metadata writes what the CLI keeps beside the transcript of a subagent. In the
// mirror it is an entry, with a type in front of the same members.
func (w *writer) metadata(e store.Entry, name string) error {
	members, err := jsonx.Walk(e)
	if err != nil {
		return err
	}
	data := []byte{'{'}
	for {
		name, value, err := members.Next()
		if err != nil {
			return err
		}
		if name == nil {
			break
		}
		if string(name) == "type" {
			continue
		}
		if len(data) > 1 {
			data = append(data, ',')
		}
		quoted, err := jsonx.Marshal(string(name))
		if err != nil {
			return err
		}
		data = append(append(append(data, quoted...), ':'), value...)
	}
	data = append(data, '}')
	return w.root.WriteFile(name, data, 0o600)
}

// order checks that entries come in their order: each follows the one that it
// continues.
type order struct {
	seen    map[string]bool
	missing map[string]string // parents that have not come, with a child
	parents map[string]bool   // those that are continued
	forks   bool              // one is continued twice
}

func (o *order) add(e store.Entry) error {
	id := e.UUID()
	if id == "" {
		return nil
	}
	if o.seen == nil {
		o.seen, o.missing, o.parents = make(map[string]bool), make(map[string]string), make(map[string]bool)
	}
	if child, late := o.missing[id]; late {
		return fmt.Errorf("%s comes after %s, which continues it", id, child)
	}
	if parent := jsonx.Text(jsonx.Member(e, "parentUuid")); parent != "" {
		if !o.seen[parent] && o.missing[parent] == "" {
			o.missing[parent] = id
		}
		o.forks = o.forks || o.parents[parent]
		o.parents[parent] = true
	}
	o.seen[id] = true
	return nil
}

// end refuses a transcript with a gap.
func (o *order) end() error {
	for parent, child := range o.missing {
		return fmt.Errorf("%s continues %s, which is missing", child, parent)
	}
	return nil
}
