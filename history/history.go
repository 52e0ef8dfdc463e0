package history

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// The errors of this package, to be found with [errors.Is].
var (
	ErrInvalidID = errors.New("is not a session id (a UUID)")
	ErrNotFound  = errors.New("not found")
	ErrEmpty     = errors.New("session has no messages")
	ErrChanged   = errors.New("changed while it was read")
)

// History holds the sessions in one place. All methods may be called from any
// goroutine, even while a CLI works on the same sessions.
type History struct {
	config string
	in     *stored // set if it is in a store
}

// Disk returns the history in a configuration directory of the CLI. If dir is
// "", it is $CLAUDE_CONFIG_DIR, or .claude in the home directory. A directory
// that does not exist has no sessions.
func Disk(dir string) *History {
	if dir == "" {
		dir = os.Getenv("CLAUDE_CONFIG_DIR")
	}
	if dir == "" {
		if home, err := os.UserHomeDir(); err == nil {
			dir = filepath.Join(home, ".claude")
		}
	}
	return &History{config: dir}
}

// ConfigDir returns the configuration directory that the sessions are in, "" if
// they are in a store.
func (h *History) ConfigDir() string { return h.config }

// place is where a session is: its transcript, relative to the configuration
// directory, with forward slashes.
type place struct {
	id      string
	project string // the folder below projects
	info    fs.FileInfo
	bare    bool // no folder beside the transcript
}

func (p place) file() string   { return path.Join("projects", p.project, p.id+".jsonl") }
func (p place) folder() string { return path.Join("projects", p.project, p.id) }

// at is the place in a listing.
func (p place) at() Position { return Position{p.info.ModTime(), p.id} }

// newer orders places, newest first, then by id.
func newer(a, b place) int { return a.at().compare(b.at()) }

// root opens the configuration directory. Nothing opened through it can be
// outside, whatever symbolic links there are.
func (h *History) root() (*os.Root, error) {
	if h.config == "" {
		return nil, fmt.Errorf("claude: history: no configuration directory: %w", ErrNotFound)
	}
	r, err := os.OpenRoot(h.config)
	if err != nil {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	return r, nil
}

// projects lists the folders of sessions.
func projects(r *os.Root) ([]string, error) {
	entries, err := fs.ReadDir(r.FS(), "projects")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// find returns the places of a session, newest first: a session can be in more
// than one folder, when a directory was moved. Empty files do not count.
func find(r *os.Root, id string) ([]place, error) {
	if !uuid.Valid(id) {
		return nil, fmt.Errorf("claude: history: %q %w", id, ErrInvalidID)
	}
	names, err := projects(r)
	if err != nil {
		return nil, fmt.Errorf("claude: history: %w", err)
	}
	var found []place
	var closed error // why a folder could not be read
	for _, name := range names {
		p := place{id: id, project: name}
		info, err := r.Lstat(p.file())
		switch {
		case err == nil && info.Mode().IsRegular() && info.Size() > 0:
			p.info = info
			found = append(found, p)
		case errors.Is(err, fs.ErrPermission):
			closed = err
		}
	}
	if len(found) == 0 {
		err := fmt.Errorf("claude: history: session %s %w", id, ErrNotFound)
		if closed != nil {
			err = fmt.Errorf("%w: %w", err, closed)
		}
		return nil, err
	}
	slices.SortFunc(found, newer)
	return found, nil
}

// with opens the configuration directory and finds a session there. The first place is the
// copy that stands for the session.
func (h *History) with(id string, do func(r *os.Root, found []place) error) error {
	if !uuid.Valid(id) { // first, so that nothing is touched for it
		return fmt.Errorf("claude: history: %q %w", id, ErrInvalidID)
	}
	r, err := h.root()
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("claude: history: session %s %w", id, ErrNotFound)
	}
	if err != nil {
		return err
	}
	defer r.Close()
	found, err := find(r, id)
	if err != nil {
		return err
	}
	shownFirst(r, found)
	return do(r, found)
}
