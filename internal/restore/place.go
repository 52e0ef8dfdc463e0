package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/claude-agent-go/claude/internal/uuid"
)

// Copy copies a session with its subagents from the store into a configuration
// directory of the CLI, as one of a project directory of that name. It overwrites
// nothing: the error matches [fs.ErrExist] if the directory has the session. The
// session is written aside first and appears as a whole.
func (s Source) Copy(ctx context.Context, root *os.Root, folder, session string) (err error) {
	if in, err := Find(root, session); err == nil {
		return fmt.Errorf("projects/%s/%s.jsonl: %w", in, session, fs.ErrExist)
	}
	aside := ".import-" + uuid.New()
	if err := root.Mkdir(aside, 0o700); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.RemoveAll(aside)) }()
	temporary, err := root.OpenRoot(aside)
	if err != nil {
		return err
	}
	defer temporary.Close()
	if err := s.Write(ctx, temporary, folder, session); err != nil {
		return err
	}
	base := path.Join("projects", folder)
	if err := root.MkdirAll(base, 0o700); err != nil {
		return err
	}
	subs := path.Join(base, session)
	if _, err := root.Lstat(path.Join(aside, subs)); err == nil {
		if err := root.Rename(path.Join(aside, subs), subs); err != nil {
			return err
		}
	}
	// A link is refused where there is a file, which a rename would replace.
	return root.Link(path.Join(aside, base, session+".jsonl"), path.Join(base, session+".jsonl"))
}
