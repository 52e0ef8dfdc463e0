package workspace

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// index records which snapshot the folder on this machine continues, and which chunks
// its files had when they were last read. It is only a cache: without it everything is
// read again.
type index struct {
	// Revision is that of the head that the folder was last the same as.
	Revision int64 `json:"revision"`
	// By is the writer of that head. Trying is the Open that saves this folder, from before
	// its first head is written: a head of it is the folder's own.
	By       string                 `json:"by,omitzero"`
	Trying   string                 `json:"trying,omitzero"`
	Manifest string                 `json:"manifest"` // the digest of that list of files
	Files    map[string]indexedFile `json:"files"`
	// Git is the state of the worktree in that head; nil for a plain folder.
	Git *gitState `json:"git,omitzero"`
	// Written is when the files were looked at. A file that was changed so shortly before
	// may have been changed again within the same tick of its times.
	Written int64 `json:"written"`
	// Synced is when the last sync of the folder, and of the repository of a worktree, began.
	// 0: not known.
	Synced int64 `json:"synced,omitzero"`
}

type indexedFile struct {
	Stamp  stamp    `json:"stamp"`
	Chunks []string `json:"chunks,omitzero"`
	Object string   `json:"object,omitzero"`
}

// continues reports whether the folder continues a head, which may be one that this
// machine wrote without learning of it.
func (x *index) continues(h head, revision int64) bool {
	return x.Revision == revision && x.By == h.By || h.By != "" && h.By == x.Trying
}

// synced returns when the last sync began; the zero time if that is not known.
func (x *index) synced() time.Time {
	if x.Synced == 0 {
		return time.Time{}
	}
	return time.Unix(0, x.Synced)
}

// tick is the coarsest that times of files are: of FAT.
const tick = int64(2 * time.Second)

// unchanged returns the known state of a file that is surely unchanged.
func (x *index) unchanged(name string, s stamp) (indexedFile, bool) {
	f, ok := x.Files[name]
	return f, ok && f.Stamp == s && x.Written-max(s.Modified, s.Changed) >= tick
}

// known returns the chunks that the current snapshot names, which no Collect removes.
func (x *index) known() map[string]bool {
	known := make(map[string]bool)
	for _, f := range x.Files {
		for _, c := range f.Chunks {
			known[c] = true
		}
	}
	return known
}

// readIndex reads the index. One that cannot be read counts as missing.
func (d *snapshotDir) readIndex() (x index) {
	text, err := os.ReadFile(d.indexPath())
	if err == nil && json.Unmarshal(text, &x) != nil {
		return index{}
	}
	return x
}

// writeIndex keeps the index for the next process. If that fails, an old one is left,
// which the next process recognises as such.
func (d *snapshotDir) writeIndex(x index) {
	d.index = x
	text, err := json.Marshal(&x)
	if err == nil {
		err = d.s.step("write the index")
	}
	if err == nil {
		err = writeWhole(d.indexPath(), text)
	}
	if err != nil {
		d.index.Trying = "" // as this machine does not know it, write it again
		d.s.Logger.Warn("the index of a workspace was not written", "path", d.path, "error", err)
	}
}

// removeAll removes a tree, also one with folders that may not be written to.
func removeAll(path string) error {
	if os.RemoveAll(path) == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(at string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(at, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
