package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/claude-agent-go/claude/internal/private"
	"github.com/claude-agent-go/claude/store"
)

// Provider gives conversations their folders. Its methods may be called from several
// goroutines at once, for different conversations.
type Provider interface {
	// Open returns the folder of a conversation, and makes or restores it if need be.
	// Only one Workdir of a conversation may be open at a time, by the holder of its lease.
	// After an error nothing is left half done.
	Open(ctx context.Context, key string) (Workdir, error)
	// Remove removes the folder of a conversation from this machine, and everything
	// that was saved of it. A conversation without one is not an error. No Workdir of it
	// may be open.
	Remove(ctx context.Context, key string, fence store.Fence) error
}

// Workdir is the open folder of a conversation. Its methods are called by one goroutine at
// a time.
type Workdir interface {
	// Path is the absolute path of the folder. It stays the same until Close.
	Path() string
	// Save keeps the state of the folder for the process that opens it next, if the fence still
	// holds; otherwise the error matches [store.ErrLeaseLost], and nothing is saved. Call
	// it while nothing works in the folder.
	Save(ctx context.Context, fence store.Fence) error
	// Close ends the use of the folder, which stays on this machine. It does not save.
	Close() error
}

// ErrKey means that a key cannot be that of a folder.
var ErrKey = errors.New("not a key of a workspace")

// checkKey refuses keys that might name something else: they become names of files and
// branches.
func checkKey(key string) error {
	bad := func(why string) error { return fmt.Errorf("claude: workspace: %q is %w: %s", key, ErrKey, why) }
	if key == "" || len(key) > 1000 {
		return bad("it is empty or longer than 1,000 bytes")
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || part == "." || part == ".." {
			return bad("a part of it is empty, . or ..")
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar || r == '\\' }) {
		return bad("it has a backslash or something that cannot be printed")
	}
	return nil
}

// nameOf is a name for the files of a conversation: short, fit for every file system and
// every branch, readable at the front, and different for different keys, even where case
// does not count.
func nameOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	readable := strings.Map(func(r rune) rune {
		if r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return unicode.ToLower(r)
		}
		return '-'
	}, key)
	if len(readable) > 40 {
		readable = readable[:40]
	}
	return strings.Trim(readable, "-") + "-" + hex.EncodeToString(sum[:8])
}

// Folders returns a provider of plain folders below root, which it makes. They stay on
// this machine: use it where all processes share a file system, or there is only one.
// Save does nothing.
func Folders(root string) Provider { return folders{root} }

type folders struct{ root string }

func (f folders) Open(ctx context.Context, key string) (Workdir, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, err
	}
	if err := makeFolder(path); err != nil {
		return nil, fmt.Errorf("claude: workspace: %w", err)
	}
	return plainDir(path), nil
}

func (f folders) Remove(_ context.Context, key string, _ store.Fence) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := removeAll(path); err != nil {
		return fmt.Errorf("claude: workspace: %w", err)
	}
	return nil
}

func (f folders) path(key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	root, err := filepath.Abs(f.root)
	if err != nil {
		return "", fmt.Errorf("claude: workspace: %w", err)
	}
	return filepath.Join(root, nameOf(key)), nil
}

// makeFolder makes a folder for this user, unless it is there. A link is refused: it may
// lead into the folder of another.
func makeFolder(path string) error {
	if err := private.MkdirAll(path); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder but a link", path)
	}
	return err
}

// plainDir is a folder that is only there.
type plainDir string

func (d plainDir) Path() string                                  { return string(d) }
func (d plainDir) Save(ctx context.Context, _ store.Fence) error { return ctx.Err() }
func (d plainDir) Close() error                                  { return nil }
