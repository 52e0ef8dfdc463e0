package claude

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/claude-agent-go/claude/internal/regular"
)

// LaunchFile is a file or a folder that the SDK has made for one CLI. It exists
// from before Transport.Start until the session is over, and only its owner can
// read it.
type LaunchFile struct {
	// Name is its path below the folder that [Launch.At] is given, with slashes.
	// It is one of a few plain words, such as "settings.json" or "config".
	Name string
	// Path is where it lies on this machine, as Args and Env have it.
	Path string
	// Dir marks a folder. All that is in it belongs to it, and the CLI writes
	// there.
	Dir bool
}

// At returns a copy of a launch for a CLI that finds its Files in dir, a path
// with slashes on another machine or in another root directory: "settings.json"
// as dir/settings.json. Nothing in its Args and Env then names a path of Files on
// this machine. The Transport places the files, with [Launch.WriteFiles] or by a
// mount, and removes them when the CLI has ended.
//
// What the user has named stays: Dir, CLIPath, plugins, additional directories and
// Env are about the system that the CLI runs on.
//
// The path on this machine is the placeholder. Its last part is random, so no
// other text has it by accident, and a Transport that starts the CLI here, as
// [ChildProcess] does, needs to replace nothing.
func (l *Launch) At(dir string) *Launch {
	moved := *l
	var pairs []string
	for _, f := range slices.SortedFunc(slices.Values(l.Files), longerPathFirst) {
		pairs = append(pairs, f.Path, path.Join(dir, f.Name))
	}
	there := strings.NewReplacer(pairs...)
	moved.Args, moved.Env = slices.Clone(l.Args), slices.Clone(l.Env)
	for _, texts := range [][]string{moved.Args, moved.Env} {
		for i, text := range texts {
			texts[i] = there.Replace(text)
		}
	}
	return &moved
}

// longerPathFirst keeps a path from being taken for one that it begins with.
func longerPathFirst(a, b LaunchFile) int { return len(b.Path) - len(a.Path) }

// WriteFiles writes the Files as a tar archive, named as [Launch.At] has them.
// Only their owner can read them. Links and special files are left out: the SDK
// makes a link only to what belongs to this machine, such as the checkpoints of
// files. It reads them as it writes, so a long session does not fill the memory.
func (l *Launch) WriteFiles(w io.Writer) error {
	archive := tar.NewWriter(w)
	for _, f := range l.Files {
		if err := writeFile(archive, f); err != nil {
			return fmt.Errorf("claude: files of the launch: %s: %w", f.Name, err)
		}
	}
	return archive.Close()
}

func writeFile(archive *tar.Writer, f LaunchFile) error {
	folder, start := f.Path, "."
	if !f.Dir {
		folder, start = filepath.Split(f.Path)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	if !f.Dir {
		return addFile(archive, f.Name, root, start)
	}
	return fs.WalkDir(root.FS(), start, func(name string, entry fs.DirEntry, err error) error {
		inside := path.Join(f.Name, name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: inside + "/", Mode: 0o700})
		case entry.Type().IsRegular():
			return addFile(archive, inside, root, name)
		}
		return nil
	})
}

// addFile adds one file, as long as it is when it is opened.
func addFile(archive *tar.Writer, name string, root *os.Root, from string) (err error) {
	file, info, err := regular.OpenNoFollow(root, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.CopyN(archive, file, info.Size())
	return err
}
