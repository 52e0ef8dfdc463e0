package claude

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/claude-agent-go/claude/history"
)

// What an error says of sessions that could have been meant: how many, how much
// of a title, and for how long they are looked for.
const (
	nearbySessions = 3
	nearbyTitle    = 60
	nearbyTime     = 2 * time.Second
)

// nearby names sessions of the working directory that exist, for somebody who has
// asked for one that does not. What cannot be read has no sessions.
func (s *Session) nearby() []string {
	if s.opts.Transport != nil { // a CLI that may keep its sessions anywhere
		return nil
	}
	dir := s.opts.Cwd
	if dir == "" {
		dir, _ = os.Getwd() // "" would list all directories
	}
	if dir == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), nearbyTime)
	defer cancel()
	var found []string
	for info, err := range history.Disk(configDirOf(s.plan.env)).List(ctx, history.Query{Dir: dir, SkipWorktrees: true, Limit: nearbySessions}) {
		if err != nil {
			break
		}
		title := []rune(s.hidden().Hide(info.Title))
		if len(title) > nearbyTitle {
			title = append(title[:nearbyTitle-1], '…')
		}
		found = append(found, info.ID+" ("+string(title)+")")
	}
	return found
}

// configDirOf is where a CLI with this environment keeps its sessions.
func configDirOf(env []string) string {
	for _, entry := range slices.Backward(env) { // the last one counts
		if value, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok && value != "" {
			return value
		}
	}
	return filepath.Join(homeOf(env), ".claude")
}
