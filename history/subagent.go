package history

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/claude-agent-go/claude/internal/transcript"
)

// SubagentInfo is a subagent that worked in a session.
type SubagentInfo struct {
	ID          string
	Type        string // such as "general-purpose"
	Description string
	ToolUseID   string // the call that started it
	Parent      string // the subagent that started it, "" if the main conversation did
	Finished    bool

	file string
}

// agentNote is the file beside a subagent's transcript.
type agentNote struct {
	Type        string `json:"agentType"`
	Description string `json:"description"`
	ToolUseID   string `json:"toolUseId"`
	Parent      string `json:"parentAgentId"`
	Finished    bool   `json:"finished"`
}

// maxAgents bounds how many subagents of a session are listed.
const maxAgents = 10_000

// take copies the note into the info.
func (a *SubagentInfo) take(note *agentNote) {
	a.Type, a.Description, a.ToolUseID = note.Type, note.Description, note.ToolUseID
	a.Parent, a.Finished = note.Parent, note.Finished
}

// subagentSource reads the transcripts of a session's subagents.
type subagentSource interface {
	subagents(ctx context.Context, t *Transcript) ([]SubagentInfo, error)
	subagent(ctx context.Context, t *Transcript, a SubagentInfo) (*Transcript, error)
}

// Subagents lists the subagents of the session, including those of workflows.
func (t *Transcript) Subagents(ctx context.Context) ([]SubagentInfo, error) {
	return t.subs.subagents(ctx, t)
}

// Subagent reads the transcript of a subagent: all messages to and from it.
func (t *Transcript) Subagent(ctx context.Context, id string) (*Transcript, error) {
	agents, err := t.subs.subagents(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, a := range agents {
		if a.ID != id {
			continue
		}
		own, err := t.subs.subagent(ctx, t, a)
		if err != nil {
			return nil, fmt.Errorf("claude: history: session %s: subagent %s: %w", t.ID, id, err)
		}
		own.ID, own.subs, own.parent, own.agent = t.ID, t.subs, a.ToolUseID, true
		own.entries = own.index.Thread()
		return own, nil
	}
	return nil, fmt.Errorf("claude: history: session %s: subagent %q %w", t.ID, id, ErrNotFound)
}

// diskSubagents are the subagents of a session on disk.
type diskSubagents struct {
	history *History
	place   place
}

func (d diskSubagents) subagents(ctx context.Context, t *Transcript) ([]SubagentInfo, error) {
	r, err := d.history.root()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var agents []SubagentInfo
	err = fs.WalkDir(r.FS(), path.Join(d.place.folder(), "subagents"), func(name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return nil //nolint // not there, or not ours to read: the others count
		}
		id, ok := strings.CutPrefix(entry.Name(), transcript.AgentPrefix)
		if !ok || !entry.Type().IsRegular() || len(agents) == maxAgents {
			return nil
		}
		if id, ok = strings.CutSuffix(id, ".jsonl"); !ok || !transcript.ValidAgent(id) {
			return nil
		}
		a := SubagentInfo{ID: id, file: name}
		var note agentNote
		if readNote(r, strings.TrimSuffix(name, ".jsonl")+".meta.json", &note) {
			a.take(&note)
		}
		agents = append(agents, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("claude: history: session %s: %w", t.ID, err)
	}
	return agents, nil
}

func (d diskSubagents) subagent(ctx context.Context, _ *Transcript, a SubagentInfo) (*Transcript, error) {
	r, err := d.history.root()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return d.history.read(ctx, r, a.file)
}
