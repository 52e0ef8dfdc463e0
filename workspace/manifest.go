package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/store"
)

// entry is a file, a folder or a link of a snapshot.
type entry struct {
	// Path has slashes and counts from the top. Raw has it instead if it is not UTF-8.
	Path string `json:"path,omitzero"`
	Raw  []byte `json:"raw,omitzero"`
	// Mode is the type, fs.ModeDir, fs.ModeSymlink or 0, and the permissions.
	Mode     fs.FileMode `json:"mode"`
	Size     int64       `json:"size,omitzero"`
	Modified int64       `json:"modified,omitzero"` // of a file, in nanoseconds
	Chunks   []string    `json:"chunks,omitzero"`
	// Object has the content instead of Chunks: a blob that the repository of a worktree has
	// on every machine.
	Object string `json:"object,omitzero"`
	// Target is that of a link. RawTarget has it instead if it is not UTF-8.
	Target    string `json:"target,omitzero"`
	RawTarget []byte `json:"raw_target,omitzero"`
}

// name is the path of the entry.
func (e *entry) name() string {
	if e.Raw != nil {
		return string(e.Raw)
	}
	return e.Path
}

// target is where a link leads.
func (e *entry) target() string {
	if e.RawTarget != nil {
		return string(e.RawTarget)
	}
	return e.Target
}

// head is the record that makes a snapshot the current one.
type head struct {
	Format int `json:"format"`
	// Key is the conversation, and Manifest the chunks of the list of its files.
	Key      string    `json:"key"`
	Manifest []string  `json:"manifest"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"`
	Saved    time.Time `json:"saved"`
	// By is the Open whose folder was saved, a random name: it finds its own heads by it.
	By string `json:"by,omitzero"`
	// Git means that the folder is a worktree: the list has its [gitState] below .git.
	Git bool `json:"git,omitzero"`

	// Unknown are members that a newer program has added.
	Unknown jsonx.Unknown `json:",embed"`
}

// format is the newest version of heads and manifests. Plain folders have the first one.
const (
	formatPlain = 1
	formatGit   = 2
	format      = formatGit
)

// digest is the name of a chunk.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// encodeManifest writes the list of files, a line for each.
func encodeManifest(entries []entry) ([]byte, error) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	for i := range entries {
		if err := w.Encode(&entries[i]); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// decodeManifest reads a list of files. It accepts only what a save may have written:
// paths below the top, in order, each once, and each in a folder of the list. So nothing
// is ever written through a link.
func decodeManifest(text []byte) ([]entry, error) {
	damaged := func(what string) error {
		return fmt.Errorf("claude: workspace: list of files: %s: %w", what, store.ErrDamaged)
	}
	var entries []entry
	folders := map[string]bool{".": true}
	last := ""
	for line := range bytes.Lines(text) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, damaged(err.Error())
		}
		name := e.name()
		switch kind := e.Mode.Type(); {
		case path.Clean(name) != name, name == ".", !filepath.IsLocal(filepath.FromSlash(name)):
			return nil, damaged(fmt.Sprintf("%q is not a path below the top", name))
		case !folders[path.Dir(name)]:
			return nil, damaged(fmt.Sprintf("%q is not in a folder", name))
		case last != "" && !before(last, name):
			return nil, damaged(fmt.Sprintf("%q is not behind %q", name, last))
		case kind == fs.ModeDir:
			folders[name] = true
		case kind != 0 && kind != fs.ModeSymlink:
			return nil, damaged(fmt.Sprintf("%q is a %v", name, kind))
		}
		last = name
		entries = append(entries, e)
	}
	return entries, nil
}

// before is the order of a walk: a folder, then what is in it, by names.
func before(a, b string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			if a[i] == '/' || b[i] == '/' {
				return a[i] == '/'
			}
			return a[i] < b[i]
		}
	}
	return len(a) < len(b)
}
