package restore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/internal/uuid"
)

// checkpointsDir is where the CLI keeps copies of files to rewind to, below its
// configuration directory, in a folder for each session.
const checkpointsDir = "file-history"

// Checkpoints makes the checkpoints of the user's configuration directory those
// of a session that is restored into dir. The transcript names them, but they
// are files of this machine, like those that they are copies of: a session that
// is resumed elsewhere has none. A link keeps what the CLI adds.
func Checkpoints(dir, configDir string) error {
	kept, err := filepath.Abs(filepath.Join(configDir, checkpointsDir))
	if err != nil {
		return err
	}
	if err := private.MkdirAll(kept); err != nil {
		return err
	}
	return os.Symlink(kept, filepath.Join(dir, checkpointsDir))
}

// ForgetCheckpoints removes the checkpoints of a session from the user's configuration
// directory. If the directory has the session itself, they are the user's, and stay.
func ForgetCheckpoints(configDir, session string) error {
	if !uuid.Valid(session) { // it is part of a path
		return fmt.Errorf("the session %q is not a UUID", session)
	}
	root, err := os.OpenRoot(configDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := Find(root, session); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.RemoveAll(path.Join(checkpointsDir, session))
}
